/* open_workspace_bundles.c - the bundles of a workspace: they start with it and follow its
 * settings. */
#include <assert.h>
#include <unistd.h>

#include "apps/bundle_source.h"
#include "base/clock.h"
#include "bundle/settings/settings.h"
#include "bus/vocabulary.h"
#include "gateway/gateway.h"
#include "os/file.h"
#include "server/open_workspace.h"

static const char *below(struct open_workspace *sp, const char *dir, const char *name)
{
    return arena_printf(&sp->arena, "%s/%s", dir, name).p;
}

static const char *directory_of(struct open_workspace *sp, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_printf(&sp->arena, "%.*s", (int)(slash - path), path).p : ".";
}

/* ---- notifying watchers of the workspace ---- */

static enum event_type type_of_change(enum bundle_change what, const struct bundle_info *i)
{
    if (what == BUNDLE_QUARANTINE)
        return EV_BUNDLE_TOOLS_CHANGED;
    if (what == BUNDLE_ADDED)
        return EV_BUNDLE_INSTALLED;
    if (what == BUNDLE_REMOVED)
        return EV_BUNDLE_UNINSTALLED;
    switch (i->state) {
    case BUNDLE_CRASHED:
        return EV_BUNDLE_CRASHED;
    case BUNDLE_DEAD:
        return EV_BUNDLE_DEAD;
    case BUNDLE_RUNNING:
        return i->restarts > 0 ? EV_BUNDLE_RECOVERED : EV_BUNDLE_STATE;
    default:
        return EV_BUNDLE_STATE;
    }
}

static void on_workspace_bundles_changed(void *ctx, struct bundle *b, enum bundle_change what)
{
    struct open_workspace *sp = ctx;
    const struct bundle_info *i = bundle_info(b);
    struct json_writer w;
    struct buf data;
    gateway_bundle_changed(sp->env->gateway, sp->api.tools, b, what);
    if (what != BUNDLE_ADDED && what != BUNDLE_REMOVED && what != BUNDLE_STATE &&
        what != BUNDLE_QUARANTINE)
        return;
    jw_start(&w, &data, 64u * 1024);
    jw_object(&w);
    jw_kstr(&w, "name", i->name);
    jw_kstr(&w, "bundleName", i->is_path ? i->name : i->package);
    jw_kstr(&w, "status", str_from(bundle_state_name(i->state)));
    jw_kint(&w, "toolCount", (int64_t)i->ntools);
    jw_kint(&w, "quarantinedCount", (int64_t)i->nheld); /* only admins see the difference */
    if (i->state == BUNDLE_CRASHED)
        jw_kint(&w, "restartAttempt", (int64_t)i->restarts + 1);
    if (i->fault.n > 0) /* all members can read this */
        jw_kstr(&w, "message", i->fault);
    jw_kval(&w, "ui", i->ui);
    jw_kint(&w, "timestamp", clock_now_ms());
    jw_end(&w);
    store_publish(sp->api.store, STR_NONE, event_name(type_of_change(what, i)), buf_str(&data));
    buf_done(&data);
}

static void on_workspace_bundles_notified(void *ctx, struct bundle *b, str method,
                                          const struct json *params)
{
    struct open_workspace *sp = ctx;
    gateway_bundle_notified(sp->env->gateway, sp->api.tools, b, method, params);
}

/* ---- settings ---- */

static void on_settings(void *ctx, const struct bundle_entry *entries, size_t n,
                        const struct err *err)
{
    struct open_workspace *sp = ctx;
    if (err) {
        log_warn(sp->env->log, "bundle", "the settings are not used: %s", err->msg);
        return;
    }
    log_info(sp->env->log, "bundle", "settings of %.*s: %zu bundle%s", STR_ARG(sp->api.id), n,
             n == 1 ? "" : "s");
    bundles_apply(sp->api.bundles, entries, n);
}

static void on_document(void *ctx, const struct json *doc)
{
    open_workspace_settings_changed(ctx, doc);
}

