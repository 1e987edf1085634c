/* use_store.h - where the times of token_use.h are stored: in a file of this machine, or in a table
 * that several servers share.
 *
 * use_file.c writes {workDir}/auth/token-use.json as a whole. use_table.c adds to nb_token_use: the
 * later time wins, so that servers need not know of each other, and a write whose answer was lost
 * may be repeated. All calls block; one thread at a time. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define TOKEN_USES_MAX 500000 /* that are read */

struct database;

struct token_time {
    str token_id;
    int64_t ms;
};

struct token_times {
    struct token_time *items;
    size_t n;
};

/* What a write may need: a file is replaced, a table gets what is new. */
struct use_changes {
    struct token_times all, noted;
    const str *forgotten; /* tokens that were revoked */
    size_t nforgotten;
};

struct use_store {
    bool is_shared; /* other servers write too, so it must be read again */
    /* Every time that is stored, in the arena. A damaged file is an empty one. */
    int (*read)(struct use_store *s, struct arena *a, struct token_times *ret, struct err *e);
    int (*write)(struct use_store *s, const struct use_changes *c, struct err *e);
    void (*free)(struct use_store *s);
};

/* `shared` is borrowed and must be open when the store is read; NULL = a file in work_dir. */
struct use_store *use_store_new(const char *work_dir, struct database *shared);
struct use_store *use_file_new(const char *work_dir);
struct use_store *use_table_new(struct database *db);
