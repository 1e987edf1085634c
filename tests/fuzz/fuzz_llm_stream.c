/* Answers of models, good and bad. The first byte chooses the API (its two lowest bits) and seeds
 * the sizes of the chunks. An answer must not depend on how it was cut, calls without an error must have
 * arguments that are an object, and whatever came can be sent back: the next request is
 * always valid JSON. */
#include <assert.h>

#include "llm/provider/provider.h"

#define EVENT_MAX (64u * 1024)
#define BODY_MAX  (16u * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct provider_type *const TYPES[] = {&PROVIDER_ANTHROPIC, &PROVIDER_OPENAI,
                                                    &PROVIDER_GOOGLE, &PROVIDER_RESPONSES};

struct reader {
    const struct provider_type *type;
    struct answer answer;
    struct sse_parser sse;
};

static void on_event(void *ctx, const struct sse_event *ev)
{
    struct reader *r = ctx;
    r->type->event(&r->answer, ev);
}

static void read_stream(struct reader *r, const struct provider_type *type, str stream,
                        unsigned seed)
{
    *r = (struct reader){.type = type};
    answer_init(&r->answer, NULL, NULL);
    sse_parser_init(&r->sse, EVENT_MAX, on_event, r);
    while (stream.n > 0) {
        size_t n = seed ? 1 + (seed = seed * 75 + 74) % 13 : stream.n;
        if (sse_parser_feed(&r->sse, str_slice(stream, 0, n)) < 0) {
            answer_fail(&r->answer, STR("answer_too_large"), STR("too large"));
            break;
        }
        stream = str_skip(stream, n);
    }
    type->eof(&r->answer);
}

static void reader_done(struct reader *r)
{
    sse_parser_done(&r->sse);
    answer_done(&r->answer);
}

/* Ids are made up where the server gave none: they are not compared. */
static void assert_same_block(const struct llm_block *a, const struct llm_block *b)
{
    assert(a->type == b->type && str_eq(a->text, b->text) && str_eq(a->name, b->name));
    assert(str_eq(a->args, b->args) && !a->args_error == !b->args_error);
    assert(json_equal(a->json, b->json));
}

static void check_block(struct arena *a, const struct llm_block *b)
{
    struct json *args;
    assert(b->type == LLM_TEXT || b->type == LLM_TOOL_USE || b->type == LLM_OPAQUE);
    assert(b->type != LLM_TEXT || str_trim(b->text).n > 0);
    if (b->type != LLM_TOOL_USE)
        return;
    assert(b->id.n > 0 || b->name.n > 0);
    if (!b->args_error)
        assert(json_parse(a, b->args, 0, &args, NULL) == 0 && args->type == JSON_OBJECT);
}

static void send_back(struct arena *a, const struct provider_type *type, const struct llm_result *r)
{
    struct llm_block hello = {.type = LLM_TEXT, .text = STR("hello")};
    struct llm_message messages[] = {{LLM_USER, &hello, 1}, {LLM_ASSISTANT, r->blocks, r->n}};
    struct llm_request req = {
        .model = STR("m"), .messages = messages, .nmessages = 2, .max_tokens = 10};
    struct provider p = {.name = STR("p"), .type = type};
    struct model_caps caps = {.can_images = true, .can_tools = true};
    struct json *body;
    struct buf out;
    buf_init(&out, BODY_MAX);
    if (type->build(&p, &caps, &req, &out, NULL) == 0)
        assert(json_parse(a, buf_str(&out), 0, &body, NULL) == 0);
    buf_done(&out);
}

static void compare(struct reader *whole, struct reader *cut)
{
    struct answer *x = &whole->answer, *y = &cut->answer;
    struct llm_result r, s;
    struct arena a;
    assert(x->has_error == y->has_error && x->is_complete == y->is_complete);
    if (x->has_error || !x->is_complete)
        return;
    answer_result(x, STR("p"), STR("m"), &r);
    answer_result(y, STR("p"), STR("m"), &s);
    assert(r.n == s.n && r.stop == s.stop && r.usage.input_tokens == s.usage.input_tokens);
    arena_init(&a);
    for (size_t i = 0; i < r.n; i++) {
        assert_same_block(&r.blocks[i], &s.blocks[i]);
        check_block(&a, &r.blocks[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        send_back(&a, TYPES[i], &r);
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader whole, cut;
    if (size == 0)
        return 0;
    const struct provider_type *type = TYPES[data[0] % ARRAY_LEN(TYPES)];
    str stream = {(const char *)data + 1, size - 1};
    read_stream(&whole, type, stream, 0);
    read_stream(&cut, type, stream, data[0] | 1u);
    compare(&whole, &cut);
    reader_done(&whole);
    reader_done(&cut);
    return 0;
}
