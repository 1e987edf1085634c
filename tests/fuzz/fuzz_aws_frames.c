/* Frames of an AWS event stream, whole and in pieces: both give the same frames and the same end.
 */
#include <assert.h>

#include "llm/aws/aws_frames.h"

#define FRAME_MAX (64u * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    size_t frames, bytes;
};

static void on_frame(void *ctx, const struct aws_frame *f)
{
    struct seen *s = ctx;
    s->frames++;
    s->bytes += f->message_type.n + f->name.n + f->payload.n;
    assert(f->payload.n < FRAME_MAX && f->name.n < FRAME_MAX);
}

static int read_all(str stream, unsigned seed, struct seen *ret)
{
    struct aws_frames r;
    int rc = 0;
    *ret = (struct seen){0};
    aws_frames_init(&r, FRAME_MAX, on_frame, ret);
    while (stream.n > 0 && rc == 0) {
        size_t n = seed ? 1 + (seed = seed * 75 + 74) % 13 : stream.n;
        rc = aws_frames_feed(&r, str_slice(stream, 0, n));
        stream = str_skip(stream, n);
    }
    aws_frames_done(&r);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole, cut;
    str stream = {(const char *)data, size};
    int a = read_all(stream, 0, &whole), b = read_all(stream, 7, &cut);
    assert(a == b && whole.frames == cut.frames && whole.bytes == cut.bytes);
    return 0;
}
