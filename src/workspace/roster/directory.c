/* directory.c - the queue of changes, and the replacement of the roster.
 *
 * A visit is one job of the pool thread: a change, or a look at the files after another process
 * wrote them. One visit is at work at a time (is_busy), so an urgent change waits for one other
 * visit at most.
 *
 *   directory_change --> urgent or waiting --begin_next--> pool thread --> visit_done
 *   on_touched (look) --------^      may() is called here                     |
 *   too many: refuse_work --> pool thread -----------------------------------+
 *                                                                            v
 *                              roster_replace -> observers -> done() -> begin_next
 *
 * The pool thread touches its visit, and of the directory only `source`, which never changes.
 * Everything else belongs to the loop thread. Every result, also a refusal, comes back through the
 * pool, so that `done` is never called inside directory_change. */
#include "workspace/roster/directory.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "loop/watch.h"
#include "workspace/roster/roster_lock.h"

struct directory {
    struct loop *loop;
    struct logger *log;
    char dir[PATH_MAX];
    struct roster_source files, *source; /* used by the pool thread */
    struct pool *pool; /* one thread: rosters come back in the order they were read */
    struct path_watch *watch;
    struct roster *roster;
    uint64_t generation; /* of the roster */
    struct list_node observers;
    struct list_node urgent, waiting; /* struct visit.node: the queues, urgent first */
    bool is_busy;                     /* a visit is with the pool thread, refused ones aside */
    size_t pending;                   /* visits that are not done, refused ones included */
    bool is_looking;                  /* a look is queued or at work: one is enough */
    bool is_stale;                    /* the file was written since: look again after it */
};

/* One visit to the files: a change, or a look. Freed in visit_done. */
struct visit {
    struct job job;
    struct directory *directory;
    struct list_node node;
    struct arena arena;
    bool is_change, is_urgent, is_refused;
    bool is_asked; /* directory_look: not the one look that is enough */
    struct change change;
    bool (*may)(void *ctx); /* called when it leaves the queue; or NULL */
    directory_done done;
    void *ctx;
    uint64_t known_mark;

    struct change_result result; /* the pool thread's */
    struct err err;
};

/* ---- pool thread ---- */

/* Reads the roster if the mark has changed: our own changes wake the watch too. If the mark cannot
 * be read, roster_load_from reports the reason. */
static void visit_look(struct visit *v)
{
    struct roster_source *s = v->directory->source;
    uint64_t mark;
    if (s->mark(s, &mark, &v->err) == 0 && mark == v->known_mark)
        return;
    err_clear(&v->err);
    (void)roster_load_from(s, &v->result.roster, &v->err); /* v->err */
}

static void visit_work(struct job *j)
{
    struct visit *v = CONTAINER_OF(j, struct visit, job);
    if (v->is_change)
        change_apply_to(v->directory->source, &v->change, &v->result, &v->err);
    else
        visit_look(v);
}

/* ---- loop thread ---- */

static void pass_on(void *ctx, const struct directory_item *item)
{
    struct directory *d = ctx;
    LIST_EACH (o, &d->observers, struct directory_observer, node)
        o->on_news(o->ctx, item);
}

static void report_problems(struct directory *d, const struct roster *r)
{
    for (size_t i = 0; i < r->problems.len; i++)
        log_error(d->log, "workspace", "%.*s", STR_ARG(r->problems.items[i]));
}

/* The new roster is in place before observers are called: they look rights up in it. */
static void roster_replace(struct directory *d, struct roster *now)
{
    assert(now && now != d->roster);
    struct roster *before = d->roster;
    d->roster = now;
    d->generation++;
    report_problems(d, now);
    roster_diff(before, now, pass_on, d);
    roster_free(before);
}

static void on_touched(void *ctx);
static void begin_next(struct directory *d);

static void look_done(struct directory *d)
{
    assert(d->is_looking);
    d->is_looking = false;
    if (d->is_stale)
        on_touched(d);
}

static void visit_done(struct job *j)
{
    struct visit *v = CONTAINER_OF(j, struct visit, job);
    struct directory *d = v->directory;
    assert(d->pending > 0 && (v->is_refused || d->is_busy));
    d->pending--;
    if (v->result.roster)
        roster_replace(d, v->result.roster);
    else if (v->err.code < 0 && !v->is_change)
        log_error(d->log, "workspace",
                  "cannot reload users and workspaces; the previous ones stay in effect: %s",
                  v->err.msg);
    if (v->done)
        v->done(v->ctx, &v->err, v->err.code < 0 ? STR_NONE : str_from(v->result.id));
    if (!v->is_change && !v->is_asked)
        look_done(d);
    if (!v->is_refused)
        d->is_busy = false;
    arena_done(&v->arena);
    free(v);
    begin_next(d);
}

static struct visit *visit_new(struct directory *d, void *ctx)
{
    struct visit *v = xcalloc(1, sizeof *v);
    arena_init(&v->arena);
    v->directory = d;
    v->ctx = ctx;
    v->job = (struct job){.work = visit_work, .done = visit_done};
    return v;
}

/* may() has refused the change; the pool thread only carries the error back. */
static void forbid_work(struct job *j)
{
    struct visit *v = CONTAINER_OF(j, struct visit, job);
    err_set(&v->err, -ESTALE,
            "Your rights changed while this change was queued. Nothing was changed.");
}

/* Starts the next visit if none is at work. */
static void begin_next(struct directory *d)
{
    struct list_node *n = NULL;
    if (!d->is_busy && !(n = list_pop(&d->urgent)))
        n = list_pop(&d->waiting);
    if (!n)
        return;
    assert(!d->is_busy && d->pending > 0);
    struct visit *v = LIST_ENTRY(n, struct visit, node);
    if (v->may && !v->may(v->ctx))
        v->job.work = forbid_work;
    v->known_mark = d->roster->mark;
    d->is_busy = true;
    pool_submit(d->pool, &v->job);
}

