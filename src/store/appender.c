/* appender.c - who may touch a struct log: the loop thread owns `queue` and everything
 * about idleness; the fields under "worker" belong to the pool thread from log_submit to
 * on_done and to the loop thread otherwise. The hand-over through the pool is the only
 * synchronisation, so there is no lock here. */
#include "store/appender.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/map.h"
#include "loop/timer.h"
#include "store/integrity.h"
#include "store/log_file.h"

struct release {
    struct list_node node;
    const void *owner;
    loop_fn done;
    void *ctx;
};

struct appender {
    struct loop *loop;
    struct pool *pool;
    const struct store_io *io;
    struct map logs;      /* path -> struct log */
    struct list_node lru; /* least recently used first */
    struct list_node releases;
    struct list_node ready; /* logs with tasks and nobody at work on them */
    struct deferred flush;  /* starts them, once all of this turn's tasks are there */
    struct deferred settle; /* looks after releases */
    struct timer tick;
};

struct log {
    struct appender *appender;
    const void *owner;
    struct list_node lru;
    struct list_node queue;
    struct list_node ready; /* in appender.ready */
    size_t queued_bytes;
    uint64_t used_ms, synced_ms;
    bool is_busy;    /* a job is under way */
    bool is_closing; /* the job under way closes the file */
    uint64_t end;    /* acknowledged length; valid while is_open, or once has_failed */
    bool is_open, has_failed;

    struct job job; /* worker */
    struct list_node batch;
    enum { STEP_WRITE, STEP_SYNC, STEP_CLOSE } step;
    struct log_file file;
    struct chain chain;     /* where the last append left it */
    unsigned chain_opening; /* the opening of the file that it belongs to; 0 = none */
};

static void on_tick(void *ctx);
static void on_settle(void *ctx);
static void on_flush(void *ctx);

struct appender *appender_new_with(struct loop *l, unsigned threads, const struct store_io *io)
{
    struct appender *a = xcalloc(1, sizeof(*a));
    a->loop = l;
    a->pool = pool_new(l, "nb-append", threads);
    a->io = io;
    map_init(&a->logs);
    list_init(&a->lru);
    list_init(&a->releases);
    list_init(&a->ready);
    defer_init(&a->flush, on_flush, a);
    defer_init(&a->settle, on_settle, a);
    timer_init(&a->tick, l, on_tick, a);
    return a;
}

struct appender *appender_new(struct loop *l, unsigned threads)
{
    return appender_new_with(l, threads, &store_io_system);
}

const struct store_io *appender_io(const struct appender *a)
{
    return a->io;
}

/* ---- on the pool thread ---- */

static void fail_batch(struct log *l, const struct err *e)
{
    LIST_FOREACH (it, &l->batch) {
        struct log_task *t = LIST_ENTRY(it, struct log_task, node);
        if (!t->err.code)
            t->err = *e;
    }
}

/* While the log is open nobody else writes it, so the chain need not be read again. */
static struct chain *chain_of(struct log *l)
{
    bool is_current = l->chain_opening == l->file.openings && l->chain.size == l->file.length;
    if (!is_current)
        chain_init(&l->chain, l->file.fd, l->file.length);
    l->chain_opening = l->file.openings;
    return &l->chain;
}

static void append_batch(struct log *l)
{
    struct err e = {0};
    if (log_file_open(&l->file, &e) < 0) {
        fail_batch(l, &e);
        return;
    }
    struct iovec *iov = NULL;
    size_t niov = 0;
    uint64_t at = (uint64_t)l->file.length;
    struct chain *chain = chain_of(l);
    LIST_FOREACH (it, &l->batch) {
        struct log_task *t = LIST_ENTRY(it, struct log_task, node);
        t->chain = chain;
        if (t->prepare && t->prepare(t, l->appender->io) < 0)
            continue; /* fails alone */
        t->start = at;
        iov = xrealloc(iov, (niov + t->n) * sizeof(*iov));
        for (size_t i = 0; i < t->n; i++) {
            iov[niov++] = (struct iovec){(void *)t->lines[i].p, t->lines[i].n};
            at += t->lines[i].n;
        }
    }
    if (log_file_write(&l->file, iov, niov, &e) < 0) {
        l->chain_opening = 0; /* it went ahead of the log */
        fail_batch(l, &e);
    }
    chain->size = l->file.length;
    free(iov);
}

