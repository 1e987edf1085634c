/* session_table_impl.h - shared by session_table.c, which writes, and session_table_read.c. */
#pragma once

#include "auth/session/session_table.h"

/* Ended sessions are kept as rows for an hour, so a server that has not read for half of it reads
 * everything. */
#define KEPT_MS    3600000
#define READING_MS (KEPT_MS / 2)

#define MISTRUSTED (-1) /* as a generation: any row is better */

#define DATABASE_MS "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

struct session_table {
    struct sessions *sessions;
    struct database *db;
    struct pool *pool;
    struct deferred soon;
    uint64_t last;            /* number of a change */
    struct list_node changes; /* struct table_change: not taken by a batch */
    struct list_node waiting; /* struct session_wait */
    struct map ending; /* id -> struct ending: gone from memory, perhaps not from the table */
    int64_t known, ahead_ms;
    uint64_t read_at_ms; /* of our own clock; 0: never */

    /* the batch of the pool thread */
    bool is_busy;
    struct job job;
    struct arena arena;
    struct list_node batch;
    str origin;
    str *ends, *seen_ids;
    int64_t *seen_ms;
    size_t nends, nseen;
    bool is_purging;
    int64_t generation;
    struct err err;
};

static inline str copy_str(str s)
{
    return str_make(str_dup(s), s.n);
}

struct ending {
    int64_t generation; /* in which its end was stored; 0: not yet */
};
