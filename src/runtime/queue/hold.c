/* hold.c - several servers on one database: one of them works on a conversation.
 *
 * The lease of a conversation belongs to its struct busy_conv: it is taken for the first turn and
 * released when nothing happens there any more. The log decides what a dead server has left behind:
 * who has the lease of a conversation whose last run is open knows that nobody works on it, and
 * ends it with run.error. That append names the end of the log that was read, so that it fails if
 * the other server was faster after all, and then the log is read again.
 *
 * A message to a conversation that another server works on waits here, and tries again every
 * TRY_AGAIN_MS. It is a row of the database, and goes to another server if this one ends. */
#include <assert.h>
#include <errno.h>

#include "base/json/json_scan.h"
#include "bus/vocabulary.h"
#include "runtime/queue/queue.h"
#include "runtime/turn/turn.h"

enum { TRY_AGAIN_MS = 500, ENDING_TRIES = 16 };

#define SERVER_GONE "The server that worked on this answer has stopped. Send a message to continue."

/* ---- ending a run of a server that is gone ---- */

struct run_ending {
    struct runtime *rt;
    struct arena arena;
    str conversation_id;
    struct store_lease *lease;
    unsigned tries;
    void (*done)(void *ctx, const struct err *err);
    void *ctx;
};

static void look_at_run(struct run_ending *n);

static void ending_done(struct run_ending *n, const struct err *err)
{
    void (*done)(void *, const struct err *) = n->done;
    void *ctx = n->ctx;
    struct err copy = err ? *err : (struct err){0};
    arena_done(&n->arena);
    free(n);
    done(ctx, err ? &copy : NULL);
}

static void on_end_appended(void *ctx, const struct err *err, const store_pos *pos, size_t count)
{
    struct run_ending *n = ctx;
    if (err && err->code == -EBUSY && ++n->tries < ENDING_TRIES)
        look_at_run(n); /* the log has grown */
    else
        ending_done(n, err);
}

static void on_run_start_found(void *ctx, const struct err *err, const struct store_page *page)
{
    struct run_ending *n = ctx;
    if (err || page->n == 0) {
        ending_done(n, err);
        return;
    }
    str start = page->events[page->n - 1].line;
    str run_id = json_scan_plain(json_scan_field(start, STR("runId")));
    str line = event_run_error(&n->arena, run_id, "interrupted", STR(SERVER_GONE), STR_NONE);
    const struct store_terms terms = {.lease = n->lease, .has_end = true, .end = page->end};
    log_warn(n->rt->deps.log, "runtime", "%.*s of %.*s is ended: its server is gone",
             STR_ARG(run_id), STR_ARG(n->conversation_id));
    store_append_if(n->rt->deps.store, n->conversation_id, &terms, &line, 1, on_end_appended, n);
}

static enum store_choice choose_run_start(void *ctx, str line)
{
    bool *is_found = ctx;
    if (*is_found)
        return STORE_STOP;
    str type = json_scan_plain(json_scan_field(line, STR("type")));
    *is_found = str_eq(type, event_name(EV_RUN_START));
    return *is_found ? STORE_TAKE : STORE_SKIP;
}

static void on_open_run(void *ctx, const struct err *err, const struct conv *c)
{
    struct run_ending *n = ctx;
    if (err || !str_eq(c->last_run, STR("open"))) {
        ending_done(n, err);
        return;
    }
    struct store_range range = {.backwards = true,
                                .before = c->end,
                                .choose = choose_run_start,
                                .choose_ctx = ARENA_NEW(&n->arena, bool)};
    store_read(n->rt->deps.store, n->conversation_id, &range, on_run_start_found, n);
}

static void look_at_run(struct run_ending *n)
{
    store_get(n->rt->deps.store, n->conversation_id, on_open_run, n);
}

static void end_dead_run(struct runtime *rt, str conversation_id, struct store_lease *lease,
                         void (*done)(void *ctx, const struct err *err), void *ctx)
{
    struct run_ending *n = xcalloc(1, sizeof *n);
    arena_init(&n->arena);
    n->rt = rt;
    n->conversation_id = arena_str(&n->arena, conversation_id);
    n->lease = lease;
    n->done = done;
    n->ctx = ctx;
    look_at_run(n);
}

/* ---- a turn ---- */

static bool is_held(const struct turn *t)
{
    const struct store_lease *lease = t->busy->lease;
    return !store_has_leases(t->rt->deps.store) || (lease && !store_lease_is_lost(lease));
}

/* Its appends fail from now on: another server has ended the run in the log. */
static void on_lease_lost(void *ctx)
{
    struct busy_conv *b = ctx;
    struct err e = {0};
    if (!b->turn || !b->turn->run)
        return;
    err_set(&e, -EOWNERDEAD, "another server has taken over this conversation");
    run_fail(b->turn->run, &e);
}

static void on_lease(void *ctx, const struct err *err, struct store_lease *lease)
{
    struct turn *t = ctx;
    if (!err) {
        t->busy->lease = lease;
        store_lease_watch(lease, on_lease_lost, t->busy);
        t->held(t);
    } else if (err->code == -EBUSY) {
        struct runtime *rt = t->rt;
        queue_wait_for_other(t);
        if (!timer_active(&rt->hold_timer) && !rt->on_stopped)
            timer_start(&rt->hold_timer, TRY_AGAIN_MS);
    } else {
        turn_refuse(t, TURN_FAILED, err);
    }
}

