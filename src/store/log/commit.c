#include "store/log/commit.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "store/log/appender_impl.h"

/* Bytes that a record adds to the submitted lines: its head and name, and per line a time and a
 * hash of the chain. This is an estimate: a batch that turns out larger is synced log by log. */
enum { RECORD_OVERHEAD = 256, LINE_OVERHEAD = 256 };

static void on_waited_enough(void *ctx);

struct commit_group *commit_group_for(struct appender *a, const struct log_spec *spec)
{
    LIST_EACH (g, &a->groups, struct commit_group, node)
        if (g->owner == spec->owner && strcmp(g->dir, spec->journal_dir) == 0)
            return g;
    struct commit_group *g = xcalloc(1, sizeof(*g));
    g->appender = a;
    g->owner = spec->owner;
    g->dir = str_dup(str_from(spec->journal_dir));
    g->changes = spec->changes;
    g->journal.fd = -1;
    g->old_half = -1;
    map_init(&g->created);
    new_entries_init(&g->entries);
    list_init(&g->waiting);
    timer_init(&g->wait, a->loop, on_waited_enough, g);
    list_init(&g->logs);
    list_push(&a->groups, &g->node);
    return g;
}

void commit_free(struct commit_group *g)
{
    assert(!g->is_busy && list_empty(&g->waiting) && list_empty(&g->logs));
    if (g->journal.fd >= 0 && g->state != COMMIT_KEPT)
        (void)journal_remove(&g->journal);
    journal_close(&g->journal);
    timer_stop(&g->wait);
    list_del(&g->node);
    map_done(&g->created);
    new_entries_done(&g->entries);
    free(g->dir);
    free(g);
}

/* ---- on the pool thread ---- */

static str name_of(const struct log *l)
{
    return str_from(strrchr(l->file.path, '/') + 1);
}

static void add_record(struct journal *j, const struct log *l)
{
    const struct log_file *f = &l->file;
    journal_add(j, name_of(l), f->ino, (uint64_t)f->length, (uint32_t)f->unsynced);
    LIST_EACH (t, &l->batch, const struct log_task, node) {
        for (size_t i = 0; i < t->n && !t->err.code; i++)
            journal_add_bytes(j, t->lines[i]);
    }
}

/* The logs are written first, so that the journal has no record of an append that failed. */
static void share_batch(struct commit_group *g)
{
    journal_begin(&g->journal);
    LIST_EACH (l, &g->logs, struct log, ready) {
        bool is_new = log_is_creation(l);
        if (!(is_new ? log_create_batch(l) : log_write_batch(l)))
            continue;
        /* The file was reopened: bytes before the record may not be on disk, and replay cannot
         * restore a record behind a gap. */
        if (!is_new && !l->file.is_anchored) {
            log_sync_batch(l);
            continue;
        }
        add_record(&g->journal, l);
    }
    int r = journal_commit(&g->journal);
    LIST_EACH (l, &g->logs, struct log, ready) {
        if (l->file.unsynced == 0)
            continue; /* failed, or synced above */
        if (r == 0)
            log_mark_journaled(l);
        else
            log_sync_batch(l);
    }
    /* -ENOBUFS: the estimate of the size was too low; the journal itself still works. */
    if (r < 0 && r != -ENOBUFS)
        err_errno(&g->err, r, "cannot write the journal", g->journal.path);
}

static void share_work(struct job *j)
{
    share_batch(CONTAINER_OF(j, struct commit_group, job));
}

static void open_work(struct job *j)
{
    struct commit_group *g = CONTAINER_OF(j, struct commit_group, job);
    const struct appender_conf *conf = &g->appender->conf;
    dir_change_begins(g->changes);
    journal_open(&g->journal, conf->io, g->dir, conf->journal_bytes, &g->err);
    dir_change_ends(g->changes);
}

static void remove_work(struct job *j)
{
    struct commit_group *g = CONTAINER_OF(j, struct commit_group, job);
    dir_change_begins(g->changes);
    int r = journal_remove(&g->journal);
    dir_change_ends(g->changes);
    if (r < 0)
        err_errno(&g->err, r, "cannot remove the journal of", g->dir);
}

/* ---- on the loop thread: the life of the journal ---- */

static void group_start(struct commit_group *g, void (*work)(struct job *j),
                        void (*done)(struct job *j))
{
    assert(!g->is_busy);
    err_clear(&g->err);
    g->is_busy = true;
    pool_run(g->appender->pool, &g->job, work, done);
}

