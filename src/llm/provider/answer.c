#include "llm/provider/answer.h"

#include <assert.h>

void answer_init(struct answer *an, const struct llm_events *listener, void *ctx)
{
    *an = (struct answer){.listener = listener, .ctx = ctx};
    an->error.retry_after_ms = an->error.should_retry = -1;
    arena_init(&an->arena);
    arena_init(&an->scratch);
}

void answer_done(struct answer *an)
{
    for (size_t i = 0; i < an->n; i++) {
        buf_done(&an->blocks[i].text);
        buf_done(&an->blocks[i].args);
    }
    free(an->blocks);
    arena_done(&an->scratch);
    arena_done(&an->arena);
    *an = (struct answer){0};
}

struct answer_block *answer_open(struct answer *an, enum answer_kind kind, int64_t index)
{
    if (an->n == ANSWER_BLOCKS_MAX) {
        answer_fail(an, STR("answer_too_large"), STR("the answer has too many parts"));
        return NULL;
    }
    GROW(an->blocks, an->n, an->cap);
    struct answer_block *b = &an->blocks[an->n++];
    *b = (struct answer_block){.kind = kind, .index = index, .is_open = true};
    buf_init(&b->text, ANSWER_BYTES_MAX);
    buf_init(&b->args, ANSWER_BYTES_MAX);
    return b;
}

struct answer_block *answer_continue(struct answer *an, enum answer_kind kind, const char *grows)
{
    struct answer_block *b = an->n > 0 ? &an->blocks[an->n - 1] : NULL;
    assert((kind == ANSWER_OPAQUE) == (grows != NULL));
    bool is_same = b && b->kind == kind && (!grows || (b->grows && !strcmp(b->grows, grows)));
    if (is_same)
        return b;
    b = answer_open(an, kind, ANSWER_NO_INDEX);
    if (b && kind == ANSWER_OPAQUE) {
        b->json = json_new(&an->arena, JSON_OBJECT);
        b->grows = grows;
    }
    return b;
}

struct answer_block *answer_find(struct answer *an, int64_t index)
{
    for (size_t i = an->n; i-- > 0;)
        if (an->blocks[i].is_open && an->blocks[i].index == index)
            return &an->blocks[i];
    return NULL;
}

struct answer_block *answer_last(struct answer *an, enum answer_kind kind)
{
    for (size_t i = an->n; i-- > 0;)
        if (an->blocks[i].kind == kind)
            return &an->blocks[i];
    return NULL;
}

void answer_add(struct answer *an, struct buf *to, str bytes)
{
    assert(an->bytes <= ANSWER_BYTES_MAX);
    if (bytes.n > ANSWER_BYTES_MAX - an->bytes) {
        answer_fail(an, STR("answer_too_large"), STR("the answer is larger than 32 MiB"));
        return;
    }
    an->bytes += bytes.n;
    (void)buf_add_str(to, bytes); /* cannot pass its ceiling: the sum is bounded above */
}

void answer_text(struct answer *an, struct answer_block *b, str delta)
{
    if (delta.n == 0)
        return;
    answer_add(an, &b->text, delta);
    assert(b->kind == ANSWER_TEXT);
    if (an->has_error || !an->listener)
        return;
    an->had_output = true;
    an->listener->on_text(an->ctx, delta);
}

void answer_thinking(struct answer *an, struct answer_block *b, str delta)
{
    if (delta.n == 0)
        return;
    answer_add(an, &b->text, delta);
    assert(b->kind == ANSWER_OPAQUE);
    if (an->has_error || !an->listener || !an->listener->on_thinking)
        return;
    an->had_output = true;
    an->listener->on_thinking(an->ctx, delta);
}

static void tell_args(struct answer *an, const struct answer_block *b, str piece)
{
    if (piece.n > 0 && !an->has_error && an->listener && an->listener->on_tool_args)
        an->listener->on_tool_args(an->ctx, b->id, piece);
}

void answer_tool_started(struct answer *an, const struct answer_block *b)
{
    assert(b->kind == ANSWER_TOOL);
    if (!an->listener || !an->listener->on_tool_start)
        return;
    an->had_output = true;
    an->listener->on_tool_start(an->ctx, b->id, b->name);
    tell_args(an, b, buf_str(&b->text));
}

void answer_args(struct answer *an, struct answer_block *b, str piece)
{
    assert(b->kind == ANSWER_TOOL);
    answer_add(an, &b->text, piece);
    if (b->name.n > 0)
        tell_args(an, b, piece);
}

void answer_refusal(struct answer *an, str words)
{
    assert(an->stop_detail.n <= ANSWER_REFUSAL_MAX);
    if (words.n > 0 && words.n <= ANSWER_REFUSAL_MAX - an->stop_detail.n)
        an->stop_detail = arena_concat(&an->arena, an->stop_detail, words);
}