static struct bundles *make_bundles(struct open_workspace *sp)
{
    struct config *c = &sp->config;
    struct json *capabilities = NULL;
    (void)json_parse(&sp->arena, str_from(BUNDLE_CLIENT_CAPABILITIES), 0, &capabilities, NULL);
    struct bundles_conf conf = {
        .loop = sp->env->loop,
        .log = sp->env->log,
        .fetcher = sp->env->fetcher,
        .pool = sp->env->readers,
        .data_dir = below(sp, sp->api.root, "data"),
        .credentials_dir = below(sp, sp->api.root, "credentials"),
        .pins_dir = below(sp, sp->api.root, "pins"),
        .package_dir = below(sp, c->work_dir, "apps"),
        .work_dir = c->work_dir,
        .home_dir = sp->env->home_dir,
        .project_dir = sp->env->project_dir,
        .own_program = file_own_program(&sp->arena),
        .registry_url = c->registry_url,
        .allow_insecure_remotes = c->allow_insecure_remotes,
        .no_default_bundles = c->no_default_bundles,
        .is_lazy = sp->env->project_dir != NULL, /* a person at a terminal waits for the answer */
        .capabilities = capabilities,
        .host = bundle_sources_host(sp->sources),
    };
    return bundles_new(&conf);
}

static void workspace_bundles_look(void *ctx)
{
    struct open_workspace *sp = ctx;
    settings_watch_look(sp->watch);
}

/* A server with wrong settings does not start. With many workspaces, a workspace with a wrong list
 * has no bundles until the list is corrected. */
static int load_entries(struct open_workspace *sp, const char *path, struct bundle_entry **ret,
                        size_t *ret_n, struct err *e)
{
    if (sp->env->has_many) {
        struct err wrong = {0};
        *ret = NULL;
        *ret_n = 0;
        if (settings_load_bundles(&sp->arena, path, ret, ret_n, &wrong) < 0)
            on_settings(sp, NULL, 0, &wrong);
        return 0;
    }
    int r = bundle_entries_decode(&sp->arena, sp->config.bundles, directory_of(sp, path), ret,
                                  ret_n, e);
    if (r < 0)
        err_prefix(e, "%s", path);
    return r;
}

int open_workspace_bundles_open(struct open_workspace *sp, struct err *e)
{
    struct bundle_entry *entries;
    size_t n;
    const char *path = open_workspace_settings_path(sp);
    int r = load_entries(sp, path, &entries, &n, e);
    if (r < 0)
        return r;
    assert(!sp->sources && !sp->api.bundles && sp->api.runtime);
    sp->sources =
        bundle_sources_new(sp->api.runtime, sp->env->project_dir, on_workspace_bundles_changed, sp);
    bundle_sources_on_notified(sp->sources, on_workspace_bundles_notified);
    sp->api.bundles = make_bundles(sp);
    sp->api.pages = bundle_sources_pages(sp->sources);
    sp->changer = (struct bundle_changer){
        .loop = sp->env->loop,
        .pool = sp->env->readers,
        .bundles = sp->api.bundles,
        .settings_path = path,
        .credentials_dir = below(sp, sp->api.root, "credentials"),
        .allow_install = sp->config.allow_install,
        .allow_insecure_remotes = sp->config.allow_insecure_remotes,
        .look = workspace_bundles_look,
        .ctx = sp,
        .audit = sp->env->store_env->audit,
    };
    list_init(&sp->changer.ops);
    sp->api.changer = &sp->changer;
    builtin_set_bundles(sp->builtin, sp->api.bundles, &sp->changer);
    runtime_use_bundles(sp->api.runtime, sp->api.bundles);
    bundles_apply(sp->api.bundles, entries, n);
    open_workspace_settings_open(sp);
    struct settings_watch_conf watch = {
        .loop = sp->env->loop,
        .pool = sp->env->readers,
        .path = path,
        .reload_path = below(sp, sp->config.work_dir, ".reload"),
        .changed = on_settings,
        .document = on_document,
        .ctx = sp,
    };
    sp->watch = settings_watch_new(&watch);
    return 0;
}

bool open_workspace_bundles_settled(const struct open_workspace *sp)
{
    for (size_t i = 0; sp->api.bundles && i < bundles_count(sp->api.bundles); i++)
        if (bundle_info(bundles_at(sp->api.bundles, i))->state == BUNDLE_STARTING)
            return false;
    return true;
}

void open_workspace_bundles_stop(struct open_workspace *sp, loop_fn done, void *ctx)
{
    settings_watch_free(sp->watch);
    sp->watch = NULL;
    if (!sp->api.bundles) {
        done(ctx);
        return;
    }
    bundle_changer_done(&sp->changer);
    bundles_stop(sp->api.bundles, done, ctx);
}

void open_workspace_bundles_free(struct open_workspace *sp)
{
    if (!sp->api.bundles)
        return;
    assert(!sp->watch); /* open_workspace_bundles_stop has run */
    runtime_use_bundles(sp->api.runtime, NULL);
    bundles_free(sp->api.bundles);
    bundle_sources_free(sp->sources);
    sp->api.bundles = NULL;
    sp->api.pages = NULL;
}
