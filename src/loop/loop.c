#include "loop/loop.h"

#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "loop/internal.h"
#include "loop/timer.h"

/* A turn of libuv is: timers, prepare, poll, check, close callbacks. Deferred calls are made
 * in prepare (for what timers deferred) and in check (for what I/O deferred); each time only
 * those that were waiting when it began, so that a call that defers itself again cannot keep
 * I/O waiting. While any is left the idle handle is active, and poll does not sleep. */

/* Turns that loop_free grants to handles that are closing and to posts that are on the way. */
enum { SETTLE_TURNS_MAX = 1000, HELD_TICK_MS = 5 };

/* Free memory goes back to the kernel when the loop has woken up less often than this in this time,
 * after it has been busy. */
enum { TRIM_WAKEUPS = 500, TRIM_MS = 10000 };

struct posted_call {
    struct list_node node;
    loop_fn fn;
    void *ctx;
};

/* Moves everything from one list to another, empty one. */
static void list_move(struct list_node *from, struct list_node *to)
{
    list_init(to);
    if (list_empty(from))
        return;
    list_insert_after(from, to);
    list_del(from);
}

static void run_posts(struct loop *l)
{
    struct list_node posts, *node;
    pthread_mutex_lock(&l->lock);
    list_move(&l->posts, &posts);
    pthread_mutex_unlock(&l->lock);
    while ((node = list_pop(&posts))) {
        struct posted_call *p = LIST_ENTRY(node, struct posted_call, node);
        loop_fn fn = p->fn;
        void *ctx = p->ctx;
        free(p);
        fn(ctx);
    }
}

static void run_deferred(struct loop *l)
{
    struct list_node waiting, *node;
    list_move(&l->deferred, &waiting);
    while ((node = list_pop(&waiting))) {
        struct deferred *d = LIST_ENTRY(node, struct deferred, node);
        d->fn(d->ctx);
    }
    if (list_empty(&l->deferred))
        uv_idle_stop(&l->busy);
}

static void on_wake(uv_async_t *h)
{
    run_posts(h->data);
}

/* A timer or a deferred call of this turn may have been what loop_run_until waits for: then the
 * loop must not sleep, because nothing else may ever wake it. */
static void on_prepare(uv_prepare_t *h)
{
    struct loop *l = h->data;
    run_deferred(l);
    timers_arm(l);
    if (l->until && (*l->until || l->is_time_up))
        uv_stop(&l->uv);
}

static void on_trim(void *ctx)
{
    struct loop *l = ctx;
    bool is_busy = l->wakeups - l->trim_from >= TRIM_WAKEUPS;
    l->trim_from = l->wakeups;
    if (is_busy) {
        timer_start(&l->trim, TRIM_MS);
        return;
    }
    arena_trim();
    (void)malloc_trim(0);
}

static void on_check(uv_check_t *h)
{
    struct loop *l = h->data;
    l->wakeups++;
    run_deferred(l);
    if (l->wakeups - l->trim_from >= TRIM_WAKEUPS && !timer_active(&l->trim))
        timer_start(&l->trim, TRIM_MS);
}

static void on_busy(uv_idle_t *h)
{
    (void)h; /* an active idle handle keeps poll from sleeping; there is nothing to do */
}

static void must(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "nb: %s: %s\n", what, uv_strerror(status));
    abort();
}

struct loop *loop_new(struct logger *log)
{
    struct loop *l = xcalloc(1, sizeof(*l));
    l->log = log;
    list_init(&l->deferred);
    list_init(&l->posts);
    list_init(&l->pools);
    atomic_init(&l->stop, false);
    must(-pthread_mutex_init(&l->lock, NULL), "cannot create a mutex");
    must(uv_loop_init(&l->uv), "cannot start an event loop");
    must(uv_async_init(&l->uv, &l->wake, on_wake), "cannot create a wake-up handle");
    uv_prepare_init(&l->uv, &l->prepare);
    uv_check_init(&l->uv, &l->check);
    uv_idle_init(&l->uv, &l->busy);
    uv_timer_init(&l->uv, &l->alarm);
    timer_init(&l->trim, l, on_trim, l);
    l->wake.data = l->prepare.data = l->check.data = l->busy.data = l->alarm.data = l;
    uv_prepare_start(&l->prepare, on_prepare);
    uv_check_start(&l->check, on_check);
    return l;
}

static bool is_internal(const struct loop *l, const uv_handle_t *h)
{
    const void *p = h;
    return p == &l->wake || p == &l->prepare || p == &l->check || p == &l->busy || p == &l->alarm;
}

static bool has_posts(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    bool has = !list_empty(&l->posts);
    pthread_mutex_unlock(&l->lock);
    return has;
}

struct census {
    struct loop *loop;
    size_t open, closing;
};

static void count_handle(uv_handle_t *h, void *arg)
{
    struct census *c = arg;
    if (is_internal(c->loop, h))
        return;
    *(uv_is_closing(h) ? &c->closing : &c->open) += 1;
}