void answer_fail(struct answer *an, str type, str message)
{
    if (an->has_error)
        return;
    an->has_error = true;
    an->error.type = arena_str(&an->arena, type);
    an->error.message = arena_str(&an->arena, message);
}

int64_t answer_count(const struct json *usage, const char *key, int64_t otherwise)
{
    int64_t n = json_get_int(usage, key, -1);
    return n >= 0 && n <= ANSWER_TOKENS_MAX ? n : otherwise;
}

static bool is_blank(str s)
{
    return str_trim(s).n == 0;
}

/* Arguments are usable when they are nothing (no arguments) or one JSON object. */
static const char *args_problem(struct answer *an, str args)
{
    struct json *v;
    struct err e = {0};
    if (json_parse(&an->scratch, args, 0, &v, &e) < 0)
        return arena_cstr(&an->arena, arena_printf(&an->scratch, "not valid JSON: %s", e.msg));
    if (!json_is(v, JSON_OBJECT))
        return "the arguments are not a JSON object";
    return NULL;
}

static void tool_block(struct answer *an, const struct answer_block *b, struct llm_block *ret)
{
    str args = buf_str(&b->text);
    if (is_blank(args) || str_eq(str_trim(args), STR("null")))
        args = STR("{}");
    *ret = (struct llm_block){.type = LLM_TOOL_USE,
                              .id = b->id,
                              .name = b->name,
                              .args = args,
                              .args_error = args_problem(an, args)};
}

static void opaque_block(struct answer *an, const struct answer_block *b, str provider, str model,
                         struct llm_block *ret)
{
    struct json *input;
    if (b->grows && b->text.n > 0)
        json_set(&an->arena, b->json, str_from(b->grows), json_of_str(buf_str(&b->text)));
    if (b->args.n > 0 && json_parse(&an->arena, buf_str(&b->args), 0, &input, NULL) == 0)
        json_set(&an->arena, b->json, STR("input"), *input);
    *ret = (struct llm_block){
        .type = LLM_OPAQUE, .provider = provider, .model = model, .json = b->json};
}

/* Nothing follows, or what belongs to it: a signature. */
static bool is_last(const struct answer *an, const struct answer_block *b)
{
    const struct answer_block *end = an->blocks + an->n, *next = b + 1;
    while (next < end && next->kind == ANSWER_OPAQUE)
        next++;
    return next == end;
}

/* A model that reached its length limit may have been cut inside its last block. Cut arguments can
 * look complete (none at all) and cut thinking has no signature: drop both. Cut text is kept. */
static bool is_cut(const struct answer *an, const struct answer_block *b)
{
    if (an->stop == LLM_STOP_REFUSAL || b->is_open)
        return true;
    return an->stop == LLM_STOP_LENGTH && b->kind != ANSWER_TEXT && is_last(an, b);
}

static struct conv_usage total_usage(const struct answer_usage *u)
{
    int64_t write_1h = u->cache_write_1h < u->cache_write ? u->cache_write_1h : u->cache_write;
    return (struct conv_usage){
        .input_tokens = u->uncached_in + u->cache_read + u->cache_write,
        .output_tokens = u->out,
        .cache_read_tokens = u->cache_read,
        .cache_write_1h_tokens = write_1h,
        .cache_write_5m_tokens = u->cache_write - write_1h,
    };
}

struct conv_usage answer_usage_so_far(const struct answer *an)
{
    return total_usage(&an->usage);
}

void answer_result(struct answer *an, str provider, str model, struct llm_result *ret)
{
    assert(!an->has_error);
    struct llm_block *out = arena_array(&an->arena, an->n + 1, sizeof *out);
    bool has_tools = false;
    size_t n = 0;
    for (size_t i = 0; i < an->n; i++) {
        struct answer_block *b = &an->blocks[i];
        if (is_cut(an, b))
            continue;
        if (b->kind == ANSWER_TEXT && !is_blank(buf_str(&b->text)))
            out[n++] = (struct llm_block){.type = LLM_TEXT, .text = buf_str(&b->text)};
        else if (b->kind == ANSWER_OPAQUE)
            opaque_block(an, b, provider, model, &out[n++]);
        else if (b->kind == ANSWER_TOOL && b->name.n > 0)
            tool_block(an, b, &out[n++]), has_tools = true;
    }
    /* Some servers report "stop" together with tool calls: the calls decide. */
    enum llm_stop stop = an->stop;
    if (has_tools && stop == LLM_STOP_END)
        stop = LLM_STOP_TOOL;
    if (!has_tools && stop == LLM_STOP_TOOL)
        stop = LLM_STOP_END;
    *ret = (struct llm_result){
        .blocks = out,
        .n = n,
        .stop = stop,
        .usage = total_usage(&an->usage),
        .model = arena_printf(&an->arena, "%.*s:%.*s", STR_ARG(provider), STR_ARG(model)),
        .request_id = an->request_id,
        .stop_detail = an->stop_detail,
    };
}
