#include "server/open_workspace.h"

#include <assert.h>
#include <errno.h>

#include "api/live/notify.h"
#include "attach/attach.h"
#include "base/bytes/hash.h"
#include "base/clock.h"
#include "gateway/gateway.h"
#include "os/file.h"
#include "runtime/budget.h"
#include "runtime/queue/queue.h"
#include "store/others.h"
#include "workspace/notices.h"
#include "workspace/projects.h"
#include "workspace/roster/directory.h"
#include "workspace/texts.h"

#define RELEASE_TICK_MS 250
#define RELEASE_MAX_MS  20000 /* how long queued messages wait for a bundle that starts */

/* ---- paths ---- */

static enum store_durability durability(const char *name)
{
    return strcmp(name, "none") == 0       ? STORE_NONE
           : strcmp(name, "interval") == 0 ? STORE_INTERVAL
                                           : STORE_SYNC;
}

static const char *below(struct arena *a, const char *dir, const char *name)
{
    return arena_printf(a, "%s/%s", dir, name).p;
}

static const char *default_dir(struct arena *a, const char *root, const char *type)
{
    return below(a, root, strcmp(type, "folder") == 0 ? "storage" : "conversations");
}

/* An index belongs to one directory of logs: a directory chosen by the user gets its own cache, so
 * that two never rebuild the same index in turn. */
static const char *cache_dir(struct arena *a, const struct config *c, const char *root,
                             const char *type, const char *dir)
{
    char sha[SHA256_HEX_LEN + 1];
    if (!store_type_has_files(type))
        return NULL;
    if (strcmp(dir, default_dir(a, root, type)) == 0)
        return below(a, root, "cache");
    sha256_hex(str_from(dir), sha);
    return arena_printf(a, "%s/cache/%.12s", c->work_dir, sha).p;
}

struct store_conf open_workspace_store_conf(struct arena *a, const struct config *c, const char *id,
                                            const char *root, const char *type, const char *dir)
{
    bool is_own = !type && !dir;
    bool is_alone = strcmp(root, c->work_dir) == 0;
    if (!type)
        type = c->store.type;
    if (!dir && c->store.dir && strcmp(type, c->store.type) == 0)
        dir = is_alone ? c->store.dir : below(a, c->store.dir, id);
    if (!dir && store_type_has_files(type))
        dir = default_dir(a, root, type);
    return (struct store_conf){
        .type = type,
        .dir = dir,
        .cache_dir = is_own ? cache_dir(a, c, root, type, dir) : NULL,
        .workspace_id = id,
        .files_dir = below(a, root, "files"),
        .durability = durability(c->store.durability),
        .integrity = c->store.integrity,
    };
}

const char *open_workspace_settings_path(struct open_workspace *sp)
{
    return sp->env->has_many ? below(&sp->arena, sp->api.root, "workspace.json") : sp->config.path;
}

/* ---- opening ---- */

/* There is an index, but its logs are missing: a disk that is not mounted, or a removed directory,
 * would look like a new installation otherwise. */
static void warn_of_loss(struct open_workspace *sp, const struct store_conf *conf)
{
    if (!conf->cache_dir || file_exists(conf->dir) ||
        !file_exists(below(&sp->arena, conf->cache_dir, "index.db")))
        return;
    log_warn(sp->env->log, "store",
             "%s is missing and is created without conversations. If it should have some, stop nb, "
             "mount or restore the directory, and start again",
             conf->dir);
}

static void on_purged(void *ctx, str conversation_id)
{
    struct open_workspace *sp = ctx;
    projects_forget(sp->api.projects, conversation_id);
}

static int open_store(struct open_workspace *sp, struct err *e)
{
    struct store_conf conf =
        open_workspace_store_conf(&sp->arena, &sp->config, sp->api.id.p, sp->api.root, NULL, NULL);
    conf.read_only = sp->env->is_read_only;
    if (store_type_has_files(conf.type) && !conf.read_only) {
        warn_of_loss(sp, &conf);
        int r = file_make_dirs(conf.dir, e);
        if (r < 0)
            return r;
    }
    int r = store_open(sp->env->store_env, &conf, &sp->api.store, e);
    if (r == 0)
        store_share_files(sp->api.store, sp->env->file_table);
    if (r == 0 && !sp->env->is_read_only)
        store_on_purge(sp->api.store, on_purged, sp);
    return r;
}

