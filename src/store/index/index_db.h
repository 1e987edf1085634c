/* index_db.h - the database file of the index: opened, watched, made anew.
 *
 * A connection belongs to one thread at a time. The file is a cache: whoever finds it gone,
 * damaged, of another version, of another directory of logs or computed with other prices
 * makes a new one in its place, and everybody else notices before their next use.
 *
 * The journal is the plain one and not a write-ahead log: that one lives in files found by
 * name, which would be shared between a deleted database and the one made in its place
 * (index_vfs.h). */
#pragma once

#include "base/arena.h"
#include "store/index/index_vfs.h"
#include "store/store.h"

#define INDEX_SCHEMA         3 /* raised with the tables, and with what is derived from a log */
#define INDEX_STATEMENTS_MAX 32

struct index_db {
    const char *path;  /* of the file; borrowed, as is the rest */
    const char *scope; /* the logs it is about */
    const struct store_env *env;

    struct index_vfs vfs;
    sqlite3 *sql;  /* NULL = closed */
    int64_t birth; /* tells one database from the next in its place */
    struct {
        const char *text;
        sqlite3_stmt *stmt;
    } statements[INDEX_STATEMENTS_MAX];
    size_t nstatements;
    bool in_transaction;
};

void index_db_init(struct index_db *db, const char *path, const char *scope,
                   const struct store_env *env);
void index_db_close(struct index_db *db);

/* Before each use. 0: this is still the file that was open; 1: opened, and perhaps made, just
 * now; -errno: no index can be had (-EBUSY, -EACCES, -EIO, ...). */
int index_db_ready(struct index_db *db);

/* Starts a transaction: for writing it waits until nobody else writes. */
int index_db_begin(struct index_db *db, bool is_write);
int index_db_commit(struct index_db *db);
void index_db_rollback(struct index_db *db); /* a no-op outside of a transaction */

/* A statement, ready to bind; text is a literal, compared by address. Never NULL: one that
 * does not compile fails when it is stepped. */
sqlite3_stmt *index_db_sql(struct index_db *db, const char *text);

/* 1 = a row, 0 = done (and the statement is reset), or -errno as from index_db_fail. */
int index_db_step(struct index_db *db, sqlite3_stmt *st);
int index_db_run(struct index_db *db, sqlite3_stmt *st); /* a statement without rows */

void index_db_bind(sqlite3_stmt *st, int at, str s); /* not copied: valid until it is reset */
str index_db_column(sqlite3_stmt *st, int at);       /* until the next step */

/* Gives back memory after a lot of work. */
void index_db_shrink(struct index_db *db);

/* Throws the file away: the next index_db_ready makes a new one. */
void index_db_discard(struct index_db *db);
