/* index.h - lists and searches of a file store from a database instead of the logs.
 *
 * {cache_dir}/index.db is a cache of values derived from the logs. It may be deleted, damaged or
 * replaced at any time, by any process. The loop thread owns struct index; the database is used
 * only on pool threads, through one connection per job.
 *
 *     list, search --> waiting --sync job--> query job --> op_done
 *                         ^        |  |           ^  |
 *                         |        |  +-- failed -|--+--> scan all logs (scan.c) --> op_done
 *                         |        +-- sweep job -+
 *     index_touch --> touched                |
 *                         |                  v
 *                       timer --> feed jobs (full text, sweep): gather, write
 *
 * Sync job: one at a time, on the reader pool. It brings the rows of all logs up to date that were
 * written through this store (`touched`). Calls that arrive during a sync wait for the next one, so
 * that each call sees all writes acknowledged before it.
 *
 * Sweep job: compares the directory with the rows, and brings up to date what is new, changed or
 * deleted, the latest first. A small directory is swept by every sync; a large one only when
 * nothing is known about it yet (index_mark.h says when something is) and when its time has
 * changed, unless a change of this process explains the time (dir_changes.h). A call waits for the
 * sweep; one that takes a part (store_query.takes_part) waits PATIENCE_MS and is then answered with
 * the rows that there are, and how many there will be. Changes of other processes to existing
 * logs are found by the sweep of the feed.
 *
 * Query job: one per call, on the reader pool, with a connection of its own. It checks each row
 * that it returns against the file, and so notices appends of other processes. If the database was
 * replaced since the sync, or fails, the call falls back to scanning the logs.
 *
 * Feed: one at a time for each index, and FEEDS_MAX in a group. It gathers text, and sweeps for
 * changes of other processes, on a thread with low priority, and writes the text to the full-text
 * index in slices on the reader pool: a thread that has to wait for a processor must not hold the
 * lock that a list needs. A search reads the ends of logs that the feed has not reached.
 *
 * Who may touch what: each job owns its struct (sync_job, sweep_job, query_job, feed_job) while
 * is_busy, with a copy of sweep_state; `index_learn` takes the results over on the loop thread.
 * Only `stop`, `writers`, `own` and `progress`, which are atomic, change while a job may read them.
 *
 * Group: what the indexes of a process share, so that a workspace that is open and not used costs
 * little: the threads of the feed, and a limit of how many indexes keep connections. The
 * connections of an index that was not used for some time are closed, and so are those of the index
 * that was used least recently when there are too many; the next job opens what it needs.
 *
 *   index.c        calls, the sync job     search_feed.c  adds text to the full-text index
 *   index_background.c  sweep and feed     search_find.c  runs a search
 *   index_sync.c   brings rows up to date  index_mark.c   a complete index at the end of a process
 *   index_list.c   a page of a list        search_words.c text and queries as words of FTS5
 *   index_conv.c   the rows                search_rank.c  order by relevance
 *   index_db.c     the database file       index_price.c  detects changed prices
 *   index_vfs.c    opens it for SQLite */
#pragma once

#include "store/backend/file_store.h"

struct index;
struct index_group;

/* Loop thread; must outlive the stores that use it. */
struct index_group *index_group_new(struct loop *l);
void index_group_free(struct index_group *g); /* accepts NULL */

/* dir: the directory in which logs are created and deleted. The cache directory is created when
 * it is first needed. */
struct index *index_new(struct store *s, const char *dir);
/* Brings the last writes into the index, ends its jobs and calls done. No list or search may be
 * pending. ix may be NULL. */
void index_stop(struct index *ix, loop_fn done, void *ctx);
/* After index_stop, when nothing of this process changes the directory any more. Blocking, shortly;
 * ix may be NULL. */
void index_free(struct index *ix);

/* This process has written, created, moved or deleted a log. ix may be NULL. */
void index_touch(struct index *ix, str id);

/* Loads the values that the index derived from a log, up to `limit` at most, so that a large log
 * need not be read from its start. False: the index has no usable row. Blocking; any thread; ix may
 * be NULL. */
#define INDEX_LOAD_BYTES (1024 * 1024)
bool index_load(const struct index *ix, str id, int fd, off_t limit, struct derive *d);

/* store_ops.list and .search of a file store; without an index they scan all logs. */
void index_list(struct store_op *op);
void index_search(struct store_op *op);
