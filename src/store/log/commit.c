#include "store/log/commit.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "store/log/appender_impl.h"

/* What a record needs besides the lines as they were given: its head and name; per line a time
 * and a link of the chain. A guess, and a batch that is larger is synced log by log. */
enum { RECORD_OVERHEAD = 256, LINE_OVERHEAD = 256 };

struct commit_group *commit_group_for(struct appender *a, const void *owner, const char *dir)
{
    LIST_FOREACH (it, &a->groups) {
        struct commit_group *g = LIST_ENTRY(it, struct commit_group, node);
        if (g->owner == owner && strcmp(g->dir, dir) == 0)
            return g;
    }
    struct commit_group *g = xcalloc(1, sizeof(*g));
    g->appender = a;
    g->owner = owner;
    g->dir = str_dup(str_from(dir));
    g->journal.fd = -1;
    list_init(&g->waiting);
    list_init(&g->logs);
    list_push(&a->groups, &g->node);
    return g;
}

void commit_free(struct commit_group *g)
{
    assert(!g->is_busy && list_empty(&g->waiting));
    if (g->journal.fd >= 0 && g->state != COMMIT_KEPT)
        (void)journal_remove(&g->journal);
    journal_close(&g->journal);
    list_del(&g->node);
    free(g->dir);
    free(g);
}

/* ---- on the pool thread ---- */

static void add_record(struct journal *j, const struct log *l)
{
    const struct log_file *f = &l->file;
    journal_add(j, str_from(strrchr(f->path, '/') + 1), f->ino, (uint64_t)f->length,
                (uint32_t)f->unsynced);
    LIST_FOREACH (it, &l->batch) {
        const struct log_task *t = LIST_ENTRY(it, struct log_task, node);
        for (size_t i = 0; i < t->n && !t->err.code; i++)
            journal_add_bytes(j, t->lines[i]);
    }
}

static void share(struct commit_group *g)
{
    journal_begin(&g->journal);
    LIST_FOREACH (it, &g->logs) {
        struct log *l = LIST_ENTRY(it, struct log, ready);
        if (!log_put(l))
            continue;
        if (!l->file.is_anchored) { /* it was opened anew: what lies before may not be safe */
            log_settle(l);
            continue;
        }
        add_record(&g->journal, l);
    }
    int r = journal_commit(&g->journal);
    LIST_FOREACH (it, &g->logs) {
        struct log *l = LIST_ENTRY(it, struct log, ready);
        if (l->file.unsynced == 0)
            continue;
        if (r == 0)
            log_entrust(l);
        else
            log_settle(l);
    }
    if (r < 0 && r != -ENOBUFS)
        err_errno(&g->err, r, "cannot write the journal", g->journal.path);
}

static void share_work(struct job *j)
{
    share(CONTAINER_OF(j, struct commit_group, job));
}

static void open_work(struct job *j)
{
    struct commit_group *g = CONTAINER_OF(j, struct commit_group, job);
    const struct appender_conf *conf = &g->appender->conf;
    journal_open(&g->journal, conf->io, g->dir, conf->journal_bytes, &g->err);
}

static void remove_work(struct job *j)
{
    struct commit_group *g = CONTAINER_OF(j, struct commit_group, job);
    int r = journal_remove(&g->journal);
    if (r < 0)
        err_errno(&g->err, r, "cannot remove the journal of", g->dir);
}

/* ---- on the loop thread: the life of the journal ---- */

static void start(struct commit_group *g, void (*work)(struct job *j), void (*done)(struct job *j))
{
    assert(!g->is_busy);
    err_clear(&g->err);
    g->is_busy = true;
    g->job.work = work;
    g->job.done = done;
    pool_submit(g->appender->pool, &g->job);
}

static void ended(struct commit_group *g)
{
    g->is_busy = false;
    if (!list_empty(&g->waiting))
        defer_start(g->appender->loop, &g->appender->flush);
    if (!list_empty(&g->appender->releases))
        defer_start(g->appender->loop, &g->appender->settle);
}

