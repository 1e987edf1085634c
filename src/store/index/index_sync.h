/* index_sync.h - brings the rows of the index up to the logs, reading only what is new.
 *
 * A log is taken for the one that was read before when it is the same file, has not become
 * shorter than what was read of it, and its mark is the same: a checksum of its first bytes
 * and of the last ones that were read, because inode numbers are used again. Otherwise it is
 * read from its start, under a new number. Blocking; any thread with its own connection:
 * everything that is decided is decided inside a transaction. */
#pragma once

#include <stdatomic.h>
#include <sys/stat.h>

#include "store/backend/file_store.h"
#include "store/index/index_conv.h"

/* A file of notes that other programs write too (file_layout.notes_path) has a row of its own,
 * under the id of its conversation and INDEX_NOTES; no id of a conversation holds a slash. Such a
 * row is only searched: nothing is derived from the file, and who may see it follows from the
 * conversation. */
#define INDEX_NOTES "/notes"
bool index_is_notes(str row_id);
str index_conv_id(str row_id); /* of the conversation */
/* The file of a row, and the event that one of its lines stands for (perhaps empty). */
const char *index_path(struct files *f, struct arena *a, str row_id);
str index_event(const struct files *f, struct arena *a, str row_id, str line);

struct index_sync {
    struct index_db *db;
    struct store *store;
    const atomic_bool *stop; /* ends the work early: -ECANCELED */
};

/* Compares the directory with the index, without opening a log. ret: the ids that differ,
 * in the arena. ret_total: how many logs there are. */
int index_sweep(struct index_sync *s, struct arena *a, str **ret, size_t *ret_n, size_t *ret_total);

/* Catches up the rows of these logs; rows of logs that are gone go too. */
int index_catch_up(struct index_sync *s, const str *ids, size_t n);

/* Is the row what the file is now? */
bool index_is_current(const struct index_log *log, const struct stat *st);

/* Is the file, up to limit, the one the row is about, and perhaps longer? */
bool index_is_same(const struct index_log *log, int fd, const struct stat *st, off_t limit);
