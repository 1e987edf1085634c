/* index.h - list and search of a file store, answered from a database instead of the logs.
 *
 * {cache_dir}/index.db is a cache of what the logs say; it may be deleted, damaged or
 * replaced at any moment, by anybody. The loop thread owns this struct; the database is only
 * touched on pool threads, through one connection per job.
 *
 * A list or a search first waits for a sync: the rows of all logs that were written through
 * this store, or that the directory says are new or gone, are brought up to their files. It
 * then asks the database, and falls back to scanning the logs when that fails. A directory
 * of many logs is compared with the rows once at the start and whenever it changes; logs
 * that another process appends to are noticed by a sweep in the background and by the check
 * of every row that is returned. Full text follows a little later, on a thread of its own
 * with low priority; until then a search reads the ends of the logs that it has not reached.
 */
#pragma once

#include "store/backend/file_store.h"

struct index;

/* dir: the directory in which logs appear and disappear. The cache directory is made when
 * it is first needed. */
struct index *index_new(struct store *s, const char *dir);
void index_free(struct index *ix, loop_fn done, void *ctx); /* accepts NULL; done comes once
                                                               its jobs have ended */

/* This process has written a log, or (came_or_went) made, moved or removed one. ix may be
 * NULL. */
void index_touch(struct index *ix, str id, bool came_or_went);

/* Sets d to what the index knows of a log, up to limit at most, for those that are too large
 * to be read from their start. False: it knows nothing. Blocking; any thread; ix may be
 * NULL. */
#define INDEX_LOAD_BYTES (1024 * 1024)
bool index_load(const struct index *ix, str id, int fd, off_t limit, struct derive *d);

/* store_ops.list and .search of a file store; without an index they scan. */
void index_list(struct store_op *op);
void index_search(struct store_op *op);