static void report(struct commit_group *g)
{
    log_warn(loop_log(g->appender->loop), "store",
             "%s; until the next attempt each conversation is synced separately", g->err.msg);
    g->not_before_ms = clock_mono_ms() + COMMIT_RETRY_MS;
}

static void on_opened(struct job *j)
{
    struct commit_group *g = CONTAINER_OF(j, struct commit_group, job);
    g->state = g->err.code ? COMMIT_DIRECT : COMMIT_SHARED;
    g->syncs = g->quiet = 0;
    if (g->err.code)
        report(g);
    ended(g);
}

static void on_removed(struct job *j)
{
    struct commit_group *g = CONTAINER_OF(j, struct commit_group, job);
    g->state = COMMIT_DIRECT;
    g->syncs = 0;
    if (g->err.code)
        report(g);
    ended(g);
}

/* The halves that shall be let go of. */
static unsigned due(const struct commit_group *g)
{
    return g->state == COMMIT_SHARED ? 1u << !g->journal.half : 3;
}

/* Those at work come by commit_after. */
static void sync_due(struct commit_group *g)
{
    LIST_FOREACH (it, &g->appender->lru) {
        struct log *l = LIST_ENTRY(it, struct log, lru);
        if (l->group == g && l->halves & due(g) && !l->is_busy && list_empty(&l->queue) &&
            log_file_needs_sync(&l->file))
            log_start(l, STEP_SYNC);
    }
}

static void advance(struct commit_group *g)
{
    if (g->state == COMMIT_ENDING && !g->is_busy && g->dirty[0] + g->dirty[1] == 0) {
        g->state = COMMIT_REMOVING;
        start(g, remove_work, on_removed);
    }
}

static void end_journal(struct commit_group *g)
{
    if (g->state != COMMIT_SHARED)
        return;
    g->state = COMMIT_ENDING;
    sync_due(g);
    advance(g);
}

static void keep_journal(struct commit_group *g)
{
    if (g->state == COMMIT_KEPT)
        return;
    g->state = COMMIT_KEPT;
    log_warn(loop_log(g->appender->loop), "store",
             "the journal %s is kept because a conversation could not be synced; nb replays the "
             "journal when it starts again",
             g->journal.path);
}

static void count(struct commit_group *g)
{
    if (g->state != COMMIT_DIRECT || ++g->syncs < g->appender->conf.journal_after ||
        clock_mono_ms() < g->not_before_ms)
        return;
    g->state = COMMIT_OPENING;
    start(g, open_work, on_opened);
}

bool commit_tick(struct appender *a)
{
    bool has_journal = false;
    LIST_FOREACH (it, &a->groups) {
        struct commit_group *g = LIST_ENTRY(it, struct commit_group, node);
        g->quiet = g->syncs < COMMIT_QUIET ? g->quiet + 1 : 0;
        g->syncs = 0;
        if (g->quiet >= COMMIT_QUIET_FOR)
            end_journal(g);
        has_journal |= g->state != COMMIT_DIRECT && g->state != COMMIT_KEPT;
    }
    return has_journal;
}

/* ---- on the loop thread: logs ---- */

static void mark(struct log *l)
{
    struct commit_group *g = l->group;
    unsigned bit = 1u << g->journal.half;
    g->dirty[g->journal.half] += !(l->halves & bit);
    l->halves |= bit;
}

static void unmark(struct log *l)
{
    for (int half = 0; half < 2; half++)
        l->group->dirty[half] -= l->halves >> half & 1;
    l->halves = 0;
}

bool commit_after(struct log *l)
{
    struct commit_group *g = l->group;
    if (!g || !l->halves)
        return false;
    if (l->file.is_dirty && l->file.is_lost) {
        keep_journal(g);
    } else if (!l->file.is_dirty) {
        unmark(l);
        advance(g);
    } else if (l->halves & due(g)) {
        log_start(l, STEP_SYNC);
        return true;
    }
    return false;
}

