#include "store/log/appender.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "store/log/appender_impl.h"

struct release { /* an appender_release that waits for the jobs of its logs and groups */
    struct list_node node;
    const void *owner;
    loop_fn done;
    void *ctx;
};

static void on_appender_tick(void *ctx);
static void on_check_releases(void *ctx);
static void on_flush(void *ctx);

struct appender *appender_new_with(struct loop *l, const struct appender_conf *conf)
{
    assert(conf->threads > 0);
    struct appender *a = xcalloc(1, sizeof(*a));
    a->loop = l;
    a->pool = pool_new(l, "nb-append", conf->threads);
    a->conf = *conf;
    if (!conf->io)
        a->conf.io = &store_io_system;
    if (!conf->journal_after)
        a->conf.journal_after = APPENDER_JOURNAL_AFTER;
    if (!conf->journal_bytes)
        a->conf.journal_bytes = JOURNAL_HALF_BYTES;
    map_init(&a->logs);
    list_init(&a->lru);
    list_init(&a->groups);
    list_init(&a->releases);
    list_init(&a->ready);
    defer_init(&a->flush, on_flush, a);
    defer_init(&a->check_releases, on_check_releases, a);
    timer_init(&a->tick, l, on_appender_tick, a);
    return a;
}

struct appender *appender_new(struct loop *l, unsigned threads)
{
    return appender_new_with(l, &(struct appender_conf){.threads = threads});
}

const struct store_io *appender_io(const struct appender *a)
{
    return a->conf.io;
}

/* ---- jobs ---- */

static void on_log_job_done(struct job *j);

static void log_job_work(struct job *j)
{
    log_work(CONTAINER_OF(j, struct log, job));
}

void log_start(struct log *l, enum log_step step)
{
    assert(!l->is_busy);
    assert((step == STEP_WRITE) == !list_empty(&l->batch));
    l->step = step;
    l->is_busy = true;
    pool_run(l->appender->pool, &l->job, log_job_work, on_log_job_done);
}

void log_take_batch(struct log *l)
{
    size_t taken = 0;
    assert(!l->is_busy && list_empty(&l->batch));
    /* Appends are taken together, because one writev and one sync serve them all. */
    while (!list_empty(&l->queue) && taken < APPENDER_BATCH_TASKS) {
        struct log_task *t = LIST_ENTRY(l->queue.next, struct log_task, node);
        if (t->kind != LOG_APPEND && taken > 0)
            break; /* create and run need a batch for themselves */
        assert(l->queued > 0 && l->queued_bytes >= t->bytes);
        list_del(&t->node);
        list_push(&l->batch, &t->node);
        l->queued--;
        l->queued_bytes -= t->bytes;
        l->queued_patient -= t->may_wait;
        taken++;
        if (t->kind != LOG_APPEND)
            break;
    }
}

/* Jobs start at the end of the loop turn: a writer whose append was just acknowledged often
 * appends again in the same turn, and both tasks then share one sync. */
static void make_ready(struct log *l)
{
    struct appender *a = l->appender;
    if (l->is_busy)
        return; /* log_finish makes it ready again */
    if (list_empty(&l->ready))
        list_push(&a->ready, &l->ready);
    defer_start(a->loop, &a->flush); /* also for a log whose tasks could wait until now */
}

static void refuse_first(struct log *l, const struct err *e)
{
    log_take_batch(l);
    LIST_ENTRY(l->batch.next, struct log_task, node)->err = *e;
    l->is_busy = true; /* as after a job */
    log_finish(l);
}

static void on_flush(void *ctx)
{
    struct appender *a = ctx;
    struct list_node *n;
    struct err refusal = {0};
    while ((n = list_pop(&a->ready)) != NULL) {
        struct log *l = LIST_ENTRY(n, struct log, ready);
        assert(!l->is_busy && !list_empty(&l->queue));
        if (commit_refuses(l, &refusal)) {
            refuse_first(l, &refusal);
            continue;
        }
        if (commit_try_share(l))
            continue; /* commit_flush below starts it with the others of its group */
        log_take_batch(l);
        log_start(l, STEP_WRITE);
    }
    commit_flush(a);
}