void queue_hold(struct turn *t, void (*held)(struct turn *t))
{
    assert(t->busy && t->busy->turn == t);
    if (is_held(t)) {
        held(t);
        return;
    }
    store_lease_release(t->busy->lease);
    t->busy->lease = NULL;
    t->held = held;
    store_take_lease(t->rt->deps.store, t->conversation_id, on_lease, t);
}

static void on_turn_ended_run(void *ctx, const struct err *err)
{
    struct turn *t = ctx;
    if (err)
        turn_refuse(t, TURN_FAILED, err);
    else
        t->held(t);
}

bool queue_settle(struct turn *t, const struct conv *conv, void (*again)(struct turn *t))
{
    bool is_ours = is_held(t);
    if (is_ours && !(t->busy->lease && str_eq(conv->last_run, STR("open"))))
        return false;
    if (is_ours) {
        t->held = again;
        end_dead_run(t->rt, t->conversation_id, t->busy->lease, on_turn_ended_run, t);
    } else {
        queue_hold(t, again);
    }
    return true;
}

static void on_try_again(void *ctx)
{
    struct runtime *rt = ctx;
    struct map_entry *e;
    bool is_waiting = false;
    for (size_t i = 0; (e = map_next(&rt->busy, &i)) != NULL;) {
        const struct busy_conv *b = e->value;
        is_waiting |= !b->turn && !b->lease;
    }
    if (is_waiting && rt->is_released)
        queue_release(rt);
    if (is_waiting)
        timer_start(&rt->hold_timer, TRY_AGAIN_MS);
}

void queue_hold_init(struct runtime *rt)
{
    timer_init(&rt->hold_timer, rt->deps.loop, on_try_again, rt);
}

/* ---- a conversation without a turn here ---- */

struct takeover {
    struct runtime *rt;
    struct arena arena;
    str conversation_id;
    struct store_lease *lease;
};

static void takeover_done(struct takeover *o, const struct err *err)
{
    struct runtime *rt = o->rt;
    if (err && err->code != -EBUSY && err->code != -EOWNERDEAD && err->code != -ENOENT)
        log_warn(rt->deps.log, "runtime", "%.*s cannot be taken over: %s",
                 STR_ARG(o->conversation_id), err->msg);
    store_lease_release(o->lease);
    arena_done(&o->arena);
    free(o);
    assert(rt->nrecords > 0);
    rt->nrecords--;
    runtime_check_stopped(rt);
}

static void on_takeover_ended(void *ctx, const struct err *err)
{
    takeover_done(ctx, err);
}

static void on_takeover_lease(void *ctx, const struct err *err, struct store_lease *lease)
{
    struct takeover *o = ctx;
    o->lease = lease;
    if (err)
        takeover_done(o, err); /* a third server was faster */
    else
        end_dead_run(o->rt, o->conversation_id, lease, on_takeover_ended, o);
}

void runtime_take_over(struct runtime *rt, str conversation_id)
{
    if (rt->on_stopped || map_get(&rt->busy, conversation_id))
        return; /* a turn here takes the lease itself */
    struct takeover *o = xcalloc(1, sizeof *o);
    arena_init(&o->arena);
    o->rt = rt;
    o->conversation_id = arena_str(&o->arena, conversation_id);
    rt->nrecords++;
    store_take_lease(rt->deps.store, conversation_id, on_takeover_lease, o);
}

/* ---- queued messages of servers that are gone ---- */

struct adoption {
    struct job job;
    struct runtime *rt;
    struct arena arena;
    struct json_strs rows;
    struct err err;
};

static void adopt_work(struct job *j)
{
    struct adoption *a = CONTAINER_OF(j, struct adoption, job);
    (void)store_queue_take(a->rt->deps.store, &a->arena, &a->rows, &a->err);
}

static void adopt_done(struct job *j)
{
    struct adoption *a = CONTAINER_OF(j, struct adoption, job);
    struct runtime *rt = a->rt;
    if (a->err.code)
        log_warn(rt->deps.log, "runtime", "queued messages cannot be read: %s", a->err.msg);
    else if (!rt->on_stopped)
        queue_restore_rows(rt, &a->rows);
    arena_done(&a->arena);
    free(a);
    assert(rt->nrecords > 0);
    rt->nrecords--;
    runtime_check_stopped(rt);
}

void queue_adopt(struct runtime *rt)
{
    if (rt->on_stopped)
        return;
    struct adoption *a = xcalloc(1, sizeof *a);
    arena_init(&a->arena);
    a->rt = rt;
    rt->nrecords++;
    pool_run(rt->deps.pool, &a->job, adopt_work, adopt_done);
}

void runtime_adopt_queue(struct runtime *rt)
{
    if (store_keeps_queue(rt->deps.store))
        queue_adopt(rt);
}

/* ---- streams of other servers ---- */

void runtime_forward_progress(struct runtime *rt, str conversation_id)
{
    struct json_writer w;
    struct buf b;
    if (runtime_active_run(rt, conversation_id).n == 0)
        return;
    jw_start(&w, &b, TURN_MESSAGE_MAX);
    jw_object(&w);
    jw_kstr(&w, "runId", runtime_active_run(rt, conversation_id));
    jw_kstr(&w, "text", runtime_streamed(rt, conversation_id));
    jw_key(&w, "calls");
    runtime_write_drafts(rt, conversation_id, &w);
    runtime_write_status(rt, conversation_id, &w);
    jw_end(&w);
    if (!buf_failed(&b))
        store_forward(rt->deps.store, conversation_id, event_name(EV_TEXT_SNAPSHOT), buf_str(&b));
    buf_done(&b);
}