static bool is_member(const void *workspace, str user_id)
{
    return workspace_role(workspace, user_id) != WS_NONE;
}

static void open_notices(struct open_workspace *sp)
{
    const struct workspace *ws = roster_workspace(directory_roster(sp->env->directory), sp->api.id);
    sp->api.notices =
        sp->env->documents
            ? notices_new_shared(sp->env->files, sp->env->log, sp->env->documents, sp->api.id)
            : notices_new(sp->env->files, sp->env->log,
                          below(&sp->arena, sp->api.root, "notices.json"));
    if (ws) /* some may have left while it was closed */
        notices_retain(sp->api.notices, is_member, ws);
}

static void open_files(struct open_workspace *sp)
{
    const struct config_files *c = &sp->config.files;
    const struct attach_conf conf = {
        .dir = below(&sp->arena, sp->api.root, "files"),
        .max_bytes = (uint64_t)c->max_mb << 20,
        .quota_bytes = (uint64_t)c->quota_mb << 20,
        .table = sp->env->file_table,
        .workspace_id = sp->api.id.p,
    };
    sp->api.files = attach_new(sp->env->loop, sp->env->files, &conf);
    sp->api.media = sp->env->media;
    if (!sp->env->is_read_only)
        open_notices(sp);
}

static struct doc_place document(struct open_workspace *sp, const char *name)
{
    return (struct doc_place){.pool = sp->env->files,
                              .log = sp->env->log,
                              .path = below(&sp->arena, sp->api.root, name),
                              .table = sp->env->is_read_only ? NULL : sp->env->documents,
                              .workspace_id = sp->api.id,
                              .name = str_from(name)};
}

static bool is_user(const void *roster, str user_id)
{
    return roster_user(roster, user_id) != NULL;
}

/* After the mirror: other servers may have changed them. */
static void open_documents(struct open_workspace *sp)
{
    const struct doc_place texts = document(sp, TEXTS_FILE);
    const struct doc_place projects = document(sp, PROJECTS_FILE);
    const struct doc_place budgets = document(sp, BUDGETS_FILE);
    sp->api.texts = texts_open(&texts);
    sp->api.projects = projects_open(&projects);
    sp->api.budgets = budgets_open(&budgets);
    const struct roster *all = directory_roster(sp->env->directory);
    if (sp->env->has_many && !sp->env->is_read_only && !all->misses_users)
        texts_retain(sp->api.texts, is_user, all); /* some may be gone since it was closed */
}

static void on_mentions(void *ctx, str conversation_id, str by, const struct json_strs *people)
{
    struct open_workspace *sp = ctx;
    notify_mentioned(*sp->env->api, &sp->api, conversation_id, by, people);
}

static int make_runtime(struct open_workspace *sp, struct err *e)
{
    const struct open_workspace_env *env = sp->env;
    struct runtime_deps deps = {
        .loop = env->loop,
        .log = env->log,
        .config = &sp->config,
        .bus = env->bus,
        .store = sp->api.store,
        .llm = env->llm,
        .tools = sp->api.tools,
        .pool = env->readers,
        .files = sp->api.files,
        .media = sp->api.media,
        .texts = sp->api.texts,
        .projects = sp->api.projects,
        .budgets = sp->api.budgets,
        .audit = env->store_env->audit,
        .directory = env->directory,
        .tracer = env->tracer,
        .workspace_id = sp->api.id,
        .root_dir = str_from(sp->api.root),
        .consents = env->consents,
        .settings_path = open_workspace_settings_path(sp),
        .default_model = env->has_many ? sp->config.models.default_model : STR_NONE,
        .identity = sp->identity,
        .workspace_name = sp->name,
        .home_dir = str_from(env->home_dir),
        .project_dir = str_from(env->project_dir),
    };
    sp->api.runtime = runtime_new(&deps);
    runtime_on_mentions(sp->api.runtime, on_mentions, sp);
    struct builtin_deps bdeps = {
        .runtime = sp->api.runtime,
        .started_ms = env->started_ms,
        .catalog = env->builtins,
        .registry = {.fetcher = env->fetcher, .base_url = sp->config.registry_url},
    };
    sp->builtin = builtin_new(&bdeps);
    int r = runtime_load_settings(sp->api.runtime, e);
    return r < 0 ? r : builtin_register(sp->builtin, sp->api.tools, e);
}

