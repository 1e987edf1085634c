/* index_conv.h - the rows of the index: the values derived from each log, and who may list it.
 *
 * A row holds everything needed to continue deriving at the byte where it stopped. In addition,
 * each conversation has entries in the table `shelf`: on the shelf of all conversations, on one
 * per person who may see it, and on the shelf of those open to all; each in both sort orders. A
 * page of a list reads a few entries of one or two shelves, however many conversations there are.
 * Inside a transaction; the functions return 0 or -errno. */
#pragma once

#include "store/event/derive.h"
#include "store/index/index_db.h"

struct index_log { /* a log as it was when it was read */
    int64_t no;    /* its number in the full-text messages; 0 = not in the index */
    int64_t dev, ino, size, mtime_ns;
    int64_t mark;      /* distinguishes it from another log of the same name (index_sync.h) */
    int64_t done;      /* derived up to here: the start of the next line */
    int64_t text_done; /* and searchable up to here */
    int64_t messages;
};

int index_log_read(struct index_db *db, str id, struct index_log *ret); /* no = 0: unknown */
int index_log_write(struct index_db *db, str id, const struct index_log *log);
/* Reads the columns of "SELECT no, dev, ino, size, mtime, mark, done, text_done, messages". */
void index_log_columns(sqlite3_stmt *st, int first, struct index_log *ret);
#define INDEX_LOG_COLUMNS "no, dev, ino, size, mtime, mark, done, text_done, messages"

/* d must be initialised; the strings of the row are copied into its arena. -ENOENT. */
int index_conv_read(struct index_db *db, str id, struct derive *d);
/* Replaces the row; no: of its log. */
int index_conv_write(struct index_db *db, str id, int64_t no, const struct derive *d);
int index_conv_delete(struct index_db *db, str id); /* the log's row too; absent is fine */

/* The id of the row of a log, by its number; empty when there is none. */
int index_id_of(struct index_db *db, struct arena *a, int64_t no, str *ret);
/* The end of the ids of rows without a conversation (index_sync.h). */
#define INDEX_NOTES "/notes"

/* The columns of "SELECT INDEX_CONV_COLUMNS FROM conv c". */
void index_conv_columns(sqlite3_stmt *st, int first, struct derive *d);
#define INDEX_CONV_COLUMNS                                                                         \
    "c.workspace_id, c.created_at, c.updated_at, c.title, c.channel, c.model, c.forked_from,"      \
    " c.parent, c.metadata, c.owner_id, c.is_shared, c.is_sealed, c.participants, c.readers,"      \
    " c.preview, c.last_model, c.last_run, c.message_count, c.input_tokens, c.output_tokens, "     \
    "c.cache_read_tokens,"                                                                         \
    " c.cache_write_5m_tokens, c.cache_write_1h_tokens, c.cost_usd, c.is_cost_known, c.bad_lines," \
    " c.is_hidden, c.branch"
#define INDEX_CONV_NCOLUMNS 28

/* The shelves that together hold every conversation that the viewer may see. */
#define INDEX_SHELVES_MAX 4
size_t index_shelves(struct arena *a, const struct viewer *viewer, bool with_hidden,
                     str ret[INDEX_SHELVES_MAX]);
str index_hidden_shelf(struct arena *a); /* every hidden conversation */