/* After a job: logs and releases that waited for the group continue in the next callback. */
static void group_job_done(struct commit_group *g)
{
    assert(g->is_busy);
    g->is_busy = false;
    if (!list_empty(&g->waiting))
        defer_start(g->appender->loop, &g->appender->flush);
    if (!list_empty(&g->appender->releases))
        defer_start(g->appender->loop, &g->appender->check_releases);
}

static void report_journal_error(struct commit_group *g)
{
    log_warn(loop_log(g->appender->loop), "store",
             "%s; until the next attempt each conversation is synced separately", g->err.msg);
    g->not_before_ms = clock_mono_ms() + COMMIT_RETRY_MS;
}

static void on_journal_opened(struct job *j)
{
    struct commit_group *g = CONTAINER_OF(j, struct commit_group, job);
    assert(g->state == COMMIT_OPENING);
    g->state = g->err.code ? COMMIT_DIRECT : COMMIT_SHARED;
    g->syncs = g->quiet = 0;
    if (g->err.code)
        report_journal_error(g);
    group_job_done(g);
}

static void on_journal_removed(struct job *j)
{
    struct commit_group *g = CONTAINER_OF(j, struct commit_group, job);
    assert(g->state == COMMIT_REMOVING);
    g->state = COMMIT_DIRECT;
    g->syncs = 0;
    g->old_half = -1;
    if (g->err.code) {
        g->has_leftover = true;
        report_journal_error(g);
    } else if (!g->has_leftover) {
        map_done(&g->created);
        map_init(&g->created);
    }
    group_job_done(g);
}

/* Bits of the journal halves whose logs must be synced before the halves are reused: the one that
 * is not being filled while the journal is in use, both when the journal ends. */
static unsigned halves_to_sync(const struct commit_group *g)
{
    return g->state == COMMIT_SHARED ? 1u << !g->journal.half : 3;
}

/* Logs with a job or with tasks are skipped: commit_after_job syncs them after that job. */
static void sync_old_logs(struct commit_group *g)
{
    LIST_EACH (l, &g->appender->lru, struct log, lru) {
        if (l->group == g && l->halves & halves_to_sync(g) && !l->is_busy &&
            list_empty(&l->queue) && log_file_needs_sync(&l->file))
            log_start(l, STEP_SYNC);
    }
}

/* ENDING -> REMOVING, as soon as no log needs the journal. */
static void remove_when_clean(struct commit_group *g)
{
    if (g->state == COMMIT_ENDING && !g->is_busy && g->dirty[0] + g->dirty[1] == 0) {
        g->state = COMMIT_REMOVING;
        group_start(g, remove_work, on_journal_removed);
    }
}

static void end_journal(struct commit_group *g)
{
    if (g->state != COMMIT_SHARED)
        return;
    g->state = COMMIT_ENDING;
    sync_old_logs(g);
    remove_when_clean(g);
}

/* The journal has the only durable copy of some lines: replay restores them at the next start. */
static void keep_journal(struct commit_group *g)
{
    if (g->state == COMMIT_KEPT)
        return;
    assert(g->state == COMMIT_SHARED || g->state == COMMIT_ENDING);
    g->state = COMMIT_KEPT;
    log_warn(loop_log(g->appender->loop), "store",
             "the journal %s is kept because a conversation could not be synced; nb replays the "
             "journal when it starts again",
             g->journal.path);
}

static void count_sync(struct commit_group *g)
{
    /* Counts even before not_before_ms, so that a busy directory gets its journal right after it.
     */
    if (g->state != COMMIT_DIRECT || ++g->syncs < g->appender->conf.journal_after ||
        clock_mono_ms() < g->not_before_ms)
        return;
    g->state = COMMIT_OPENING;
    group_start(g, open_work, on_journal_opened);
}

bool commit_tick(struct appender *a)
{
    bool has_journal = false;
    LIST_EACH (g, &a->groups, struct commit_group, node) {
        g->quiet = g->syncs < COMMIT_QUIET ? g->quiet + 1 : 0;
        g->syncs = 0;
        if (g->quiet >= COMMIT_QUIET_FOR)
            end_journal(g); /* does nothing unless the state is SHARED */
        has_journal |= g->state != COMMIT_DIRECT && g->state != COMMIT_KEPT;
    }
    return has_journal;
}

/* ---- on the loop thread: logs ---- */

