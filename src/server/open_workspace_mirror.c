/* open_workspace_mirror.c - settings and skills of an open workspace that other servers have too
 * (workspace/mirror.h): compared with theirs when it is opened, and then every MIRROR_MS. */
#include "bundle/settings/settings.h"
#include "runtime/budget.h"
#include "server/open_workspace.h"
#include "workspace/mirror.h"
#include "workspace/projects.h"
#include "workspace/texts.h"

#define MIRROR_MS 2000

struct workspace_mirror {
    struct open_workspace *space; /* NULL: it is closed, and the job is the last user */
    struct mirror *mirror;
    struct timer timer;
    struct job job;
    bool is_busy, is_failing, has_changed;
    struct err err;
};

static void mirror_done(struct workspace_mirror *m)
{
    mirror_free(m->mirror);
    free(m);
}

static void sync_work(struct job *j)
{
    struct workspace_mirror *m = CONTAINER_OF(j, struct workspace_mirror, job);
    m->err = (struct err){0};
    (void)mirror_sync(m->mirror, &m->has_changed, &m->err);
}

static void sync_done(struct job *j)
{
    struct workspace_mirror *m = CONTAINER_OF(j, struct workspace_mirror, job);
    struct open_workspace *sp = m->space;
    bool has_failed = m->err.code < 0;
    m->is_busy = false;
    if (!sp) {
        mirror_done(m);
        return;
    }
    if (has_failed && !m->is_failing)
        log_warn(sp->env->log, "workspace",
                 "settings and skills of %.*s cannot be compared with those of other servers: %s",
                 STR_ARG(sp->api.id), m->err.msg);
    m->is_failing = has_failed;
    if (m->has_changed) {
        texts_reload(sp->api.texts);
        projects_reload(sp->api.projects);
        budgets_reload(sp->api.budgets);
    }
    if (m->has_changed && sp->watch)
        settings_watch_look(sp->watch);
    timer_start(&m->timer, MIRROR_MS);
}

static void on_mirror_time(void *ctx)
{
    struct workspace_mirror *m = ctx;
    m->is_busy = true;
    pool_run(m->space->env->files, &m->job, sync_work, sync_done);
}

int open_workspace_mirror_open(struct open_workspace *sp, struct err *e)
{
    const struct open_workspace_env *env = sp->env;
    bool has_changed;
    if (!env->documents || env->is_read_only)
        return 0;
    struct workspace_mirror *m = xcalloc(1, sizeof *m);
    const struct mirror_conf conf = {.table = env->documents,
                                     .log = env->log,
                                     .root = sp->api.root,
                                     .workspace_id = sp->api.id,
                                     .has_settings = env->has_many};
    m->space = sp;
    m->mirror = mirror_new(&conf);
    timer_init(&m->timer, env->loop, on_mirror_time, m);
    sp->mirror = m;
    int r = mirror_sync(m->mirror, &has_changed, e);
    if (r == 0)
        timer_start(&m->timer, MIRROR_MS);
    return r;
}

void open_workspace_mirror_close(struct open_workspace *sp)
{
    struct workspace_mirror *m = sp->mirror;
    if (!m)
        return;
    sp->mirror = NULL;
    m->space = NULL;
    timer_stop(&m->timer);
    if (!m->is_busy)
        mirror_done(m);
}
