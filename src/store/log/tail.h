/* tail.h - the last lines of a log that is being written, in memory, as they are in the file.
 *
 * Live readers of a conversation ask again and again for the newest events. Recent events are
 * returned from here without opening a file. Loop thread. */
#pragma once

#include "store/store.h"

#define TAIL_BYTES_MAX (8u * 1024)

struct tail { /* zeroed = empty */
    char *bytes;
    size_t n, cap;
    store_pos start; /* of bytes[0] in the log */
};

void tail_drop(struct tail *t);

static inline store_pos tail_end(const struct tail *t)
{
    return t->start + t->n;
}

/* Adds lines (with their line feeds) that were written at `at`. Older lines are dropped when `at`
 * does not follow them directly, and when the buffer is full. */
void tail_add(struct tail *t, store_pos at, const str *lines, size_t n);

/* Returns a page if all events of the range are here; false: read the log. The page is copied. */
bool tail_page(const struct tail *t, struct arena *a, const struct store_range *range,
               struct store_page *ret);