static void mark_in_journal(struct log *l)
{
    struct commit_group *g = l->group;
    unsigned bit = 1u << g->journal.half;
    g->dirty[g->journal.half] += !(l->halves & bit);
    l->halves |= bit;
}

static void mark_synced(struct log *l)
{
    for (int half = 0; half < 2; half++) {
        assert(!(l->halves >> half & 1) || l->group->dirty[half] > 0);
        l->group->dirty[half] -= l->halves >> half & 1;
    }
    l->halves = 0;
}

bool commit_after_job(struct log *l)
{
    struct commit_group *g = l->group;
    assert(!l->is_busy);
    if (!g || !l->halves)
        return false;
    if (l->file.is_dirty && l->file.is_lost) {
        keep_journal(g); /* another sync would not make the lines durable */
    } else if (!l->file.is_dirty) {
        mark_synced(l);
        remove_when_clean(g);
    } else if (l->halves & halves_to_sync(g)) {
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
        keep_journal(l->group); /* closing could not sync the log */
    mark_synced(l);             /* `dirty` must not count a log that no longer exists */
}

/* ---- logs that the journal has created ---- */

static void note_creation(struct log *l)
{
    struct commit_group *g = l->group;
    uintptr_t bits = (uintptr_t)map_get(&g->created, name_of(l));
    map_put(&g->created, name_of(l), (void *)(bits | 1u << g->journal.half));
}

/* The first batch is in a half: what it held before is not valid any more. */
static void forget_old_half(struct commit_group *g)
{
    struct map_entry *e;
    if (g->old_half < 0 || g->journal.sequence == 0)
        return;
    for (size_t i = 0; (e = map_next(&g->created, &i)) != NULL;) {
        uintptr_t bits = (uintptr_t)e->value & ~((uintptr_t)1 << g->old_half);
        if (bits)
            e->value = (void *)bits;
        else
            (void)map_del(&g->created, e->key);
    }
    g->old_half = -1;
}

static const struct log_task *first_task(const struct log *l)
{
    return LIST_ENTRY(l->queue.next, const struct log_task, node);
}

/* A task that may move or delete a log that the journal says was created. */
static bool undoes_creation(const struct log *l)
{
    return l->group && first_task(l)->kind == LOG_RUN && !first_task(l)->spares_log &&
           map_get(&l->group->created, name_of(l));
}

bool commit_refuses(const struct log *l, struct err *e)
{
    if (!undoes_creation(l) || !(l->group->state == COMMIT_KEPT || l->group->has_leftover))
        return false;
    err_set(e, -EIO,
            "%s cannot be moved or deleted now: a journal in %s could not be removed; restart nb "
            "and try again",
            l->file.path, l->group->dir);
    return true;
}

/* The journal ends, for which this log must be synced as well; then the task runs. */
static void await_end_of_journal(struct log *l)
{
    struct commit_group *g = l->group;
    end_journal(g);
    if (log_file_needs_sync(&l->file))
        log_start(l, STEP_SYNC); /* log_finish makes it ready again */
    else
        list_push(&g->waiting, &l->ready);
}

/* Small appends to a log whose bytes up to the append are durable (is_anchored), and the creation
 * of a small log. */
static bool is_shareable(const struct log *l)
{
    const struct log_task *first = first_task(l);
    if (l->queued_bytes > COMMIT_LOG_BYTES || l->has_failed)
        return false;
    return first->kind == LOG_APPEND ? l->is_open && l->file.is_anchored
                                     : first->kind == LOG_CREATE && !l->is_open;
}

static bool may_share(const struct log *l)
{
    return l->group->state == COMMIT_SHARED && is_shareable(l);
}

bool commit_try_share(struct log *l)
{
    assert(!l->is_busy && !list_empty(&l->queue));
    if (undoes_creation(l)) {
        await_end_of_journal(l);
        return true;
    }
    if (!l->group || !is_shareable(l))
        return false;
    if (!may_share(l)) {
        count_sync(l->group);
        return false;
    }
    list_push(&l->group->waiting, &l->ready);
    return true;
}

/* Takes a log out of `waiting` and gives it a job of its own. */
static void start_direct(struct log *l)
{
    assert(!l->is_busy);
    list_del(&l->ready);
    log_take_batch(l);
    log_start(l, STEP_WRITE);
}

static size_t bytes_needed(const struct log *l)
{
    return l->queued_bytes + RECORD_OVERHEAD + l->queued * LINE_OVERHEAD;
}

/* Room for a batch that begins with this log: the rest of this half, or the other half. 0 when
 * the other half still has unsynced logs. */
static size_t find_room(struct commit_group *g, const struct log *first)
{
    size_t head = JOURNAL_BLOCK; /* the head of the batch and its padding */
    assert(!g->is_busy && g->state == COMMIT_SHARED);
    if (bytes_needed(first) + head <= journal_room(&g->journal))
        return journal_room(&g->journal) - head;
    if (g->dirty[!g->journal.half] > 0)
        return 0;
    journal_switch(&g->journal);
    g->old_half = g->journal.half;
    sync_old_logs(g); /* in the background: the half just left must be free by the next switch */
    return bytes_needed(first) + head <= journal_room(&g->journal)
               ? journal_room(&g->journal) - head
               : 0;
}

/* Moves from `waiting` to `logs` as many logs as one batch can hold. The others stay for the next
 * batch; a log that cannot share (any more) gets a job of its own. */
static void choose_logs(struct commit_group *g)
{
    size_t room = 0, n = 0;
    LIST_EACH (l, &g->waiting, struct log, ready) {
        if (undoes_creation(l) && g->state != COMMIT_DIRECT)
            continue; /* on_journal_removed comes back to it */
        if (may_share(l) && n == 0)
            room = find_room(g, l);
        if (!may_share(l) || (n == 0 && room == 0)) {
            start_direct(l);
            continue;
        }
        if (bytes_needed(l) > room || n == COMMIT_LOGS)
            return;
        room -= bytes_needed(l);
        n++;
        list_del(&l->ready);
        list_push(&g->logs, &l->ready);
        log_take_batch(l);
        l->is_busy = true; /* held by the job of the group instead of a job of its own */
    }
}

static void on_batch_shared(struct job *j)
{
    struct commit_group *g = CONTAINER_OF(j, struct commit_group, job);
    /* All logs are marked before the state changes: end_journal and remove_when_clean read
     * `dirty`. */
    struct list_node logs = LIST_HEAD_INIT(logs), *n;
    forget_old_half(g);
    while ((n = list_pop(&g->logs)) != NULL) {
        struct log *l = LIST_ENTRY(n, struct log, ready);
        list_push(&logs, n);
        if (l->file.is_dirty)
            mark_in_journal(l);
        if (log_is_creation(l))
            note_creation(l); /* also if it failed: a batch that failed may be on disk */
    }
    g->syncs++;
    group_job_done(g);
    if (g->err.code) {
        report_journal_error(g);
        end_journal(g);
    }
    remove_when_clean(g);
    while ((n = list_pop(&logs)) != NULL)
        log_finish(LIST_ENTRY(n, struct log, ready));
}

static void flush_waiting(struct commit_group *g)
{
    assert(!g->is_busy && list_empty(&g->logs));
    timer_stop(&g->wait);
    choose_logs(g);
    if (!list_empty(&g->logs))
        group_start(g, share_work, on_batch_shared);
}

static void on_waited_enough(void *ctx)
{
    struct commit_group *g = ctx;
    if (!g->is_busy)
        flush_waiting(g);
}

static bool may_all_wait(const struct commit_group *g)
{
    LIST_EACH (l, &g->waiting, const struct log, ready)
        if (!may_share(l) || l->queued_patient < l->queued)
            return false;
    return true;
}

static void group_flush(struct commit_group *g)
{
    if (g->is_busy || list_empty(&g->waiting))
        return; /* group_job_done flushes again */
    if (!may_all_wait(g))
        flush_waiting(g);
    else if (!timer_active(&g->wait))
        timer_start(&g->wait, COMMIT_WAIT_MS);
}

void commit_flush(struct appender *a)
{
    LIST_FOREACH (it, &a->groups)
        group_flush(LIST_ENTRY(it, struct commit_group, node));
}

bool commit_release(struct appender *a, const void *owner)
{
    bool is_gone = true;
    LIST_EACH (g, &a->groups, struct commit_group, node) {
        if (g->owner != owner)
            continue;
        end_journal(g);
        /* Any other state has a job, or waits for logs: their jobs check the releases again. */
        bool is_over = g->state == COMMIT_DIRECT || g->state == COMMIT_KEPT;
        if (is_over && !g->is_busy)
            commit_free(g);
        else
            is_gone = false;
    }
    return is_gone;
}