/* ---- queued messages ---- */

static void on_release(void *ctx)
{
    struct open_workspace *sp = ctx;
    if (open_workspace_bundles_settled(sp) || clock_mono_ms() >= sp->release_by_ms)
        queue_release(sp->api.runtime);
    else
        timer_start(&sp->release, RELEASE_TICK_MS);
}

void open_workspace_resume_queue(struct open_workspace *sp)
{
    queue_restore(sp->api.runtime);
    sp->release_by_ms = clock_mono_ms() + RELEASE_MAX_MS;
    timer_start(&sp->release, 0);
}

static const char *root_of(struct arena *a, const struct open_workspace_env *env, str id)
{
    const char *dir = env->config->work_dir;
    return env->has_many ? arena_printf(a, "%s/workspaces/%.*s", dir, STR_ARG(id)).p : dir;
}

static struct open_workspace *open_workspace_new(struct open_workspaces *set, str id)
{
    struct open_workspace *sp = xcalloc(1, sizeof *sp);
    const struct open_workspace_env *env = &set->env;
    arena_init(&sp->arena);
    arena_init(&sp->doc_arena);
    list_init(&sp->node);
    sp->set = set;
    sp->env = env;
    sp->config = *env->config;
    timer_init(&sp->release, env->loop, on_release, sp);
    sp->api.id = arena_str(&sp->arena, id);
    sp->api.config = &sp->config;
    sp->api.root = root_of(&sp->arena, env, id);
    sp->api.tools = registry_new(env->loop);
    registry_set_result_limit(sp->api.tools, (size_t)sp->config.limits.max_tool_result_size);
    return sp;
}

/* ---- closing: runs, then the store, then the rest ---- */

static void open_workspace_free(struct open_workspace *sp)
{
    open_workspace_mirror_close(sp);
    open_workspace_bundles_free(sp);
    builtin_free(sp->builtin);
    runtime_free(sp->api.runtime);
    attach_close(sp->api.files);
    notices_free(sp->api.notices);
    texts_free(sp->api.texts);
    projects_free(sp->api.projects);
    budgets_free(sp->api.budgets);
    registry_free(sp->api.tools);
    arena_done(&sp->doc_arena);
    arena_done(&sp->arena);
    free(sp);
}

static void on_store_closed(void *ctx)
{
    struct open_workspace *sp = ctx;
    struct open_workspaces *set = sp->set;
    loop_fn done = sp->on_closed;
    assert(set->nopen > 0 && sp->api.users == 0);
    void *done_ctx = sp->on_closed_ctx;
    open_workspace_free(sp);
    set->nopen--;
    if (done)
        done(done_ctx);
    if (set->nopen == 0 && set->on_closed)
        set->on_closed(set->on_closed_ctx);
}

static void on_bundles_stopped(void *ctx)
{
    struct open_workspace *sp = ctx;
    store_close(sp->api.store, on_store_closed, sp);
}

static void on_runtime_stopped(void *ctx)
{
    struct open_workspace *sp = ctx;
    budgets_stop(sp->api.budgets); /* it may be reading logs */
    open_workspace_bundles_stop(sp, on_bundles_stopped, sp);
}

static void stop(struct open_workspace *sp)
{
    assert(sp->api.users == 0 && open_workspaces_find(sp->set, sp->api.id) != sp);
    assert(sp->api.is_closing && !sp->is_stopping);
    sp->is_stopping = true;
    list_del(&sp->node);
    timer_stop(&sp->release);
    gateway_space_gone(sp->env->gateway, sp->api.tools);
    runtime_stop(sp->api.runtime, on_runtime_stopped, sp);
}

static void set_true(void *flag)
{
    *(bool *)flag = true;
}

/* Opening failed half-way: an open store must be closed like a used one. */
static void abandon(struct open_workspace *sp)
{
    bool is_closed = sp->api.store == NULL;
    if (sp->api.store)
        store_close(sp->api.store, set_true, &is_closed);
    while (!is_closed)
        (void)loop_run_until(sp->env->loop, &is_closed, UINT32_MAX);
    open_workspace_free(sp);
}

