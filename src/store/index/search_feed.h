/* search_feed.h - adds the text of events to the full-text index, a slice at a time.
 *
 * The number of a message is its time in milliseconds, shifted, plus a counter: the index
 * returns messages by number, so the newest come first without sorting, and dates are
 * ranges. Numbers must grow within a slice, or FTS5 writes a new segment for each message;
 * that is why a slice is gathered and sorted before it is written.
 *
 * FTS5 can delete the words of a message only with the original text, which may not exist any
 * more. So nothing is deleted: the messages of a deleted log stay, and a search ignores hits on
 * them. When they outnumber the other messages, the index is created again.
 * Blocking; any thread with its own connection. */
#pragma once

#include "store/index/index_sync.h"

#define SEARCH_NO_SHIFT 20                /* a million messages per millisecond */
#define SEARCH_MS_MAX   ((1ll << 43) - 1) /* the year 2248 */

/* The first number of a millisecond; a time out of range gets the nearest number. */
int64_t search_number(int64_t ms);

/* A slice is gathered, which takes time but no lock, and then written, which keeps others from
 * writing meanwhile. */
struct search_slice;

/* *ret: the next slice, of about `messages_max` messages at most; NULL: the full-text index is
 * complete. 0, -ESTALE (the index was too worn and is gone), -ECANCELED when s->stop was set. */
#define SEARCH_SLICE_MAX 32768 /* fewer, larger slices are less work */
int search_gather(struct index_sync *s, size_t messages_max, struct search_slice **ret);
/* Writes and frees it. 1: there may be more; 0: no log advanced; or -errno, -ECANCELED. Then
 * nothing of the slice was written. */
int search_write(struct search_slice *slice, struct index_sync *s);
void search_slice_free(struct search_slice *slice);