static void log_free(struct log *l)
{
    struct appender *a = l->appender;
    assert(list_empty(&l->ready));
    assert(list_empty(&l->queue) && list_empty(&l->batch) && !l->is_busy);
    commit_forget(l);
    map_del(&a->logs, str_from(l->file.path));
    list_del(&l->lru);
    log_file_done(&l->file);
    free(l);
}

/* A failed log stays in the map without an open file, so that nothing is written to it again. */
static void free_closed_log(struct log *l)
{
    if (!log_file_failed(&l->file))
        log_free(l);
}

static void on_log_job_done(struct job *j)
{
    log_finish(CONTAINER_OF(j, struct log, job));
}

void log_finish(struct log *l)
{
    struct appender *a = l->appender;
    assert(l->is_busy && l->file.unsynced == 0);
    l->is_busy = false;
    /* The pool thread has returned `file`: copy the members that readers on the loop thread need
     * while the next job runs. */
    l->is_open = log_file_is_open(&l->file);
    l->has_failed = log_file_failed(&l->file);
    l->end = (uint64_t)l->file.length;
    log_file_report(&l->file, loop_log(a->loop));
    /* From here on the log may start its next job or be freed, so the finished tasks must not
     * stay in its batch while their callbacks run. */
    struct list_node done = LIST_HEAD_INIT(done), *n;
    while ((n = list_pop(&l->batch)) != NULL)
        list_push(&done, n);
    /* The journal may need its half back, which takes precedence over queued tasks. */
    if (commit_after_job(l))
        assert(l->is_busy);
    else if (!list_empty(&l->queue))
        make_ready(l);
    else if (!l->is_open)
        free_closed_log(l);
    if (!list_empty(&a->releases))
        defer_start(a->loop, &a->check_releases);
    while ((n = list_pop(&done)) != NULL) {
        struct log_task *t = LIST_ENTRY(n, struct log_task, node);
        t->done(t);
    }
}

/* A log with tasks is not closed now: log_finish comes back to it. */
static void close_log(struct log *l)
{
    if (l->is_busy || !list_empty(&l->queue))
        return;
    log_start(l, STEP_CLOSE);
}

/* Makes room for one more log: closes those that were not used for longest. When too many are in
 * use, APPENDER_OPEN_MAX is exceeded, and a later log closes all that are too many, so that a burst
 * does not raise the number of open logs for as long as the load lasts. */
static void evict(struct appender *a)
{
    size_t n = map_len(&a->logs);
    LIST_EACH (l, &a->lru, struct log, lru) {
        if (n < APPENDER_OPEN_MAX)
            return;
        if (l->is_open)
            close_log(l);
        n -= l->is_busy && l->step == STEP_CLOSE;
    }
}

static struct log *log_for(struct appender *a, const struct log_spec *spec)
{
    struct log *l = map_get(&a->logs, str_from(spec->path));
    if (!l) {
        evict(a);
        l = xcalloc(1, sizeof(*l));
        l->appender = a;
        l->owner = spec->owner;
        /* Only logs that sync every append gain from a shared sync. */
        if (spec->journal_dir && spec->sync == LOG_SYNC_ALWAYS)
            l->group = commit_group_for(a, spec);
        list_init(&l->queue);
        list_init(&l->batch);
        list_init(&l->ready);
        log_file_init(&l->file, a->conf.io, spec->path, spec->sync == LOG_SYNC_ALWAYS);
        l->file.syncs_later = spec->sync == LOG_SYNC_INTERVAL;
        l->file.entries = l->group ? &l->group->entries : NULL;
        map_put(&a->logs, str_from(spec->path), l);
    } else {
        list_del(&l->lru);
    }
    l->used_ms = clock_mono_ms();
    list_push(&a->lru, &l->lru);
    return l;
}

