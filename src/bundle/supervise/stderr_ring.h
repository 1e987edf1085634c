/* stderr_ring.h - the newest bytes of a server's stderr, in whole lines.
 *
 * Memory grows with the text, up to the limit. One owner. */
#pragma once

#include "base/buf.h"

struct stderr_ring {
    struct buf bytes;
    size_t max;
};

void stderr_ring_init(struct stderr_ring *r, size_t max_bytes);
void stderr_ring_done(struct stderr_ring *r);
void stderr_ring_add(struct stderr_ring *r, str bytes);         /* drops the oldest lines */
void stderr_ring_note(struct stderr_ring *r, const char *text); /* a line of nb itself, "-- text" */

static inline str stderr_ring_text(const struct stderr_ring *r)
{
    return buf_str(&r->bytes);
}