void commit_forget(struct log *l)
{
    if (!l->group || !l->halves)
        return;
    if (l->file.is_dirty)
        keep_journal(l->group);
    unmark(l);
}

/* A few small appends to a log that is safe on disk up to where they begin. */
static bool is_shareable(const struct log *l)
{
    const struct log_task *first = LIST_ENTRY(l->queue.next, struct log_task, node);
    return first->kind == LOG_APPEND && l->queued_bytes <= COMMIT_LOG_BYTES && l->is_open &&
           !l->has_failed && l->file.is_anchored;
}

static bool may_share(const struct log *l)
{
    return l->group->state == COMMIT_SHARED && is_shareable(l);
}

bool commit_takes(struct log *l)
{
    if (!l->group || !is_shareable(l))
        return false;
    if (!may_share(l)) {
        count(l->group);
        return false;
    }
    list_push(&l->group->waiting, &l->ready);
    return true;
}

static void start_direct(struct log *l)
{
    list_del(&l->ready);
    log_take_batch(l);
    log_start(l, STEP_WRITE);
}

static size_t need(const struct log *l)
{
    return l->queued_bytes + RECORD_OVERHEAD + l->queued * LINE_OVERHEAD;
}

/* Room for a batch that begins with this log: the rest of the half, or the other one. 0 when
 * that is not free yet. */
static size_t find_room(struct commit_group *g, const struct log *first)
{
    size_t head = JOURNAL_BLOCK; /* and padding */
    if (need(first) + head <= journal_room(&g->journal))
        return journal_room(&g->journal) - head;
    if (g->dirty[!g->journal.half] > 0)
        return 0;
    journal_switch(&g->journal);
    sync_due(g);
    return need(first) + head <= journal_room(&g->journal) ? journal_room(&g->journal) - head : 0;
}

/* Moves from `waiting` to `logs` what one batch can hold; starts by itself what cannot share. */
static void choose(struct commit_group *g)
{
    size_t room = 0, n = 0;
    LIST_FOREACH (it, &g->waiting) {
        struct log *l = LIST_ENTRY(it, struct log, ready);
        if (may_share(l) && n == 0)
            room = find_room(g, l);
        if (!may_share(l) || (n == 0 && room == 0)) {
            start_direct(l);
            continue;
        }
        if (need(l) > room || n == COMMIT_LOGS)
            return;
        room -= need(l);
        n++;
        list_del(&l->ready);
        list_push(&g->logs, &l->ready);
        log_take_batch(l);
        l->is_busy = true;
    }
}

static void on_shared(struct job *j)
{
    struct commit_group *g = CONTAINER_OF(j, struct commit_group, job);
    struct list_node logs = LIST_HEAD_INIT(logs), *n;
    while ((n = list_pop(&g->logs)) != NULL) {
        list_push(&logs, n);
        if (LIST_ENTRY(n, struct log, ready)->file.is_dirty)
            mark(LIST_ENTRY(n, struct log, ready));
    }
    g->syncs++;
    ended(g);
    if (g->err.code) {
        report(g);
        end_journal(g);
    }
    advance(g);
    while ((n = list_pop(&logs)) != NULL)
        log_finish(LIST_ENTRY(n, struct log, ready));
}

static void flush(struct commit_group *g)
{
    if (g->is_busy)
        return;
    choose(g);
    if (!list_empty(&g->logs))
        start(g, share_work, on_shared);
}

void commit_flush(struct appender *a)
{
    LIST_FOREACH (it, &a->groups)
        flush(LIST_ENTRY(it, struct commit_group, node));
}

bool commit_release(struct appender *a, const void *owner)
{
    bool is_gone = true;
    LIST_FOREACH (it, &a->groups) {
        struct commit_group *g = LIST_ENTRY(it, struct commit_group, node);
        if (g->owner != owner)
            continue;
        end_journal(g);
        bool is_over = g->state == COMMIT_DIRECT || g->state == COMMIT_KEPT;
        if (is_over && !g->is_busy)
            commit_free(g);
        else
            is_gone = false;
    }
    return is_gone;
}
