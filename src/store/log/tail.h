/* tail.h - the last lines of a log that is being written, as they are in the file.
 *
 * Whoever follows a conversation asks again and again for what came since; while it is
 * recent, the answer is here and no file is opened. Loop thread. */
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

/* Lines (with their line feeds) were written at `at`. What they do not follow is dropped, and
 * so is the oldest when there is no room. */
void tail_add(struct tail *t, store_pos at, const str *lines, size_t n);

/* Answers a range whose every event is here; false: read the log. The page is copied. */
bool tail_page(const struct tail *t, struct arena *a, const struct store_range *range,
               struct store_page *ret);