struct refusal { /* a task that is over its limit: `done` must not run inside submit */
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

static void refuse_task(struct appender *a, struct log_task *t)
{
    struct refusal *r = xcalloc(1, sizeof(*r));
    r->task = t;
    err_set(&t->err, -ENOBUFS,
            "too much data is waiting to be written to this conversation (slow disk?); try again "
            "later");
    defer_init(&r->later, on_refusal, r);
    defer_start(a->loop, &r->later);
}

void appender_submit(struct appender *a, const struct log_spec *spec, struct log_task *t)
{
    err_clear(&t->err);
    struct log *l = log_for(a, spec);
    /* A single task of any size is accepted, otherwise a large one could never be written. */
    if (l->queued_bytes > 0 && l->queued_bytes + t->bytes > APPENDER_QUEUE_BYTES) {
        refuse_task(a, t);
        return;
    }
    l->queued++;
    l->queued_bytes += t->bytes;
    l->queued_patient += t->may_wait;
    list_push(&l->queue, &t->node);
    make_ready(l);
    if (!timer_active(&a->tick))
        timer_start(&a->tick, APPENDER_INTERVAL_MS);
}

bool appender_end(const struct appender *a, const char *path, uint64_t *ret_end)
{
    const struct log *l = map_get(&a->logs, str_from(path));
    /* A failed log may have bytes on disk behind its acknowledged end: readers must still stop
     * there. */
    if (!l || !(l->is_open || l->has_failed))
        return false;
    *ret_end = l->end;
    return true;
}

/* Lines in a journal are durable already, so their log is synced only after it was unused for
 * COMMIT_REST_MS: a message, its answer and its title need one sync of the log then, not one each.
 * A log with syncs_later has no journal and is synced at every tick. */
static bool is_sync_due(const struct log *l, uint64_t now)
{
    return log_file_needs_sync(&l->file) &&
           (l->file.syncs_later || now - l->used_ms >= COMMIT_REST_MS);
}

static void on_appender_tick(void *ctx)
{
    struct appender *a = ctx;
    uint64_t now = clock_mono_ms();
    LIST_EACH (l, &a->lru, struct log, lru) {
        if (l->is_busy || !l->is_open || !list_empty(&l->queue))
            continue;
        if (now - l->used_ms >= APPENDER_IDLE_MS)
            close_log(l);
        else if (is_sync_due(l, now))
            log_start(l, STEP_SYNC);
    }
    /* The timer stops when no log is known and no journal is left; submit starts it again. */
    if (commit_tick(a) || !list_empty(&a->lru))
        timer_start(&a->tick, APPENDER_INTERVAL_MS);
}

/* ---- release ---- */

/* Closes the logs of an owner; true when none is left. */
static bool release_logs(struct appender *a, const void *owner)
{
    bool is_empty = true;
    LIST_EACH (l, &a->lru, struct log, lru) {
        if (l->owner != owner)
            continue;
        if (!l->is_busy && !l->is_open && list_empty(&l->queue)) {
            log_free(l); /* failed, or never opened */
            continue;
        }
        is_empty = false;
        close_log(l);
    }
    return is_empty;
}

/* Logs first: a journal is removed only after every log in it is synced. */
static void on_check_releases(void *ctx)
{
    struct appender *a = ctx;
    LIST_EACH (r, &a->releases, struct release, node) {
        if (!release_logs(a, r->owner) || !commit_release(a, r->owner))
            continue;
        list_del(&r->node); /* before the callback, which may release another owner */
        r->done(r->ctx);
        free(r);
    }
}

void appender_release(struct appender *a, const void *owner, loop_fn done, void *ctx)
{
    struct release *r = xcalloc(1, sizeof(*r));
    *r = (struct release){.owner = owner, .done = done, .ctx = ctx};
    list_push(&a->releases, &r->node);
    defer_start(a->loop, &a->check_releases);
}

void appender_free(struct appender *a)
{
    if (!a)
        return;
    timer_stop(&a->tick);
    pool_free(a->pool); /* waits for running jobs, so that no other thread uses a log below */
    defer_stop(&a->flush);
    defer_stop(&a->check_releases);
    assert(list_empty(&a->releases));
    LIST_EACH (l, &a->lru, struct log, lru) {
        log_file_close(&l->file);
        log_free(l);
    }
    LIST_FOREACH (it, &a->groups)
        commit_free(LIST_ENTRY(it, struct commit_group, node));
    map_done(&a->logs);
    free(a);
}