static void visit_start(struct visit *v)
{
    struct directory *d = v->directory;
    d->pending++;
    assert(v->is_change || v->is_asked || (d->is_looking && !v->is_refused));
    if (v->is_refused) { /* not queued: it touches no file and must not wait */
        pool_submit(d->pool, &v->job);
        return;
    }
    list_push(v->is_urgent ? &d->urgent : &d->waiting, &v->node);
    begin_next(d);
}

/* The lock file was written, by another process or by us: the mark tells which. */
static void on_touched(void *ctx)
{
    struct directory *d = ctx;
    d->is_stale = d->is_looking;
    if (d->is_looking)
        return;
    d->is_looking = true;
    visit_start(visit_new(d, NULL));
}

void directory_look(struct directory *d, directory_done done, void *ctx)
{
    struct visit *v = visit_new(d, ctx);
    v->done = done;
    v->is_asked = v->is_urgent = true;
    visit_start(v);
}

/* A missing work directory (-ENOENT) has nothing to watch and is not an error. */
static void start_watching(struct directory *d)
{
    char path[PATH_MAX];
    struct err e = {0};
    int r = roster_lock_path(path, sizeof path, d->dir, true, &e);
    if (r == 0)
        r = watch_start(d->loop, path, on_touched, d, &d->watch);
    if (r < 0 && r != -ENOENT)
        log_warn(d->log, "workspace", "changes by other processes are not noticed: %s",
                 e.code < 0 ? e.msg : err_reason(r));
}

static int directory_open(struct loop *l, struct logger *log, const char *work_dir, bool is_sole,
                          struct roster_source *source, struct directory **ret, struct err *e)
{
    struct directory *d = xcalloc(1, sizeof *d);
    d->loop = l;
    d->log = log;
    d->files = roster_files(d->dir, is_sole);
    d->source = source ? source : &d->files;
    list_init(&d->observers);
    list_init(&d->urgent);
    list_init(&d->waiting);
    int r = 0;
    if (snprintf(d->dir, sizeof d->dir, "%s", work_dir) >= (int)sizeof d->dir)
        r = err_set(e, -ENAMETOOLONG, "the path of the work directory is too long");
    if (r == 0) { /* watch first, so that no write between the two is missed */
        start_watching(d);
        r = roster_load_from(d->source, &d->roster, e);
    }
    if (r < 0) {
        watch_stop(d->watch);
        free(d);
        return r;
    }
    d->pool = pool_new(l, "nb-directory", 1);
    report_problems(d, d->roster);
    *ret = d;
    return 0;
}

int directory_new(struct loop *l, struct logger *log, const char *work_dir, bool is_sole,
                  struct directory **ret, struct err *e)
{
    return directory_open(l, log, work_dir, is_sole, NULL, ret, e);
}

int directory_new_from(struct loop *l, struct logger *log, struct roster_source *source,
                       struct directory **ret, struct err *e)
{
    return directory_open(l, log, source->work_dir, source->is_sole, source, ret, e);
}

void directory_free(struct directory *d)
{
    if (!d)
        return;
    watch_stop(d->watch);
    pool_free(d->pool);
    assert(d->pending == 0 && !d->is_busy && list_empty(&d->urgent) && list_empty(&d->waiting));
    roster_free(d->roster);
    free(d);
}

const struct roster *directory_roster(const struct directory *d)
{
    return d->roster;
}

uint64_t directory_generation(const struct directory *d)
{
    return d->generation;
}

void directory_observe(struct directory *d, struct directory_observer *o)
{
    assert(o->on_news);
    list_push(&d->observers, &o->node);
}

void directory_unobserve(struct directory_observer *o)
{
    list_del(&o->node);
}

/* The queue is full; the pool thread only carries the error back. */
static void refuse_work(struct job *j)
{
    struct visit *v = CONTAINER_OF(j, struct visit, job);
    err_set(&v->err, -EBUSY, "too many changes are queued; try again later");
}

/* Whether the change takes access away: it goes before all others in the queue. */
static bool is_urgent(const struct change *c)
{
    switch (c->kind) {
    case CHANGE_USER_PASSWORD:
    case CHANGE_USER_SIGN_OUT:
    case CHANGE_USER_REMOVE:
    case CHANGE_TOKEN_REVOKE:
    case CHANGE_WORKSPACE_REMOVE:
    case CHANGE_MEMBER_REMOVE:
        return true;
    case CHANGE_USER_SET:
        return c->has_role;
    default:
        return false;
    }
}

void directory_change(struct directory *d, const struct change *c, directory_done done, void *ctx)
{
    directory_change_if(d, c, NULL, done, ctx);
}

void directory_change_if(struct directory *d, const struct change *c, bool (*may)(void *ctx),
                         directory_done done, void *ctx)
{
    struct visit *v = visit_new(d, ctx);
    v->is_change = true;
    v->may = may;
    v->done = done;
    v->is_urgent = is_urgent(c);
    v->is_refused = d->pending >= DIRECTORY_QUEUE_MAX * (v->is_urgent ? 2u : 1u);
    if (v->is_refused)
        v->job.work = refuse_work;
    else
        v->change = change_clone(&v->arena, c);
    visit_start(v);
}

enum ws_role directory_role(const struct directory *d, str workspace_id, str user_id)
{
    const struct workspace *w = roster_workspace(d->roster, workspace_id);
    return w ? workspace_role(w, user_id) : WS_NONE;
}
