/* index_db.h - the database file of the index: opened, checked, created again.
 *
 * A connection belongs to one thread at a time. The file is a cache: a connection that finds the
 * file missing, damaged, of a different version, for a different directory of logs or computed with
 * different prices creates a new file in its place. Every other connection notices this before its
 * next use.
 *
 * The database uses a rollback journal instead of a write-ahead log: the files of a write-ahead log
 * are found by name, so a deleted database and its replacement would share them (index_vfs.h). */
#pragma once

#include "base/arena.h"
#include "store/index/index_vfs.h"
#include "store/store.h"

#define INDEX_SCHEMA         6 /* raised with the tables, and with what is derived from a log */
#define INDEX_STATEMENTS_MAX 32
#define INDEX_REST_BYTES     (256 * 1024) /* of pages that a connection keeps between two jobs */

struct index_db {
    const char *path;  /* of the file; all pointers are borrowed */
    const char *scope; /* the directory of the logs in it */
    const struct store_env *env;

    struct index_vfs vfs;
    sqlite3 *sql;  /* NULL = closed */
    int64_t birth; /* a random number: distinguishes a database from its replacement */
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

/* Must be called before each use. 0: the open file is still the current one; 1: a file was opened,
 * and perhaps created; -errno: no index is available (-EBUSY, -EACCES, -EIO, ...). */
int index_db_ready(struct index_db *db);

/* Starts a transaction; one for writing waits until no other connection writes. */
int index_db_begin(struct index_db *db, bool is_write);
int index_db_commit(struct index_db *db);
void index_db_rollback(struct index_db *db); /* does nothing outside of a transaction */

/* A statement, ready to bind; text is a literal, compared by address. Never NULL: a statement that
 * does not compile fails in index_db_step. */
sqlite3_stmt *index_db_sql(struct index_db *db, const char *text);

/* 1 = a row, 0 = done (and the statement is reset), or -errno as from index_db_fail. */
int index_db_step(struct index_db *db, sqlite3_stmt *st);
int index_db_run(struct index_db *db, sqlite3_stmt *st); /* a statement without rows */

void index_db_bind(sqlite3_stmt *st, int at, str s); /* not copied: s must live until the reset */
str index_db_column(sqlite3_stmt *st, int at);       /* until the next step */

/* Releases cached memory. */
void index_db_shrink(struct index_db *db);

/* The job of a connection has ended: releases its pages if they are more than INDEX_REST_BYTES. */
void index_db_rest(struct index_db *db);

/* Deletes the file: the next index_db_ready creates a new one. */
void index_db_discard(struct index_db *db);
