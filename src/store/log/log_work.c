/* log_work.c - the work of a pool thread on one log. */
#include <assert.h>

#include "store/log/appender_impl.h"

static void fail_batch(struct log *l, const struct err *e)
{
    LIST_EACH (t, &l->batch, struct log_task, node)
        if (!t->err.code)
            t->err = *e;
}

/* While the log is open and locked no other process writes it, so the chain is read only once. */
static struct chain *chain_of(struct log *l)
{
    bool is_current = l->chain_opening == l->file.openings && l->chain.size == l->file.length;
    if (!is_current)
        chain_init(&l->chain, l->file.fd, l->file.length);
    l->chain_opening = l->file.openings;
    return &l->chain;
}

/* Makes the lines of all tasks final. Returns them as an array of *ret_n. */
static struct iovec *gather(struct log *l, size_t *ret_n)
{
    struct iovec *iov = NULL;
    size_t n = 0;
    uint64_t at = (uint64_t)l->file.length;
    struct chain *chain = chain_of(l);
    LIST_EACH (t, &l->batch, struct log_task, node) {
        t->chain = chain;
        if (t->prepare && t->prepare(t, l->file.io) < 0)
            continue; /* only this task fails; the others of the batch are written */
        t->start = at;
        iov = xrealloc(iov, (n + t->n) * sizeof(*iov));
        for (size_t i = 0; i < t->n; i++) {
            iov[n++] = (struct iovec){(void *)t->lines[i].p, t->lines[i].n};
            at += t->lines[i].n;
        }
    }
    *ret_n = n;
    return iov;
}

bool log_write_batch(struct log *l)
{
    struct err e = {0};
    if (log_file_open(&l->file, &e) < 0) {
        fail_batch(l, &e);
        return false;
    }
    size_t n;
    struct iovec *iov = gather(l, &n);
    if (log_file_write(&l->file, iov, n, &e) < 0) {
        l->chain_opening = 0; /* the chain includes lines that were not written */
        fail_batch(l, &e);
    }
    free(iov);
    l->chain.size = l->file.length;
    return l->file.unsynced > 0;
}

bool log_is_creation(const struct log *l)
{
    return LIST_ENTRY(l->batch.next, const struct log_task, node)->kind == LOG_CREATE;
}

static void create_log(struct log *l, struct log_task *t,
                       int (*create)(struct log_file *f, const str *lines, size_t n, struct err *e))
{
    if (t->prepare && t->prepare(t, l->file.io) < 0)
        return;
    (void)create(&l->file, t->lines, t->n, &t->err);
    t->dev = l->file.dev;
    t->ino = l->file.ino;
}

bool log_create_batch(struct log *l)
{
    struct log_task *t = LIST_ENTRY(l->batch.next, struct log_task, node);
    create_log(l, t, log_file_create_unsynced);
    return !t->err.code;
}

void log_sync_batch(struct log *l)
{
    struct err e = {0};
    if (log_file_sync(&l->file, &e) < 0) {
        l->chain_opening = 0;
        fail_batch(l, &e);
        if (log_is_creation(l))
            log_file_undo_creation(&l->file);
    }
    l->chain.size = l->file.length;
}

void log_mark_journaled(struct log *l)
{
    log_file_mark_journaled(&l->file);
    l->chain.size = l->file.length;
}

static void run_single(struct log *l, struct log_task *t)
{
    if (t->kind == LOG_CREATE) {
        create_log(l, t, log_file_create);
        return;
    }
    /* A log that failed permanently cannot be opened, but may still be deleted. */
    if (t->needs_lock && !log_file_failed(&l->file) && log_file_open(&l->file, &t->err) < 0)
        return;
    if (!t->spares_log)
        log_file_flush(&l->file); /* replay finds a log by its name, which `run` may change */
    t->run(t, l->file.io);
    if (!t->spares_log)
        log_file_close(&l->file); /* the open file may be deleted or renamed now */
}

void log_work(struct log *l)
{
    if (l->step == STEP_CLOSE) {
        log_file_close(&l->file);
        return;
    }
    if (l->step == STEP_SYNC) {
        log_file_flush(&l->file);
        return;
    }
    assert(!list_empty(&l->batch));
    struct log_task *first = LIST_ENTRY(l->batch.next, struct log_task, node);
    if (first->kind != LOG_APPEND)
        run_single(l, first);
    else if (log_write_batch(l))
        log_sync_batch(l);
}