/* ---- the set ---- */

void open_workspaces_init(struct open_workspaces *s, const struct open_workspace_env *env)
{
    *s = (struct open_workspaces){.env = *env};
    map_init(&s->open);
    list_init(&s->closing);
}

void open_workspaces_serve(struct open_workspaces *s)
{
    struct map_entry *m;
    s->env.is_serving = true;
    for (size_t i = 0; (m = map_next(&s->open, &i)) != NULL;)
        open_workspace_resume_queue(m->value);
}

struct open_workspace *open_workspaces_find(const struct open_workspaces *s, str id)
{
    return map_get(&s->open, id);
}

struct links_peek *open_workspaces_peek_links(const struct open_workspaces *s, str id,
                                              store_links_fn fn, void *ctx)
{
    struct arena a;
    arena_init(&a);
    const char *root = root_of(&a, &s->env, id);
    struct store_conf conf =
        open_workspace_store_conf(&a, s->env.config, arena_cstr(&a, id), root, NULL, NULL);
    struct links_peek *p = store_peek_links(s->env.store_env, &conf, fn, ctx);
    arena_done(&a);
    return p;
}

struct open_workspace *open_workspaces_open(struct open_workspaces *s, str id, struct err *e)
{
    struct open_workspace *sp = map_get(&s->open, id);
    if (sp)
        return sp;
    if (s->nopen >= OPEN_WORKSPACES_MAX) {
        err_set(e, -EMFILE, "%u workspaces are in use already", OPEN_WORKSPACES_MAX);
        return NULL;
    }
    sp = open_workspace_new(s, id);
    open_files(sp);
    int r = open_workspace_mirror_open(sp, e);
    open_workspace_settings_use(sp);
    open_documents(sp);
    if (r == 0)
        r = open_store(sp, e);
    if (r == 0)
        r = make_runtime(sp, e);
    if (r == 0 && s->env.with_bundles)
        r = open_workspace_bundles_open(sp, e);
    if (r < 0) {
        abandon(sp);
        return NULL;
    }
    assert(sp->api.store && sp->api.runtime && sp->api.tools);
    map_put(&s->open, sp->api.id, sp);
    s->nopen++;
    budgets_start(sp->api.budgets, sp->api.store, sp->env->llm);
    if (s->env.is_serving)
        open_workspace_resume_queue(sp);
    return sp;
}

void open_workspaces_hold(struct open_workspace *sp)
{
    sp->api.users++;
}

void open_workspaces_release(struct open_workspace *sp)
{
    assert(sp->api.users > 0);
    if (--sp->api.users == 0 && sp->api.is_closing && !sp->is_stopping)
        stop(sp);
}

/* It stops when its last holder has released it. */
static void close_when_unused(struct open_workspace *sp)
{
    assert(!sp->api.is_closing && list_empty(&sp->node));
    sp->api.is_closing = true;
    list_push(&sp->set->closing, &sp->node);
    if (sp->api.users == 0)
        stop(sp);
}

void open_workspaces_close(struct open_workspaces *s, str id, loop_fn done, void *ctx)
{
    struct open_workspace *sp = map_del(&s->open, id);
    if (!sp) {
        if (done)
            done(ctx);
        return;
    }
    sp->on_closed = done;
    sp->on_closed_ctx = ctx;
    runtime_cancel_all(sp->api.runtime);
    close_when_unused(sp);
}

void open_workspaces_close_all(struct open_workspaces *s, loop_fn done, void *ctx)
{
    struct map_entry *m;
    assert(done && !s->on_closed);
    s->on_closed = done;
    s->on_closed_ctx = ctx;
    if (s->nopen == 0) {
        done(ctx);
        return;
    }
    for (size_t i = 0; (m = map_next(&s->open, &i)) != NULL;) {
        struct open_workspace *sp = m->value;
        map_del(&s->open, m->key);
        close_when_unused(sp); /* a notice may still be written */
    }
}

void open_workspaces_done(struct open_workspaces *s)
{
    assert(s->nopen == 0);
    map_done(&s->open);
}
