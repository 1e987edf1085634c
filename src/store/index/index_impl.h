/* index_impl.h - the parts of the index: calls and the sync job (index.c), the sweep and the feed
 * (index_background.c). Private to these files; index.h has the picture. */
#pragma once

#include "loop/timer.h"
#include "store/index/index.h"
#include "store/index/index_mark.h"
#include "store/index/index_sync.h"
#include "store/index/search_feed.h"

enum {
    INDEX_IDLE_MAX = 4,    /* connections kept for the next query */
    INDEX_OPEN_MAX = 32,   /* indexes of a group that keep connections */
    INDEX_SMALL_DIR = 200, /* a directory with so few logs is swept by every sync */
};

struct sweep_state {      /* of the directory; each job gets a copy */
    int64_t dir_mtime_ns; /* at the last sweep; 0 = too recent to rely on (SETTLE_MS) */
    uint64_t swept_ms;    /* time of the last sweep; 0 = sweep again */
    uint64_t sweep_ms;    /* how long it took */
    size_t total;         /* logs */
    uint64_t changes;     /* dir_changes.ended when it began */
    int64_t birth;        /* of the database that it was compared with */
};

struct index_group {
    struct loop *loop;
    struct pool *pool;     /* for feeds; NULL = there was none yet */
    struct list_node open; /* indexes with connections, in the order of their last use */
    size_t nopen;
    struct timer close; /* while there are any */
    struct job trim;
    bool is_trimming;
    struct list_node feeds; /* that wait for a place */
    size_t nfeeds;          /* under way */
};

struct index {
    struct store *store;
    struct index_group *group;
    bool has_own_group;
    struct list_node open; /* in group->open */
    uint64_t connected_ms; /* time of the last use of a connection */
    char *dir, *path, *mark_path;
    atomic_bool stop;
    loop_fn on_free;
    void *on_free_ctx;

    struct map touched;    /* ids of logs written since the last sync */
    bool touched_too_many; /* more than TOUCHED_MAX: sweep instead */
    struct sweep_state state;
    struct dir_changes *own; /* of this process */
    struct index_mark mark;
    bool is_mixed;            /* at the end there is a change of another process */
    _Atomic unsigned writers; /* sync jobs that write, or wait for it */
    uint64_t used_ms;         /* time of the last call */
    uint64_t wrote_ms;        /* time of the last sync that wrote */

    struct sync_job { /* one at a time; calls that arrive meanwhile wait for the next */
        struct job job;
        bool is_busy, must_sweep, is_last;
        struct arena arena;
        str *ids;
        size_t nids;
        struct sweep_state state;
        struct index_mark mark; /* a copy */
        struct index_db db;
        bool needs_sweep; /* the result: the directory must be swept first */
        bool has_written;
        int status;
    } sync;
    struct list_node waiting, batch; /* calls for the next sync, and for the current one */

    struct sweep_job { /* one at a time */
        struct job job;
        bool is_busy;
        uint64_t began_ms;
        struct sweep_state state;
        struct index_db db;
        struct index_progress progress;
        int status;
    } sweep;
    struct list_node sweeping, too_late; /* calls that wait for it: from before, and from later */
    struct timer patience;               /* of those that take a part */

    struct index_db *idle[INDEX_IDLE_MAX];
    size_t nidle;

    struct feed_job { /* full text, in the background */
        struct job job;
        struct list_node node; /* in group->feeds */
        bool is_busy, is_wanted, must_sweep, has_fed;
        struct sweep_state state;
        struct index_db db;
        struct search_slice *slice; /* between its two jobs */
        size_t slice_max;
        uint64_t shrunk_ms;
        int status;
    } feed;
    struct timer timer, shrink;
};

/* ---- index.c ---- */
/* counting: of the sweep that the call does not wait for; total 0 = it sees everything. birth: of
 * the database that was brought up to date. */
void index_query(struct index *ix, struct store_op *op, int64_t birth,
                 struct store_counting counting);
void index_scan_instead(struct store_op *op);
bool index_takes_part(const struct store_op *op);
void index_sync_start(struct index *ix);
void index_free_if_idle(struct index *ix);

/* ---- index_background.c ---- */
bool index_is_busy(const struct index *ix); /* but for queries */
/* A job that needs a connection begins. */
void index_connect(struct index *ix);
/* Closes the connections of which no job is under way. */
void index_disconnect(struct index *ix);
int index_sweep_dir(struct index_sync *s, const struct index *ix, size_t names_max,
                    struct sweep_state *state);
/* Has another process created or deleted a log since the state was recorded? */
bool index_has_foreign_change(const struct sweep_state *st, const struct index *ix);
int64_t index_dir_mtime_ns(const char *dir);
/* Takes over the state of a finished job, unless another job has swept later. */
void index_learn(struct index *ix, const struct sweep_state *from);

/* The call is answered after a sweep that begins now or later, or with what there is. */
void index_await_sweep(struct index *ix, struct store_op *op);
void index_sweep_start(struct index *ix);
void index_feed_start(struct index *ix);
void index_feed_if_due(struct index *ix);
void index_on_shrink(void *ctx);
void index_on_patience(void *ctx);
