#include "workspace/audit.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "base/list.h"
#include "loop/timer.h"
#include "workspace/audit_log.h"

#define BATCH_MAX 256

struct audit_waiting {
    struct list_node node;
    struct arena arena;
    struct audit_entry entry;
};

/* One job of the pool thread; its entries stay in the queue until it is done. */
struct batch {
    struct job job;
    struct audit *audit;
    struct audit_entry entries[BATCH_MAX];
    size_t n, written;
    struct err err;
};

struct audit {
    struct loop *loop;
    struct logger *log;
    char work_dir[PATH_MAX];
    struct audit_dir files;
    struct audit_log *to; /* the files, or what several servers share */
    struct pool *pool;    /* one thread: records keep their order */
    struct timer retry;
    struct list_node queue;
    size_t nqueue;
    struct batch batch;
    bool is_writing, is_failing, is_closing;
    uint64_t dropped;
    struct err err;
};

static void batch_work(struct job *j)
{
    struct batch *b = CONTAINER_OF(j, struct batch, job);
    struct audit_log *to = b->audit->to;
    (void)to->append(to, b->entries, b->n, &b->written, &b->err);
}

static void drop_first(struct audit *a)
{
    assert(a->nqueue > 0 && !list_empty(&a->queue));
    struct audit_waiting *w = LIST_ENTRY(a->queue.next, struct audit_waiting, node);
    list_del(&w->node);
    arena_done(&w->arena);
    free(w);
    a->nqueue--;
}

static void batch_start(struct audit *a)
{
    struct batch *b = &a->batch;
    if (a->is_writing || a->nqueue == 0)
        return;
    *b = (struct batch){.job = {.work = b->job.work, .done = b->job.done}, .audit = a};
    LIST_FOREACH (it, &a->queue) {
        if (b->n == BATCH_MAX)
            break;
        b->entries[b->n++] = LIST_ENTRY(it, struct audit_waiting, node)->entry;
    }
    assert(b->n > 0 && b->n <= a->nqueue);
    a->is_writing = true;
    pool_submit(a->pool, &b->job);
}

/* Lost records are recorded too. */
static void report_dropped(struct audit *a)
{
    char text[96];
    snprintf(text, sizeof text, "%llu records were lost while the log could not be written",
             (unsigned long long)a->dropped);
    a->dropped = 0;
    audit_record(a, &(struct audit_entry){.how = STR("nb"),
                                          .action = STR("audit.gap"),
                                          .outcome = STR("failed"),
                                          .detail = str_from(text)});
}

static void on_failed(struct audit *a)
{
    if (!a->is_failing)
        log_error(a->log, "audit", "the audit log is not being written: %s", a->err.msg);
    a->is_failing = true;
    if (!a->is_closing)
        timer_start(&a->retry, AUDIT_RETRY_MS);
}

static void on_batch_written(struct audit *a)
{
    if (a->is_failing)
        log_info(a->log, "audit", "the audit log is being written again");
    a->is_failing = false;
    if (a->dropped > 0)
        report_dropped(a);
    batch_start(a);
}

static void batch_done(struct job *j)
{
    struct batch *b = CONTAINER_OF(j, struct batch, job);
    struct audit *a = b->audit;
    a->is_writing = false;
    assert(b->written <= b->n && b->n <= a->nqueue); /* entries of a batch stay in the queue */
    for (size_t i = 0; i < b->written; i++)
        drop_first(a);
    a->err = b->err;
    if (b->err.code < 0)
        on_failed(a);
    else
        on_batch_written(a);
}

static void on_audit_retry(void *ctx)
{
    batch_start(ctx);
}

struct audit *audit_new(struct loop *l, struct logger *log, const char *work_dir)
{
    struct audit *a = xcalloc(1, sizeof *a);
    a->loop = l;
    a->log = log;
    snprintf(a->work_dir, sizeof a->work_dir, "%s", work_dir);
    audit_dir_init(&a->files, a->work_dir);
    a->to = &a->files.log;
    a->pool = pool_new(l, "nb-audit", 1);
    list_init(&a->queue);
    timer_init(&a->retry, l, on_audit_retry, a);
    a->batch.job.work = batch_work;
    a->batch.job.done = batch_done;
    return a;
}

void audit_share(struct audit *a, struct audit_log *to)
{
    assert(a->nqueue == 0 && !a->is_writing);
    a->to = to;
}

struct audit_log *audit_place(struct audit *a)
{
    return a->to;
}

void audit_free(struct audit *a)
{
    if (!a)
        return;
    a->is_closing = true;
    timer_stop(&a->retry);
    batch_start(a);
    pool_free(a->pool); /* each batch that is written starts the next */
    assert(!a->is_writing);
    if (a->nqueue > 0)
        log_error(a->log, "audit", "%zu records of the audit log are lost", a->nqueue);
    while (a->nqueue > 0)
        drop_first(a);
    free(a);
}

void audit_record(struct audit *a, const struct audit_entry *e)
{
    if (!a)
        return;
    if (a->nqueue >= AUDIT_QUEUE_MAX) {
        a->dropped++;
        return;
    }
    assert(e->action.n > 0 && e->outcome.n > 0);
    struct audit_waiting *w = xcalloc(1, sizeof *w);
    arena_init(&w->arena);
    w->entry = audit_entry_copy(&w->arena, e);
    list_push(&a->queue, &w->node);
    a->nqueue++;
    if (!a->is_failing || a->is_closing)
        batch_start(a);
}

struct audit_state audit_state(const struct audit *a)
{
    if (!a)
        return (struct audit_state){0};
    return (struct audit_state){.is_failing = a->is_failing,
                                .waiting = a->nqueue,
                                .dropped = a->dropped,
                                .reason = str_from(a->err.msg)};
}
