/* session_table.h - sessions of several servers, in the table nb_session.
 *
 * Every change is a transaction that first increments the generation of sessions (nb_generation),
 * whose row lock makes generations commit in their order; the changed rows carry it, and an ended
 * session stays as a row for an hour. So "what is new" is WHERE generation > known, and a reader
 * that knows a generation knows all before it. Changes that wait go together in one transaction.
 *
 * Memory has a new session before it is stored, but its cookie is given out afterwards
 * (session_await). A rotation is stored only if nobody else has rotated the session; who loses
 * reads the row again. An ended session is gone from memory immediately, and its end is tried again
 * until it is stored. All times are those of the database. */
#pragma once

#include "auth/session/session_impl.h"
#include "store/postgres/database.h"

struct session_table;

/* Makes it the keeper of s. */
void session_table_use(struct sessions *s, struct database *db);
void session_table_free(struct session_table *t); /* after its `stop`; accepts NULL */

/* The difference between the clock of the database and ours; 0 without a table. */
int64_t session_table_ahead_ms(const struct session_table *t);
/* Everything is read again at the next reading: the origin has changed. Accepts NULL. */
void session_table_forget(struct session_table *t);

/* ---- reading (fresh.h) ---- */

struct session_reading {
    struct arena *arena;
    /* in */
    str origin;
    int64_t known;
    /* out */
    struct login_session *rows; /* their texts are in the arena */
    bool *is_ended;             /* of each row */
    size_t n;
    int64_t generation, roster_generation, now_ms;
};

/* Fills in what is known; 0: everything is read. Loop thread. */
void session_table_ask(const struct sessions *s, struct session_reading *r);
/* A pool thread. May be repeated. */
int session_table_read(struct pg_conn *c, struct session_reading *r, struct err *e);
/* Brings memory up to what was read. Loop thread. */
void session_table_take(struct sessions *s, const struct session_reading *r);
