/* The events of a stream must not depend on how it is cut into chunks. The first byte seeds
 * the sizes of the chunks; the rest is the stream, fed whole to one parser and in pieces to
 * the other. A small ceiling makes overflows common. */
#include <assert.h>

#include "net/sse_parse.h"

#define EVENT_MAX 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_event(void *ctx, const struct sse_event *ev)
{
    struct buf *out = ctx;
    assert(ev->event.n > 0 && ev->event.n <= SSE_NAME_MAX && ev->id.n <= SSE_NAME_MAX);
    assert(ev->data.n <= EVENT_MAX && ev->retry_ms >= -1);
    int rc = buf_printf(out, "%zu,%zu,%zu,%lld:", ev->event.n, ev->data.n, ev->id.n,
                        (long long)ev->retry_ms);
    rc |= buf_add_str(out, ev->event);
    rc |= buf_add_str(out, ev->data);
    rc |= buf_add_str(out, ev->id);
    assert(rc == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned seed = data[0];
    str stream = {(const char *)data + 1, size - 1};
    struct buf whole_out, cut_out;
    /* Every blank line may repeat the longest id. */
    buf_init(&whole_out, (size + 1) * (SSE_NAME_MAX + EVENT_MAX + 100));
    buf_init(&cut_out, (size + 1) * (SSE_NAME_MAX + EVENT_MAX + 100));
    struct sse_parser whole, cut;
    sse_parser_init(&whole, EVENT_MAX, on_event, &whole_out);
    sse_parser_init(&cut, EVENT_MAX, on_event, &cut_out);

    int whole_rc = sse_parser_feed(&whole, stream), cut_rc = 0;
    while (stream.n > 0) {
        seed = seed * 1103515245u + 12345u;
        str chunk = str_slice(stream, 0, 1 + (seed >> 16) % (1 + (data[0] & 31)));
        cut_rc = sse_parser_feed(&cut, chunk);
        stream = str_skip(stream, chunk.n);
    }
    assert(whole_rc == cut_rc);
    assert(str_eq(buf_str(&whole_out), buf_str(&cut_out)));

    sse_parser_done(&whole);
    sse_parser_done(&cut);
    buf_done(&whole_out);
    buf_done(&cut_out);
    return 0;
}