static void run_single(struct log *l, struct log_task *t)
{
    if (t->kind == LOG_CREATE) {
        if (!t->prepare || t->prepare(t, l->appender->io) == 0)
            log_file_create(&l->file, t->lines, t->n, &t->err);
        return;
    }
    /* A failed log may still be deleted. */
    if (t->needs_lock && !log_file_failed(&l->file) && log_file_open(&l->file, &t->err) < 0)
        return;
    t->run(t, l->appender->io);
    if (!t->spares_log)
        log_file_close(&l->file); /* what it was open on may be gone or elsewhere */
}

static void work(struct job *j)
{
    struct log *l = CONTAINER_OF(j, struct log, job);
    if (l->step == STEP_CLOSE) {
        log_file_close(&l->file);
        return;
    }
    if (l->step == STEP_SYNC) {
        log_file_sync(&l->file);
        return;
    }
    struct log_task *first = LIST_ENTRY(l->batch.next, struct log_task, node);
    if (first->kind == LOG_APPEND)
        append_batch(l);
    else
        run_single(l, first);
}

/* ---- on the loop thread ---- */

static void on_done(struct job *j);

static void submit(struct log *l, int step)
{
    assert(!l->is_busy);
    l->step = step;
    l->is_busy = true;
    l->job.work = work;
    l->job.done = on_done;
    pool_submit(l->appender->pool, &l->job);
}

/* Takes the appends at the head of the queue, or one task of another kind. */
static void start_batch(struct log *l)
{
    size_t taken = 0;
    while (!list_empty(&l->queue) && taken < APPENDER_BATCH_TASKS) {
        struct log_task *t = LIST_ENTRY(l->queue.next, struct log_task, node);
        if (t->kind != LOG_APPEND && taken > 0)
            break;
        list_del(&t->node);
        list_push(&l->batch, &t->node);
        l->queued_bytes -= t->bytes;
        taken++;
        if (t->kind != LOG_APPEND)
            break;
    }
    submit(l, STEP_WRITE);
}

/* Waiting for the end of the turn costs nothing and lets whoever was just answered join. */
static void make_ready(struct log *l)
{
    struct appender *a = l->appender;
    if (l->is_busy || !list_empty(&l->ready))
        return;
    list_push(&a->ready, &l->ready);
    defer_start(a->loop, &a->flush);
}

static void on_flush(void *ctx)
{
    struct appender *a = ctx;
    struct list_node *n;
    while ((n = list_pop(&a->ready)) != NULL)
        start_batch(LIST_ENTRY(n, struct log, ready));
}

static void log_free(struct log *l)
{
    struct appender *a = l->appender;
    assert(list_empty(&l->ready));
    assert(list_empty(&l->queue) && list_empty(&l->batch) && !l->is_busy);
    map_del(&a->logs, str_from(l->file.path));
    list_del(&l->lru);
    log_file_done(&l->file);
    free(l);
}

/* A failed log stays known without a file, so that nothing is written to it again. */
static void after_close(struct log *l)
{
    l->is_closing = false;
    if (list_empty(&l->queue) && !log_file_failed(&l->file))
        log_free(l);
}

static void on_done(struct job *j)
{
    struct log *l = CONTAINER_OF(j, struct log, job);
    struct appender *a = l->appender;
    l->is_busy = false;
    l->is_open = log_file_is_open(&l->file);
    l->has_failed = log_file_failed(&l->file);
    l->end = (uint64_t)l->file.length;
    log_file_report(&l->file, loop_log(a->loop));
    struct list_node done = LIST_HEAD_INIT(done), *n;
    while ((n = list_pop(&l->batch)) != NULL)
        list_push(&done, n);
    if (!list_empty(&l->queue))
        make_ready(l);
    else if (l->is_closing || !l->is_open)
        after_close(l);
    if (!list_empty(&a->releases))
        defer_start(a->loop, &a->settle);
    while ((n = list_pop(&done)) != NULL) {
        struct log_task *t = LIST_ENTRY(n, struct log_task, node);
        t->done(t);
    }
}

static void close_log(struct log *l)
{
    if (l->is_busy || l->is_closing || !list_empty(&l->queue))
        return;
    l->is_closing = true;
    submit(l, STEP_CLOSE);
}

static void evict_one(struct appender *a)
{
    LIST_FOREACH (it, &a->lru) {
        struct log *l = LIST_ENTRY(it, struct log, lru);
        if (!l->is_busy && l->is_open && list_empty(&l->queue)) {
            close_log(l);
            return;
        }
    }
}