static void name_handle(uv_handle_t *h, void *arg)
{
    struct loop *l = arg;
    if (!is_internal(l, h) && !uv_is_closing(h))
        fprintf(stderr, "nb: loop_free: a %s handle is still open\n",
                uv_handle_type_name(uv_handle_get_type(h)));
}

static struct census take_census(struct loop *l)
{
    struct census c = {.loop = l};
    uv_walk(&l->uv, count_handle, &c);
    return c;
}

uint64_t loop_job_since_us(const struct loop *l)
{
    return l->job_us;
}

void loop_job_restart(struct loop *l, uint64_t now_us)
{
    if (l->job_us > 0)
        l->job_us = now_us;
}

void loop_hold(struct loop *l)
{
    l->held++;
}

void loop_release(struct loop *l)
{
    assert(l->held > 0);
    l->held--;
}

static void await_held(struct loop *l)
{
    bool never = false;
    for (int waited = 0; l->held > 0 && waited < LOOP_HELD_MS; waited += HELD_TICK_MS)
        (void)loop_run_until(l, &never, HELD_TICK_MS);
}

static void loop_settle(struct loop *l)
{
    await_held(l);
    for (int i = 0; i < SETTLE_TURNS_MAX; i++) {
        if (take_census(l).closing == 0 && !has_posts(l) && list_empty(&l->deferred))
            return;
        uv_run(&l->uv, UV_RUN_NOWAIT);
    }
}

/* Names everything that should have ended before the loop, then aborts. */
static void check_nothing_pending(struct loop *l)
{
    LIST_FOREACH (it, &l->pools)
        fprintf(stderr, "nb: loop_free: the pool \"%s\" was not freed\n", pool_name(it));
    uv_walk(&l->uv, name_handle, l);
    if (l->timers.len > 0)
        fprintf(stderr, "nb: loop_free: %zu timers are still running\n", l->timers.len);
    if (!list_empty(&l->deferred))
        fputs("nb: loop_free: a call is still deferred\n", stderr);
    if (has_posts(l))
        fputs("nb: loop_free: a post was not delivered\n", stderr);
    struct census c = take_census(l);
    if (c.open || c.closing || l->timers.len || !list_empty(&l->deferred) || has_posts(l))
        abort();
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    loop_settle(l);
    timer_stop(&l->trim);
    check_nothing_pending(l);
    uv_close((uv_handle_t *)&l->wake, NULL);
    uv_close((uv_handle_t *)&l->prepare, NULL);
    uv_close((uv_handle_t *)&l->check, NULL);
    uv_close((uv_handle_t *)&l->busy, NULL);
    uv_close((uv_handle_t *)&l->alarm, NULL);
    uv_run(&l->uv, UV_RUN_DEFAULT);
    must(uv_loop_close(&l->uv), "cannot close the event loop");
    timers_done(l);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static void loop_enter(struct loop *l)
{
    assert(!l->running);
    l->owner = pthread_self();
    l->running = true;
}

void loop_run(struct loop *l)
{
    loop_enter(l);
    arena_keep(true);
    while (!atomic_exchange(&l->stop, false))
        uv_run(&l->uv, UV_RUN_ONCE);
    arena_keep(false);
    l->running = false;
}

void loop_stop(struct loop *l)
{
    atomic_store(&l->stop, true);
    uv_async_send(&l->wake);
}

static void on_time_up(void *ctx)
{
    struct loop *l = ctx;
    l->is_time_up = true;
}

bool loop_run_until(struct loop *l, const bool *done, uint64_t timeout_ms)
{
    struct timer limit;
    timer_init(&limit, l, on_time_up, l);
    timer_start(&limit, timeout_ms);
    loop_enter(l);
    l->until = done;
    l->is_time_up = false;
    while (!*done && !l->is_time_up && !atomic_exchange(&l->stop, false))
        uv_run(&l->uv, UV_RUN_ONCE);
    l->until = NULL;
    l->running = false;
    timer_stop(&limit);
    return *done;
}

uint64_t loop_wakeups(const struct loop *l)
{
    return l->wakeups;
}

struct uv_loop_s *loop_uv(struct loop *l)
{
    return &l->uv;
}

struct logger *loop_log(struct loop *l)
{
    return l->log;
}

void loop_post(struct loop *l, loop_fn fn, void *ctx)
{
    struct posted_call *p = xcalloc(1, sizeof(*p));
    p->fn = fn;
    p->ctx = ctx;
    pthread_mutex_lock(&l->lock);
    list_push(&l->posts, &p->node);
    /* Under the lock: a poster must not touch the loop once its post can run, because that post
     * may free the loop. */
    uv_async_send(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

void defer_init(struct deferred *d, loop_fn fn, void *ctx)
{
    *d = (struct deferred){.fn = fn, .ctx = ctx};
    list_init(&d->node);
}

void defer_start(struct loop *l, struct deferred *d)
{
    assert(loop_is_mine(l));
    if (!list_empty(&d->node))
        return;
    list_push(&l->deferred, &d->node);
    uv_idle_start(&l->busy, on_busy);
}

void defer_stop(struct deferred *d)
{
    list_del(&d->node);
}
