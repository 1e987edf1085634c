#include <errno.h>

#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/failure.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "bundle/bundle.h"
#include "store/postgres/database.h"

static int64_t uptime_s(const struct api *api)
{
    return (int64_t)((clock_mono_ms() - api->deps.started_ms) / 1000);
}

static void write_bundles(struct json_writer *w, const struct api_space *s)
{
    for (size_t k = 0; s->bundles && k < bundles_count(s->bundles); k++) {
        const struct bundle_info *i = bundle_info(bundles_at(s->bundles, k));
        jw_object(w);
        jw_kstr(w, "name", i->name);
        jw_kstr(w, "state", str_from(bundle_state_name(i->state)));
        jw_kstr(w, "workspaceId", s->id);
        jw_end(w);
    }
}

static bool may_see(const struct actor *who, const struct workspace *w)
{
    str bound = actor_bound_workspace(who);
    if (actor_is_operator(who))
        return true;
    return (bound.n == 0 || str_eq(bound, w->id)) && actor_has_scope(who, SCOPE_READ) &&
           workspace_role(w, actor_user(who)) != WS_NONE;
}

/* Anybody may ask whether nb is alive; details are only for people who may see them. The request
 * does not open a workspace. */
static void write_known(struct json_writer *w, struct api *api, const struct actor *who)
{
    const struct roster *all = directory_roster(api->deps.directory);
    jw_karray(w, "bundles");
    for (size_t i = 0; i < all->nworkspaces; i++) {
        str name = all->workspaces[i].id;
        const struct api_space *s = may_see(who, &all->workspaces[i])
                                        ? api->deps.find_space(api->deps.space_ctx, name)
                                        : NULL;
        if (s)
            write_bundles(w, s);
    }
    jw_end(w);
}

/* A store of an open workspace that cannot be used, or NULL. Asking makes it try again. */
static const struct store *failing_store(struct api *api)
{
    const struct roster *all = directory_roster(api->deps.directory);
    for (size_t i = 0; i < all->nworkspaces; i++) {
        const struct api_space *s =
            api->deps.find_space(api->deps.space_ctx, all->workspaces[i].id);
        if (s)
            store_try_again(s->store);
        if (s && store_is_failing(s->store))
            return s->store;
    }
    return NULL;
}

/* Why the server cannot do all of its work, or NULL. The server's log has details and file
 * names. */
static const char *trouble_of(struct api *api, bool *ret_is_unreachable)
{
    if (audit_state(api->deps.audit).is_failing)
        return "The audit log cannot be written.";
    const struct store *failing = failing_store(api);
    bool is_away = database_is_unreachable(api->deps.database);
    *ret_is_unreachable = is_away || (failing && store_is_unreachable(failing));
    return failing || is_away ? "Conversations cannot be read or written." : NULL;
}

void api_health_get(void *ctx, struct http_req *r)
{
    const struct actor *who = api_actor(r);
    struct api_json j;
    bool is_unreachable = false;
    const char *reason = trouble_of(ctx, &is_unreachable);
    if (is_unreachable) { /* a load balancer must choose another server */
        const struct err e = {-EHOSTUNREACH, "The database cannot be reached."};
        api_fail(r, FROM_STORE, &e);
        return;
    }
    api_json_begin(&j);
    jw_kstr(&j.w, "status", reason ? STR("degraded") : STR("ok"));
    if (reason)
        jw_kstr(&j.w, "reason", str_from(reason));
    jw_kint(&j.w, "uptime", uptime_s(ctx));
    jw_kstr(&j.w, "version", STR(NB_VERSION));
    if (who)
        write_known(&j.w, ctx, who);
    api_json_send(&j, r);
}

/* For probes of a process: an answer proves that the loop runs. */
void api_healthz_get(void *ctx, struct http_req *r)
{
    http_reply(r, 200, "text/plain; charset=utf-8", STR("ok\n"));
}

/* For load balancers: whether this server shall get requests. The causes name no files. */
void api_readyz_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct http_stats h;
    http_server_stats(r->server, &h);
    if (h.is_stopping)
        http_reply_error(r, 503, "stopping", "The server is stopping.", NULL);
    else if (api->port == 0)
        http_reply_error(r, 503, "starting", "The server is starting.", NULL);
    else if (failing_store(api) || database_is_unreachable(api->deps.database))
        http_reply_error(r, 503, "store_failing", "Conversations cannot be read or written.", NULL);
    else
        http_reply(r, 200, "text/plain; charset=utf-8", STR("ready\n"));
}

/* Example apps that are not installed yet, for people who may install them. */
static void write_examples(struct json_writer *w, struct http_req *r, const char *dir)
{
    static const struct {
        const char *name, *title, *message;
    } EXAMPLES[] = {
        {"table", "Edit a table together with the agent", "show the table"},
        {"chart", "Draw a chart", "draw a chart of 3, 1, 4, 1, 5"},
    };
    const struct bundles *all = api_space(r)->bundles;
    jw_karray(w, "examples");
    for (size_t i = 0; dir && all && i < ARRAY_LEN(EXAMPLES); i++) {
        str name = str_from(EXAMPLES[i].name);
        jw_object(w);
        jw_kstr(w, "name", name);
        jw_kstr(w, "title", str_from(EXAMPLES[i].title));
        jw_kstr(w, "message", str_from(EXAMPLES[i].message));
        jw_kstr(w, "path", arena_printf(&r->arena, "%s/%.*s", dir, STR_ARG(name)));
        jw_kbool(w, "isInstalled", bundles_find(all, name) != NULL);
        jw_end(w);
    }
    jw_end(w);
}

/* For the start screen of the page: the model in use and why, and counts. */
void api_workspace_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_json j;
    str why, model = llm_default_model(api->deps.llm, &why);
    api_json_begin(&j);
    jw_kstr(&j.w, "version", STR(NB_VERSION));
    jw_kobject(&j.w, "model");
    jw_kstr(&j.w, "name", model);
    jw_kstr(&j.w, "why", why);
    jw_kbool(&j.w, "isDemo", str_starts(model, STR("demo:")));
    jw_end(&j.w);
    jw_kobject(&j.w, "user");
    jw_kstr(&j.w, "id", api_user(r));
    jw_end(&j.w);
    if (api_is_org_admin(api_actor(r))) { /* paths on the machine: only for its operator */
        jw_kstr(&j.w, "dataDir", str_from(api->deps.config->work_dir));
        write_examples(&j.w, r, api->deps.examples_dir);
    }
    if (api->port)
        jw_kstr(&j.w, "pageUrl", api_page_url(api, &r->arena));
    jw_kstr(&j.w, "store", str_from(api->deps.config->store.type));
    jw_kobject(&j.w, "status");
    jw_kint(&j.w, "uptime", uptime_s(api));
    jw_kint(&j.w, "totalTools", (int64_t)registry_tools(api_space(r)->tools)->len);
    jw_kint(&j.w, "runs", (int64_t)runtime_runs(api_space(r)->runtime));
    jw_end(&j.w);
    api_json_send(&j, r);
}
