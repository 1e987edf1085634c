#include "llm/demo/demo.h"

#include <assert.h>

#include "llm/provider/anthropic.h"

#define ARGS_PIECE      16 /* bytes */
#define BYTES_PER_TOKEN 4  /* a rough estimate, the same everywhere and always */

static size_t count_calls(const struct llm_request *req)
{
    size_t n = 0;
    for (size_t i = 0; i < req->nmessages; i++)
        for (size_t k = 0; k < req->messages[i].n; k++)
            n += req->messages[i].blocks[k].type == LLM_TOOL_USE;
    return n;
}

void demo_begin(struct demo_speech *d, struct arena *a, const struct llm_request *req,
                size_t bytes_in)
{
    *d = (struct demo_speech){.calls_before = count_calls(req), .bytes_in = bytes_in};
    demo_plan(a, req, &d->plan);
}

static bool is_word_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* A word and the white space behind it. */
static str next_word(str text, size_t at)
{
    size_t end = at;
    while (end < text.n && !is_word_space(text.p[end]))
        end++;
    while (end < text.n && is_word_space(text.p[end]))
        end++;
    return str_slice(text, at, end);
}

static void say_word(struct demo_speech *d, struct answer *an)
{
    struct answer_block *b = an->n > 0 ? &an->blocks[0] : answer_open(an, ANSWER_TEXT, 0);
    str word = next_word(d->plan.text, d->at);
    d->at += word.n;
    assert(b && word.n > 0);
    answer_text(an, b, word);
}

static struct answer_block *begin_call(const struct demo_speech *d, struct answer *an)
{
    struct answer_block *b = answer_open(an, ANSWER_TOOL, (int64_t)an->n);
    b->id = arena_printf(&an->arena, "demo_call_%zu", d->calls_before + d->next_use + 1);
    b->name = arena_str(&an->arena, d->plan.uses[d->next_use].name);
    answer_tool_started(an, b);
    return b;
}

/* Arguments come in pieces, as those of other models do. */
static void write_call(struct demo_speech *d, struct answer *an)
{
    str args = d->plan.uses[d->next_use].args;
    struct answer_block *b = d->args_at > 0 ? answer_last(an, ANSWER_TOOL) : begin_call(d, an);
    str piece = str_slice(args, d->args_at, d->args_at + ARGS_PIECE);
    answer_args(an, b, piece);
    d->args_at += piece.n;
    if (d->args_at < args.n)
        return;
    b->is_open = false;
    d->args_at = 0;
    d->next_use++;
}

static void complete(struct demo_speech *d, struct answer *an)
{
    assert(!an->is_complete && d->next_use == d->plan.nuses);
    size_t out = d->plan.text.n;
    for (size_t i = 0; i < d->plan.nuses; i++)
        out += d->plan.uses[i].name.n + d->plan.uses[i].args.n;
    for (size_t i = 0; i < an->n; i++)
        an->blocks[i].is_open = false;
    an->usage.uncached_in = (int64_t)(d->bytes_in / BYTES_PER_TOKEN) + 1;
    an->usage.out = (int64_t)(out / BYTES_PER_TOKEN) + 1;
    an->stop = d->plan.nuses > 0 ? LLM_STOP_TOOL : LLM_STOP_END;
    an->has_stop = an->is_complete = true;
}

bool demo_step(struct demo_speech *d, struct answer *an)
{
    if (d->at < d->plan.text.n)
        say_word(d, an);
    else if (d->next_use < d->plan.nuses)
        write_call(d, an);
    if (d->at < d->plan.text.n || d->next_use < d->plan.nuses)
        return true;
    complete(d, an);
    return false;
}

/* The body is never sent; it is what replay compares and what tokens are estimated from. */
const struct provider_type PROVIDER_DEMO = {.name = "demo", .build = anthropic_build};
