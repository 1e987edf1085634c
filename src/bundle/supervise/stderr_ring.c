#include "bundle/supervise/stderr_ring.h"

void stderr_ring_init(struct stderr_ring *r, size_t max_bytes)
{
    r->max = max_bytes;
    /* Up to twice the maximum is kept, so that not every new line moves all others. */
    buf_init(&r->bytes, 2 * max_bytes);
}

void stderr_ring_done(struct stderr_ring *r)
{
    buf_done(&r->bytes);
}

/* Keeps the newest `max` bytes, from the start of a line if possible. */
static void trim(struct stderr_ring *r)
{
    size_t drop = r->bytes.n - r->max;
    str dropped_line = str_skip(buf_str(&r->bytes), drop - 1);
    ptrdiff_t lf = str_find_char(dropped_line, '\n');
    if (lf > 0 && (size_t)lf + 1 < dropped_line.n)
        drop += (size_t)lf;
    buf_consume(&r->bytes, drop);
}

void stderr_ring_add(struct stderr_ring *r, str bytes)
{
    if (bytes.n > r->max)
        bytes = str_skip(bytes, bytes.n - r->max);
    if (r->bytes.n + bytes.n > r->bytes.max)
        trim(r);
    (void)buf_add_str(&r->bytes, bytes); /* there is room: both parts are at most `max` */
    if (r->bytes.n > r->bytes.max / 2 + r->bytes.max / 4)
        trim(r);
}

void stderr_ring_note(struct stderr_ring *r, const char *text)
{
    if (r->bytes.n > 0 && r->bytes.p[r->bytes.n - 1] != '\n')
        stderr_ring_add(r, STR("\n"));
    stderr_ring_add(r, STR("-- "));
    stderr_ring_add(r, str_from(text));
    stderr_ring_add(r, STR("\n"));
}