static struct log *log_for(struct appender *a, const struct log_spec *spec)
{
    struct log *l = map_get(&a->logs, str_from(spec->path));
    if (!l) {
        if (map_len(&a->logs) >= APPENDER_OPEN_MAX)
            evict_one(a);
        l = xcalloc(1, sizeof(*l));
        l->appender = a;
        l->owner = spec->owner;
        list_init(&l->queue);
        list_init(&l->batch);
        list_init(&l->ready);
        log_file_init(&l->file, a->io, spec->path, spec->sync == LOG_SYNC_ALWAYS);
        l->file.syncs_later = spec->sync == LOG_SYNC_INTERVAL;
        map_put(&a->logs, str_from(spec->path), l);
    } else {
        list_del(&l->lru);
    }
    l->used_ms = clock_mono_ms();
    list_push(&a->lru, &l->lru);
    return l;
}

struct refusal {
    struct deferred later;
    struct log_task *task;
};

static void on_refusal(void *ctx)
{
    struct refusal *r = ctx;
    struct log_task *t = r->task;
    free(r);
    t->done(t);
}

static void refuse(struct appender *a, struct log_task *t)
{
    struct refusal *r = xcalloc(1, sizeof(*r));
    r->task = t;
    err_set(&t->err, -ENOBUFS,
            "this conversation is written faster than the disk can take it; try again");
    defer_init(&r->later, on_refusal, r);
    defer_start(a->loop, &r->later);
}

void appender_submit(struct appender *a, const struct log_spec *spec, struct log_task *t)
{
    err_clear(&t->err);
    struct log *l = log_for(a, spec);
    if (l->queued_bytes > 0 && l->queued_bytes + t->bytes > APPENDER_QUEUE_BYTES) {
        refuse(a, t);
        return;
    }
    l->queued_bytes += t->bytes;
    list_push(&l->queue, &t->node);
    make_ready(l);
    if (!timer_active(&a->tick))
        timer_start(&a->tick, APPENDER_INTERVAL_MS);
}

bool appender_end(const struct appender *a, const char *path, uint64_t *ret_end)
{
    const struct log *l = map_get(&a->logs, str_from(path));
    if (!l || !(l->is_open || l->has_failed))
        return false;
    *ret_end = l->end;
    return true;
}

static void on_tick(void *ctx)
{
    struct appender *a = ctx;
    uint64_t now = clock_mono_ms();
    LIST_FOREACH (it, &a->lru) {
        struct log *l = LIST_ENTRY(it, struct log, lru);
        if (l->is_busy || !l->is_open || !list_empty(&l->queue))
            continue;
        if (now - l->used_ms >= APPENDER_IDLE_MS)
            close_log(l);
        else if (log_file_is_dirty(&l->file))
            submit(l, STEP_SYNC);
    }
    if (!list_empty(&a->lru))
        timer_start(&a->tick, APPENDER_INTERVAL_MS);
}

/* ---- letting go ---- */

static bool release_logs(struct appender *a, const void *owner)
{
    bool is_empty = true;
    LIST_FOREACH (it, &a->lru) {
        struct log *l = LIST_ENTRY(it, struct log, lru);
        if (l->owner != owner)
            continue;
        if (!l->is_busy && !l->is_open && list_empty(&l->queue)) {
            log_free(l);
            continue;
        }
        is_empty = false;
        close_log(l);
    }
    return is_empty;
}

static void on_settle(void *ctx)
{
    struct appender *a = ctx;
    LIST_FOREACH (it, &a->releases) {
        struct release *r = LIST_ENTRY(it, struct release, node);
        if (!release_logs(a, r->owner))
            continue;
        list_del(&r->node);
        r->done(r->ctx);
        free(r);
    }
}

void appender_release(struct appender *a, const void *owner, loop_fn done, void *ctx)
{
    struct release *r = xcalloc(1, sizeof(*r));
    *r = (struct release){.owner = owner, .done = done, .ctx = ctx};
    list_push(&a->releases, &r->node);
    defer_start(a->loop, &a->settle);
}

void appender_free(struct appender *a)
{
    if (!a)
        return;
    timer_stop(&a->tick);
    pool_free(a->pool);
    defer_stop(&a->flush);
    defer_stop(&a->settle);
    assert(list_empty(&a->releases));
    LIST_FOREACH (it, &a->lru) {
        struct log *l = LIST_ENTRY(it, struct log, lru);
        log_file_close(&l->file);
        log_free(l);
    }
    map_done(&a->logs);
    free(a);
}
