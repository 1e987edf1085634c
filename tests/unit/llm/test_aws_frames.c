#include <errno.h>

#include "llm/aws/aws_frames.h"
#include "support/unit.h"
#include "unit/llm/frame_rig.h"

#define FRAME_LIMIT 1024

struct world {
    struct buf stream, said;
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    buf_init(&w->stream, 1 << 16);
    buf_init(&w->said, 1 << 16);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    buf_done(&w->stream);
    buf_done(&w->said);
    free(w);
    return 0;
}

static void on_frame(void *ctx, const struct aws_frame *f)
{
    buf_printf(ctx, "%.*s %.*s %.*s;", STR_ARG(f->message_type), STR_ARG(f->name),
               STR_ARG(f->payload));
}

/* Feeds the stream in pieces of `step` bytes. */
static int feed(struct world *w, size_t step)
{
    struct aws_frames r;
    int rc = 0;
    buf_clear(&w->said);
    aws_frames_init(&r, FRAME_LIMIT, on_frame, &w->said);
    for (size_t at = 0; at < w->stream.n; at += step)
        rc = aws_frames_feed(&r, str_slice(buf_str(&w->stream), at, at + step));
    aws_frames_done(&r);
    return rc;
}

TEST_WITH(frames_mean_the_same_however_they_are_cut, setup, teardown)
{
    struct world *w = *state;
    rig_event_frame(&w->stream, STR("event"), STR("chunk"), STR("{}"));
    rig_event_frame(&w->stream, STR("exception"), STR("throttlingException"), STR("{\"a\":1}"));
    rig_frame(&w->stream, STR_NONE, STR_NONE);
    for (size_t step = 1; step <= w->stream.n; step++) {
        assert_int_equal(feed(w, step), 0);
        assert_string_equal(buf_cstr(&w->said),
                            "event chunk {};exception throttlingException {\"a\":1};  ;");
    }
}

TEST_WITH(an_error_has_its_words_in_headers, setup, teardown)
{
    struct world *w = *state;
    struct buf h;
    buf_init(&h, 1024);
    rig_header(&h, STR(":message-type"), STR("error"));
    rig_header(&h, STR(":error-code"), STR("InternalError"));
    rig_header(&h, STR(":error-message"), STR("oh"));
    buf_add_str(&h, STR("\1a\4\0\0\0\1")); /* a number that nobody asked for */
    rig_frame(&w->stream, buf_str(&h), STR_NONE);
    assert_int_equal(feed(w, 7), 0);
    assert_string_equal(buf_cstr(&w->said), "error InternalError oh;");
    buf_done(&h);
}

TEST_WITH(a_changed_byte_is_noticed, setup, teardown)
{
    struct world *w = *state;
    rig_event_frame(&w->stream, STR("event"), STR("chunk"), STR("{}"));
    for (size_t at = 0; at < w->stream.n; at++) {
        w->stream.p[at] ^= 1;
        assert_int_equal(feed(w, w->stream.n), -EBADMSG);
        assert_int_equal(feed(w, 1), -EBADMSG);
        assert_int_equal(w->said.n, 0);
        w->stream.p[at] ^= 1;
    }
}

TEST_WITH(bad_headers_and_lengths_are_refused, setup, teardown)
{
    static const str HEADERS[] = {
        STR_INIT("\5ab"),       STR_INIT("\1a"),         STR_INIT("\1a\7\0"),
        STR_INIT("\1a\7\0\5x"), STR_INIT("\1a\x63xxxx"), STR_INIT("\1a\4\0\0"),
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(HEADERS); i++) {
        buf_clear(&w->stream);
        rig_frame(&w->stream, HEADERS[i], STR("x"));
        assert_int_equal(feed(w, 3), -EBADMSG);
    }
    buf_clear(&w->stream); /* headers that are longer than their frame */
    rig_u32(&w->stream, 20);
    rig_u32(&w->stream, 5);
    rig_u32(&w->stream, rig_crc(buf_str(&w->stream)));
    assert_int_equal(feed(w, 99), -EBADMSG);
}

TEST_WITH(a_frame_is_bounded, setup, teardown)
{
    struct world *w = *state;
    char text[FRAME_LIMIT] = {0};
    rig_frame(&w->stream, STR_NONE, str_make(text, FRAME_LIMIT - 16));
    assert_int_equal(feed(w, 100), 0);
    buf_clear(&w->stream);
    rig_frame(&w->stream, STR_NONE, str_make(text, FRAME_LIMIT - 15));
    assert_int_equal(feed(w, w->stream.n), -EMSGSIZE);
}
