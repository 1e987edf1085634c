/* index_sync.h - brings the rows of the index up to date with the logs, reading only new lines.
 *
 * A row continues to describe a log if the log is the same file, is not shorter than the part that
 * was read, and has the same mark: a checksum of its first bytes and of the last bytes that were
 * read, because file systems reuse inode numbers. Otherwise the log is read from its start, under a
 * new number. Blocking; any thread with its own connection. Every decision is made inside a
 * transaction. */
#pragma once

#include <stdatomic.h>
#include <sys/stat.h>

#include "store/backend/file_store.h"
#include "store/index/index_conv.h"

/* A file of notes that other programs write too (file_layout.notes_path) has a row of its own,
 * whose id is that of the conversation followed by INDEX_NOTES; ids of conversations contain no
 * slash. Such a row is used only for search: no values are derived from the file, and its access is
 * that of the conversation. */
bool index_is_notes(str row_id);
str index_conv_id(str row_id); /* of the conversation */
/* The file of a row, and the event that one of its lines represents (may be empty). */
const char *index_path(struct files *f, struct arena *a, str row_id);
str index_event(const struct files *f, struct arena *a, str row_id, str line);

struct index_progress {    /* of a sweep; written by its job, read by any thread */
    _Atomic size_t total;  /* logs that were found in the directory */
    _Atomic size_t behind; /* of which these are not in the index yet */
    atomic_bool has_rows;  /* the index has rows of some of them */
};

struct index_sync {
    struct index_db *db;
    struct store *store;
    const atomic_bool *stop; /* set: stop early with -ECANCELED */
    /* For work that takes long; may be NULL. yield: how many others wait to write. */
    struct index_progress *progress;
    _Atomic unsigned *yield;
    bool has_written; /* the result: rows may have text that is not in the full-text index */
};

/* Compares the directory with the index, without opening a log. ret: the ids that differ, the
 * latest changed first, in the arena. ret_total: how many logs there are. names_max: with more
 * logs the answer is -E2BIG, after as many names; 0 = no limit. */
int index_sweep(struct index_sync *s, struct arena *a, size_t names_max, str **ret, size_t *ret_n,
                size_t *ret_total);

/* Brings the rows of these logs up to date, in this order; deletes the rows of deleted logs. */
int index_catch_up(struct index_sync *s, const str *ids, size_t n);

/* Does the row describe the current state of the file? */
bool index_is_current(const struct index_log *log, const struct stat *st);

/* Is this the file that the row describes, possibly with more lines than the row covers? */
bool index_is_same(const struct index_log *log, int fd, const struct stat *st, off_t limit);

/* ---- index_list.c, search_find.c: fill op->out, or op->err when the query is invalid; -errno: the
 * index failed, scan the logs instead ---- */

/* A page of conversations. Every row is checked against its file and brought up to date first. */
int index_list_page(struct index_sync *s, struct store_op *op);
/* Hits, also in the ends of the logs that the full-text index does not contain yet. */
int search_find(struct index_sync *s, struct store_op *op);
