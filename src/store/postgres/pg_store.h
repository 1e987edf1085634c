/* pg_store.h - the store of type postgres: its calls, in the order of the files. Private to this
 * room.
 *
 *   pg_store.c    opening and closing, the table of calls
 *   pg_write.c    create, append and blobs: they become parts of a batch
 *   pg_batch.c    one transaction for many conversations, and what happens when it is in doubt
 *   pg_sql.c      the statements of a batch
 *   pg_cache.c    the conversations that were written last
 *   pg_read.c     get, read, scan, blobs
 *   pg_list.c     lists
 *   pg_search.c   searches; pg_text.c the words for them
 *   pg_change.c   fork, delete, restore, the ledger
 *   pg_outbox.h   what this server tells the others; ../replica/ how, and what it does with what
 * they tell pg_summary.c  what is derived from a log, as a text database.c    the connections of a
 * process; store/database/ one of them, and the tables */
#pragma once

#include "store/backend/backend.h"
#include "store/event/blobs.h"
#include "store/postgres/database.h"
#include "store/postgres/pg_summary.h"

static inline struct database *pg_database(const struct store *s)
{
    return s->impl;
}

static inline str pg_workspace(const struct store *s)
{
    return str_from(s->conf.workspace_id);
}

/* Text for a column: PostgreSQL stores no NUL characters. The log itself has them escaped. */
str pg_column_text(struct arena *a, str s);

/* ---- pg_write.c ---- */
void pg_create(struct store_op *op);
void pg_append(struct store_op *op);
void pg_put_blob(struct store_op *op);

/* ---- pg_read.c ---- */
void pg_get(struct store_op *op);
void pg_read(struct store_op *op);
void pg_get_blob(struct store_op *op);
int pg_scan(struct store *s, str id, store_line_fn fn, void *ctx, struct err *e);
int pg_each_id(struct store *s, store_id_fn fn, void *ctx, struct err *e);
int pg_blob_fd(struct store *s, struct arena *a, str id, str sha256);
void pg_probe(struct store_op *op);
/* All lines of the conversation with this key, line 1 included, until fn returns false. */
int pg_each_line(struct pg_conn *c, int64_t key, store_line_fn fn, void *ctx, struct err *e);
int pg_find_key(struct pg_conn *c, struct arena *a, const struct store *s, str id, int64_t *ret,
                struct err *e); /* -ENOENT */
/* Derives a log again from its lines. The conversation with this key. */
int pg_derive_log(struct pg_conn *c, int64_t key, struct pg_derive *d, struct err *e);

/* ---- pg_change.c ---- */
void pg_fork(struct store_op *op);
void pg_remove(struct store_op *op);
void pg_restore(struct store_op *op);
void pg_sweep(struct store *s); /* purges what is in the trash for too long, in the background */
int pg_ledger_add(struct store *s, str lines, struct err *e);
int pg_ledger_page(struct store *s, uint64_t after, struct arena *a, str *ret, struct err *e);
/* pg_person.c */
void pg_list_trash(struct store_op *op); /* blocking */
int pg_person_read(struct store *s, str user_id, struct arena *a, str *ret, struct err *e);
int pg_person_change(struct store *s, str user_id, document_edit_fn edit, void *ctx, struct err *e);

/* ---- ../shared/pg_spending.c ---- */
void pg_read_spending(struct store_op *op); /* blocking */
int pg_recount_spending(struct store *s, struct err *e);

/* ---- pg_list.c, pg_search.c ---- */
void pg_list(struct store_op *op);
void pg_counts_clear(struct database *db); /* after the pools have ended */
void pg_search(struct store_op *op);

int pg_conv_named(struct pg_conn *c, struct store_op *op, str id, struct conv **ret,
                  struct err *e); /* -ENOENT */
/* The conversation of a row. Derives it again from the log when its summary is out of date. */
int pg_conv_of(struct pg_conn *c, struct store_op *op, str id, int64_t key, int64_t last,
               str summary, struct conv **ret, struct err *e);
