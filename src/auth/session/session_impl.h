/* session_impl.h - shared by session.c and session_file.c. */
#pragma once

#include "auth/session/session.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "loop/pool.h"
#include "loop/timer.h"

struct sessions {
    struct loop *loop;
    struct logger *log;
    char *path;
    char *origin;
    session_ended on_ended;
    void *ctx;
    int64_t (*now_ms)(void);

    struct map all;     /* id -> struct login_session */
    struct map by_hash; /* each of its hashes -> the same */
    struct timer sweep;

    struct pool *pool;
    uint64_t changed, written; /* counters: the file is out of date while changed > written */
    bool is_seen_dirty;        /* only times of the last request changed */
    struct list_node waiting;  /* struct sync */

    bool is_writing;
    struct job job;
    struct buf text; /* the job's */
    uint64_t text_of;
    struct err err;
};

void session_index(struct sessions *s, struct login_session *x); /* into both maps; takes it */

void sessions_read(struct sessions *s);      /* once, blocking */
void sessions_changed(struct sessions *s);   /* starts a write unless one is in progress */
void sessions_write_end(struct sessions *s); /* blocking: the last write */
