/* stream_rig.h - feeds a stream to a decoder in pieces and describes what came out.
 *
 * The description is one line, so that a case is a pair of texts: the stream, and what it
 * must mean however it is cut. */
#pragma once

#include "llm/provider/answer.h"
#include "net/sse_parse.h"
#include "support/unit.h"

struct stream_decoder {
    void (*event)(struct answer *an, const struct sse_event *ev);
    void (*eof)(struct answer *an);
};

struct stream_case {
    const char *name;
    const char *stream;
    const char *meaning;
};

struct stream_rig {
    const struct stream_decoder *decoder;
    struct answer answer;
    struct buf heard; /* what the listener was told */
};

static inline void rig_text(void *ctx, str d)
{
    buf_printf(ctx, "%.*s", STR_ARG(d));
}
static inline void rig_thinking(void *ctx, str d)
{
    buf_printf(ctx, "(%.*s)", STR_ARG(d));
}
static inline void rig_tool(void *ctx, str id, str name)
{
    (void)id;
    buf_printf(ctx, "[%.*s]", STR_ARG(name));
}

static const struct llm_events RIG_LISTENER = {
    .on_text = rig_text, .on_thinking = rig_thinking, .on_tool_start = rig_tool};

static inline void rig_event(void *ctx, const struct sse_event *ev)
{
    struct stream_rig *r = ctx;
    r->decoder->event(&r->answer, ev);
}

static inline void rig_block(struct buf *out, struct arena *a, const struct llm_block *b)
{
    if (b->type == LLM_TEXT) {
        buf_printf(out, " text(%.*s)", STR_ARG(b->text));
    } else if (b->type == LLM_TOOL_USE) {
        bool is_made_up = b->id.n == 21 && str_starts(b->id, STR("call_"));
        buf_printf(out, " call(%.*s %.*s %.*s%s)", STR_ARG(is_made_up ? STR("new") : b->id),
                   STR_ARG(b->name), STR_ARG(b->args), b->args_error ? " BAD" : "");
    } else {
        buf_printf(out, " opaque(%.*s)", STR_ARG(json_to_str(a, b->json)));
    }
}

static inline void rig_describe(struct stream_rig *r, struct buf *out)
{
    static const char *const STOPS[] = {"end", "tool", "length", "refusal", "pause"};
    struct llm_result res;
    struct answer *an = &r->answer;
    if (an->has_error) {
        buf_printf(out, "error %.*s: %.*s", STR_ARG(an->error.type), STR_ARG(an->error.message));
    } else if (!an->is_complete) {
        buf_printf(out, "cut");
    } else {
        answer_result(an, STR("p"), STR("m"), &res);
        buf_printf(out, "%s", STOPS[res.stop]);
        for (size_t i = 0; i < res.n; i++)
            rig_block(out, &an->arena, &res.blocks[i]);
        if (res.stop_detail.n > 0)
            buf_printf(out, " because(%.*s)", STR_ARG(res.stop_detail));
        struct conv_usage u = res.usage;
        if (u.input_tokens || u.output_tokens)
            buf_printf(out, " usage(%d in %d out %d read %d w5 %d w1)", (int)u.input_tokens,
                       (int)u.output_tokens, (int)u.cache_read_tokens, (int)u.cache_write_5m_tokens,
                       (int)u.cache_write_1h_tokens);
    }
    if (r->heard.n > 0)
        buf_printf(out, " heard <%.*s>", STR_ARG(buf_str(&r->heard)));
}

/* Feeds the stream in pieces: the first has `first` bytes, all others `step`. */
static inline void rig_run(const struct stream_decoder *d, str stream, size_t first, size_t step,
                           struct buf *out)
{
    struct stream_rig r = {.decoder = d};
    struct sse_parser p;
    buf_init(&r.heard, 1 << 20);
    answer_init(&r.answer, &RIG_LISTENER, &r.heard);
    sse_parser_init(&p, 1 << 20, rig_event, &r);
    for (size_t at = 0, n = first; at < stream.n; at += n, n = step)
        if (n > 0)
            assert_int_equal(sse_parser_feed(&p, str_slice(stream, at, at + n)), 0);
    d->eof(&r.answer);
    rig_describe(&r, out);
    sse_parser_done(&p);
    answer_done(&r.answer);
    buf_done(&r.heard);
}

static inline void rig_check(const struct stream_decoder *d, const struct stream_case *c,
                             str stream, size_t first, size_t step)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    rig_run(d, stream, first, step, &out);
    if (strcmp(buf_cstr(&out), c->meaning) != 0)
        fail_msg("%s, cut at %zu then every %zu:\n  got    %s\n  wanted %s", c->name, first, step,
                 buf_cstr(&out), c->meaning);
    buf_done(&out);
}

/* Whole, byte by byte, and in two pieces cut at every place. */
static inline void rig_all(const struct stream_decoder *d, const struct stream_case *cases,
                           size_t n)
{
    for (size_t i = 0; i < n; i++) {
        str stream = str_from(cases[i].stream);
        rig_check(d, &cases[i], stream, stream.n, stream.n);
        rig_check(d, &cases[i], stream, 1, 1);
        for (size_t at = 1; at < stream.n; at++)
            rig_check(d, &cases[i], stream, at, stream.n);
    }
}

static inline void rig_args_start(void *ctx, str id, str name)
{
    buf_printf(ctx, "[%.*s %.*s]", STR_ARG(id), STR_ARG(name));
}

static inline void rig_args_piece(void *ctx, str id, str piece)
{
    buf_printf(ctx, "(%.*s %.*s)", STR_ARG(id), STR_ARG(piece));
}

/* What a listener is told of tool calls while they are written: "[id name](id piece)". */
static inline void rig_check_args(const struct stream_decoder *d, const char *stream,
                                  const char *told)
{
    static const struct llm_events LISTENER = {
        .on_text = rig_text, .on_tool_start = rig_args_start, .on_tool_args = rig_args_piece};
    struct stream_rig r = {.decoder = d};
    struct sse_parser p;
    buf_init(&r.heard, 1 << 20);
    answer_init(&r.answer, &LISTENER, &r.heard);
    sse_parser_init(&p, 1 << 20, rig_event, &r);
    assert_int_equal(sse_parser_feed(&p, str_from(stream)), 0);
    assert_string_equal(buf_cstr(&r.heard), told);
    sse_parser_done(&p);
    answer_done(&r.answer);
    buf_done(&r.heard);
}
