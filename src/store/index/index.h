/* index.h - lists and searches of a file store from a database instead of the logs.
 *
 * {cache_dir}/index.db is a cache of values derived from the logs. It may be deleted, damaged or
 * replaced at any time, by any process. The loop thread owns struct index; the database is used
 * only on pool threads, through one connection per job.
 *
 *     list, search --> waiting --sync job--> query job --> op_done
 *                         ^          |            |
 *                         |          +---failed---+--> scan all logs (scan.c) --> op_done
 *     index_touch --> touched        |
 *                         |          v
 *                       timer --> feed job (full text, sweep), on its own thread
 *
 * Sync job: one at a time, on the reader pool. It brings the rows of all logs up to date that were
 * written through this store (`touched`), or, after a sweep of the directory, of all logs that are
 * new, changed or deleted. Calls that arrive during a sync wait for the next one, so that each call
 * sees all writes acknowledged before it. A directory of many logs is swept only at the start and
 * when its time has changed.
 *
 * Query job: one per call, on the reader pool, with a connection of its own. It checks each row
 * that it returns against the file, and so notices appends of other processes. If the database was
 * replaced since the sync, or fails, the call falls back to scanning the logs.
 *
 * Feed job: one at a time, on a thread with low priority. It adds text to the full-text index in
 * slices and sweeps for changes of other processes. A search reads the ends of logs that the feed
 * has not reached.
 *
 * Who may touch what: each job owns its struct (sync_job, query_job, feed_job) while is_busy, with
 * a copy of sweep_state; `learn` takes the results over on the loop thread. `stop` is the only
 * member that changes while a job may read it.
 *
 *   index.c        the jobs above          search_feed.c  adds text to the full-text index
 *   index_sync.c   brings rows up to date  search_find.c  runs a search
 *   index_list.c   a page of a list        search_words.c text and queries as words of FTS5
 *   index_conv.c   the rows                search_rank.c  order by relevance
 *   index_db.c     the database file       index_price.c  detects changed prices
 *   index_vfs.c    opens it for SQLite */
#pragma once

#include "store/backend/file_store.h"

struct index;

/* dir: the directory in which logs are created and deleted. The cache directory is created when
 * it is first needed. */
struct index *index_new(struct store *s, const char *dir);
/* Calls done when the jobs have ended. No list or search may be pending. ix may be NULL. */
void index_free(struct index *ix, loop_fn done, void *ctx);

/* This process has written a log, or (came_or_went) created, moved or deleted one. ix may be
 * NULL. */
void index_touch(struct index *ix, str id, bool came_or_went);

/* Loads the values that the index derived from a log, up to `limit` at most, so that a large log
 * need not be read from its start. False: the index has no usable row. Blocking; any thread; ix may
 * be NULL. */
#define INDEX_LOAD_BYTES (1024 * 1024)
bool index_load(const struct index *ix, str id, int fd, off_t limit, struct derive *d);

/* store_ops.list and .search of a file store; without an index they scan all logs. */
void index_list(struct store_op *op);
void index_search(struct store_op *op);
