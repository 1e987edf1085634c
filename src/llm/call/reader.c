#include "llm/call/reader.h"

#include <assert.h>
#include <errno.h>

static void on_stream_event(void *ctx, const struct sse_event *ev)
{
    struct answer_reader *r = ctx;
    if (!*r->is_dead)
        r->type->event(r->answer, ev);
}

static void on_stream_frame(void *ctx, const struct aws_frame *f)
{
    struct answer_reader *r = ctx;
    if (!*r->is_dead)
        r->type->frame(r->answer, f);
}

void answer_reader_init(struct answer_reader *r, const struct provider_type *type,
                        struct answer *an, const bool *is_dead)
{
    assert(type && an && is_dead);
    *r = (struct answer_reader){.type = type, .answer = an, .is_dead = is_dead};
    sse_parser_init(&r->sse, READER_EVENT_MAX, on_stream_event, r);
    aws_frames_init(&r->frames, READER_EVENT_MAX, on_stream_frame, r);
}

void answer_reader_feed(struct answer_reader *r, str bytes)
{
    int rc = r->type->frame ? aws_frames_feed(&r->frames, bytes) : sse_parser_feed(&r->sse, bytes);
    if (rc == -EBADMSG)
        answer_fail(r->answer, STR("bad_stream"), STR("the stream is damaged"));
    else if (rc < 0)
        answer_fail(r->answer, STR("answer_too_large"), STR("one event is larger than 16 MiB"));
}

void answer_reader_done(struct answer_reader *r)
{
    sse_parser_done(&r->sse);
    aws_frames_done(&r->frames);
}
