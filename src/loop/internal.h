/* internal.h - declarations shared by the files of this floor; other files do not include it. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "loop/loop.h"
#include "loop/timer.h"

/* A binary heap ordered by (due_ms, seq); heap_slot of a timer is its place in it. */
struct timer_heap {
    struct timer **at; /* at[0] is unused */
    size_t len, cap;
    uint64_t seq;
};

struct loop {
    uv_loop_t uv;
    struct logger *log;

    uv_async_t wake;      /* a post or a stop came from another thread */
    uv_prepare_t prepare; /* before the loop sleeps */
    uv_check_t check;     /* after the I/O callbacks of a turn */
    uv_idle_t busy;       /* active while something is deferred: the loop does not sleep */
    uv_timer_t alarm;     /* the earliest timer of the heap */

    struct list_node deferred;
    struct timer_heap timers;
    struct list_node pools;
    struct dir_notifier *dirs;   /* watch_dir.c; NULL = no directory is watched */
    size_t held;                 /* loop_hold without loop_release */
    uint64_t wakeups, trim_from; /* at the last look at `trim` */
    struct timer trim;           /* runs while there is something to do */
    uint64_t job_us;             /* when the `done` of a job began; 0 outside */

    pthread_mutex_t lock;
    struct list_node posts; /* under lock */
    atomic_bool stop;

    const bool *until; /* of loop_run_until; else NULL */
    bool is_time_up;   /* of loop_run_until */
    bool running;
    pthread_t owner; /* valid while running */
};

/* True for the thread that runs the loop, and for anybody while it does not run. */
static inline bool loop_is_mine(const struct loop *l)
{
    return !l->running || pthread_equal(l->owner, pthread_self());
}

void timers_arm(struct loop *l); /* sets the alarm for the earliest timer */
void timers_done(struct loop *l);

const char *pool_name(const struct list_node *node); /* of a node in loop->pools */
