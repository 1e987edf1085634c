#include "bundle/supervise/grant_plan.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/base64.h"
#include "bundle/confine/path_list.h"
#include "bundle/plan/grant_rules.h"
#include "bundle/sandbox/launch.h"
#include "bundle/sandbox/sandbox_rules.h"
#include "bundle/settings/plain_secrets.h"

struct grant_plan {
    struct bundles *set;
    struct arena arena;
    struct dir_grant grant;
    struct bundle_entry entry; /* a copy, because the pool reads it */
    struct sandbox_want want;
    struct sandbox_waiter waiter;
    struct deferred begin;
    struct job job;
    bool is_planning; /* a job runs on the pool */
    str sandbox;
    struct err err;
    grant_plan_fn fn; /* NULL after grant_plan_cancel */
    void *ctx;
};

static void plan_free(struct grant_plan *p)
{
    struct bundles *set = p->set;
    set->nstarts--;
    arena_done(&p->arena);
    free(p);
    defer_start(set->conf.loop, &set->sweep);
}

/* ---- pool thread ---- */

/* A home directory that does not exist, or is the whole file system, is not shown. */
static bool is_home_shown(const char *home)
{
    return strcmp(home, "/") != 0 && access(home, R_OK | X_OK) == 0;
}

static int encode(struct grant_plan *p, str message, struct err *e)
{
    struct buf out;
    buf_init(&out, 2 * LAUNCH_SPEC_MAX);
    int rc = base64_encode(&out, message) < 0
                 ? err_set(e, -EFBIG, "the description of the sandbox is too large")
                 : 0;
    p->sandbox = rc < 0 ? STR_NONE : arena_str(&p->arena, buf_str(&out));
    buf_done(&out);
    return rc;
}

static int plan_sandbox(struct grant_plan *p, struct err *e)
{
    static const char *const SHELL[] = {"/bin/sh", NULL};
    struct sandbox_want *w = &p->want;
    struct sandbox_plan plan;
    struct arena *a = &p->arena;
    w->argv = SHELL;
    w->home_dir = path_real(a, str_from(w->home_dir)).p;
    w->work_dir = path_real(a, str_from(w->work_dir)).p;
    w->project_dir = w->cwd = arena_cstr(a, p->grant.path);
    w->reads_home = is_home_shown(w->home_dir);
    bundle_want_offer(a, w, &p->entry, w->offer);
    int rc = sandbox_plan(a, w, &plan, e);
    if (rc == 0 && plan.rules && strcmp(plan.rules->cwd, w->cwd) != 0)
        rc = err_set(e, -EACCES, "Commands cannot run in %s.", w->cwd);
    return rc < 0 ? rc : encode(p, plan.message, e);
}

static void plan_work(struct job *j)
{
    struct grant_plan *p = CONTAINER_OF(j, struct grant_plan, job);
    int rc = dir_grant_check(&p->grant, &p->err);
    if (rc == 0)
        rc = grant_rules_check(p->grant.path, p->want.home_dir, p->want.work_dir, &p->err);
    if (rc == 0 && mkdir(p->want.data_dir, 0700) < 0 && errno != EEXIST)
        rc = err_set(&p->err, -errno, "cannot create %s: %s", p->want.data_dir, err_reason(-errno));
    if (rc == 0 && plain_secrets_has_marks(&p->entry))
        rc = plain_secrets_unseal(&p->arena, p->set->conf.credentials_dir, &p->entry, &p->err);
    if (rc == 0)
        (void)plan_sandbox(p, &p->err);
}

/* ---- loop thread ---- */

static void plan_done(struct job *j)
{
    struct grant_plan *p = CONTAINER_OF(j, struct grant_plan, job);
    if (p->fn)
        p->fn(p->ctx, p->sandbox, p->err.code ? &p->err : NULL);
    plan_free(p);
}

static void on_offer(void *ctx, const struct sandbox_offer *offer)
{
    struct grant_plan *p = ctx;
    p->want.offer = offer;
    p->is_planning = true;
    pool_run(p->set->conf.pool, &p->job, plan_work, plan_done);
}

static void grant_plan_begin(void *ctx)
{
    struct grant_plan *p = ctx;
    sandbox_probe_ask(p->set->probe, &p->waiter);
}

struct grant_plan *grant_plan_start(struct bundle *b, const struct dir_grant *g, grant_plan_fn fn,
                                    void *ctx)
{
    struct grant_plan *p = xcalloc(1, sizeof(*p));
    const struct bundles_conf *c = &b->set->conf;
    struct bundle_place place = start_place(c);
    arena_init(&p->arena);
    p->set = b->set;
    p->set->nstarts++;
    p->grant = (struct dir_grant){arena_str(&p->arena, g->path), arena_str(&p->arena, g->id)};
    p->entry = bundle_entry_copy(&p->arena, &b->entry);
    p->want = bundle_want(&p->arena, &p->entry, &place);
    p->fn = fn;
    p->ctx = ctx;
    list_init(&p->waiter.node);
    p->waiter.fn = on_offer;
    p->waiter.ctx = p;
    defer_init(&p->begin, grant_plan_begin, p);
    defer_start(c->loop, &p->begin);
    return p;
}

void grant_plan_cancel(struct grant_plan *p)
{
    p->fn = NULL;
    if (p->is_planning)
        return;
    defer_stop(&p->begin);
    sandbox_probe_forget(&p->waiter);
    plan_free(p);
}
