/* session_impl.h - shared by session.c, session_file.c and session_table.c. */
#pragma once

#include "auth/session/session.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "loop/pool.h"
#include "loop/timer.h"

enum session_event { SESSION_BEGUN, SESSION_ROTATED, SESSION_ENDED };

/* Where sessions are stored. */
struct session_keeper {
    /* Memory has the change already. */
    void (*note)(struct sessions *s, const char *id, enum session_event what);
    void (*await)(struct sessions *s, const struct login_session *x, struct session_wait *w);
    void (*sync)(struct sessions *s, struct session_wait *w);
    void (*sweep)(struct sessions *s); /* once a minute */
    void (*stop)(struct sessions *s);  /* blocking: the last write */
};

struct sessions {
    const struct session_keeper *keeper;
    struct session_table *table; /* NULL: a file */
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

    bool is_seen_dirty; /* only times of the last request changed */
    bool is_stopped;

    /* session_file.c */
    struct pool *pool;
    uint64_t changed, written; /* counters: the file is out of date while changed > written */
    struct list_node waiting;  /* struct session_wait */
    bool is_writing;
    struct job job;
    struct buf text; /* the job's */
    uint64_t text_of;
    struct err err;
};

extern const struct session_keeper SESSION_FILE;
void sessions_read(struct sessions *s); /* the file; once, blocking */

void session_index(struct sessions *s, struct login_session *x); /* into both maps; takes it */
/* The same in the place of what has its id. */
void session_replace(struct sessions *s, struct login_session *x);
/* Takes it out of memory and tells on_ended, without a word to the keeper. */
void session_remove(struct sessions *s, struct login_session *x);
void session_release(struct login_session *x);
