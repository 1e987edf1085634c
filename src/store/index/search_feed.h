/* search_feed.h - puts what was said into the full-text index, a slice at a time.
 *
 * The number of a message is its time in milliseconds, shifted, plus a counter: the index
 * returns messages by number, so the newest come first without sorting, and dates are
 * ranges. Numbers must grow within a slice, or FTS5 writes a new segment for each message;
 * that is why a slice is gathered and sorted before it is written.
 *
 * The words of FTS5 cannot be deleted without the text they came from, which may be gone.
 * So nothing is deleted: a log that goes leaves messages that no log has any more, and hits
 * on them are passed over. When they outnumber the others, the index is made anew.
 * Blocking; any thread with its own connection. */
#pragma once

#include "store/index/index_sync.h"

#define SEARCH_NO_SHIFT 20                /* a million messages per millisecond */
#define SEARCH_MS_MAX   ((1ll << 43) - 1) /* the year 2248 */

/* The first number of a millisecond; out of range, the nearest. */
int64_t search_number(int64_t ms);

/* 1: a slice was written and there may be more; 0: everything that the rows know is in the
 * index; or -errno. */
int search_feed(struct index_sync *s);
