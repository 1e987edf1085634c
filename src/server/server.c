#include "server/server.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "api/api.h"
#include "base/clock.h"
#include "http/page_dir.h"
#include "media/media.h"
#include "net/fetch.h"
#include "os/file.h"
#include "os/lock.h"
#include "os/zone.h"
#include "server/examples.h"
#include "server/listen.h"
#include "server/mcp.h"
#include "server/open_workspace.h"
#include "server/others.h"
#include "server/place.h"
#include "server/presence.h"
#include "server/providers.h"
#include "server/shared.h"
#include "store/index/index.h"
#include "store/log/appender.h"
#include "store/postgres/database.h"
#include "telemetry/tracer.h"
#include "workspace/secrets/credentials.h"

#define SYNC_THREADS  16
#define READ_THREADS  2
#define FILE_THREADS  2
#define MEDIA_THREADS 2

#define AWAIT_TICK_MS 5

struct server {
    struct loop *loop;
    struct logger *log;
    struct config *config;
    struct server_options opt;
    struct arena arena;
    uint64_t started_ms;

    struct bus *bus;
    struct fetcher *fetcher;
    struct tracer *tracer;
    struct llm *llm;
    struct pool *readers, *files, *media_pool, *pages_pool;
    struct media *media;
    struct appender *appender;
    struct database *database; /* connects when a store of type postgres is opened */
    struct audit *audit;
    struct pg_audit audit_table; /* if servers share the log */
    struct store_env store_env;
    struct builtin_catalog *builtins;
    struct instance instance;
    struct shared_people people;
    struct directory *directory;
    struct auth *auth;
    struct open_workspaces workspaces;
    struct others others;
    str home_id;
    /* the workspace of commands; NULL = a server with many workspaces */
    struct open_workspace *home;
    struct gateway *gateway;
    struct api *api;
    struct page_dir *page_dir;
    struct http_server *http;
    struct tls_keys *keys;            /* NULL = plain HTTP */
    struct http_server *sandbox_http; /* documents around interfaces of tools; NULL = none */
    int claim_fd; /* the lock of the work directory; -1 = not a server, or no locks */

    loop_fn on_stopped;
    void *on_stopped_ctx;
};

const char *server_socket_path(struct config *c, struct arena *a)
{
    return presence_socket(a, c->work_dir);
}

/* A wrong time zone does not prevent the start: UTC is used. */
static void check_time_zone(const struct config *c, struct logger *log)
{
    int32_t offset;
    char abbr[ZONE_ABBR_MAX];
    struct err e = {0};
    if (zone_offset(c->time_zone, clock_now_ms() / 1000, &offset, abbr, &e) < 0)
        log_warn(log, "server", "timeZone: %s", e.msg);
}

static void prepare_spaces(struct server *s)
{
    s->store_env = (struct store_env){
        .loop = s->loop,
        .log = s->log,
        .bus = s->bus,
        .appender = s->appender,
        .readers = s->readers,
        .indexes = index_group_new(s->loop),
        .price = llm_price,
        .price_ctx = s->llm,
        .audit = s->audit,
        .database = s->database,
    };
    s->builtins = builtin_catalog_new();
    struct open_workspace_env env = {
        .loop = s->loop,
        .log = s->log,
        .config = s->config,
        .bus = s->bus,
        .llm = s->llm,
        .readers = s->readers,
        .files = s->files,
        .media = s->media,
        .fetcher = s->fetcher,
        .api = &s->api,
        .gateway = s->gateway,
        .store_env = &s->store_env,
        .builtins = s->builtins,
        .directory = s->directory,
        .tracer = s->tracer,
        .consents = s->people.consents ? pg_consents_table(s->people.consents) : NULL,
        .file_table = s->people.consents ? &s->people.files.table : NULL,
        .documents = s->people.consents ? &s->people.documents.table : NULL,
        .started_ms = s->started_ms,
        .home_dir = s->opt.home_dir,
        .project_dir = s->opt.project_dir,
        .with_bundles = s->opt.with_bundles,
        .is_read_only = s->opt.is_read_only,
    };
    env.has_many = !instance_is_sole(&s->instance);
    open_workspaces_init(&s->workspaces, &env);
}

static int know_people(struct server *s, struct err *e)
{
    const struct config_secrets *k = &s->config->secrets;
    const char *dir = s->config->work_dir;
    struct arena a;
    arena_init(&a);
    str secret = k->oidc_client_secret;
    int r = secret.n > 0 ? 0 : credentials_instance_secret(&a, dir, &secret, e);
    if (r == 0)
        r = instance_load(&s->instance, dir, k->nb_api_key, secret, e);
    arena_done(&a);
    if (r == 0)
        r = instance_check_people(&s->instance, dir, e);
    bool is_sole = instance_is_sole(&s->instance);
    if (r == 0)
        r = shared_people_open(&s->people, s->config, s->loop, s->log, s->database, is_sole, e);
    if (r == 0)
        r = shared_directory(&s->people, s->loop, s->log, s->config, is_sole, &s->directory, e);
    struct auth_deps deps = {
        .loop = s->loop,
        .log = s->log,
        .directory = s->directory,
        .fetcher = s->fetcher,
        .instance = &s->instance,
        .work_dir = dir,
        .shared = store_type_is_shared(s->config->store.type) ? s->database : NULL,
        .has_replicas = s->config->store.replicas,
    };
    if (r == 0)
        r = auth_new(&deps, &s->auth, e);
    for (size_t i = 0; r == 0 && i < s->instance.warnings.len; i++)
        log_warn(s->log, "server", "%.*s", STR_ARG(s->instance.warnings.items[i]));
    return r;
}

/* The workspace of commands; a server with many workspaces has none. */
static int choose_home(struct server *s, struct err *e)
{
    const struct roster *all = directory_roster(s->directory);
    const struct workspace *w;
    bool is_named = s->opt.workspace_id && *s->opt.workspace_id;
    if (!is_named && !s->opt.needs_home && !all->is_sole)
        return 0;
    int r = place_choose(all, s->opt.workspace_id, &w, e);
    if (r == 0)
        s->home_id = arena_str(&s->arena, w->id);
    return r;
}

static int open_home(struct server *s, struct err *e)
{
    assert(!s->home);
    if (s->home_id.n > 0)
        s->home = open_workspaces_open(&s->workspaces, s->home_id, e);
    return s->home || s->home_id.n == 0 ? 0 : e->code;
}

static void set_true(void *flag)
{
    *(bool *)flag = true;
}

static int make_llm(struct server *s, struct err *e)
{
    struct llm_conf conf;
    int r = providers_from_config(&s->arena, s->config, &conf, e);
    if (r < 0)
        return r;
    for (size_t i = 0; i < conf.nproviders; i++)
        log_secret(s->log, conf.providers[i].api_key);
    s->llm = llm_new(s->loop, s->fetcher, &conf, s->log, e);
    tracer_set_prices(s->tracer, llm_price, s->llm);
    return s->llm ? 0 : e->code;
}

/* The first message may need the model servers that are found, and the start prints them. A machine
 * without such servers answers immediately. */
static void find_local_models(struct server *s)
{
    bool is_over = false;
    llm_probe(s->llm, set_true, &is_over);
    while (!is_over)
        (void)loop_run_until(s->loop, &is_over, UINT32_MAX);
}

static struct api_space *open_space(void *ctx, str id, struct err *e)
{
    struct server *s = ctx;
    struct open_workspace *sp = open_workspaces_open(&s->workspaces, id, e);
    return sp ? &sp->api : NULL;
}

static void hold_space(void *ctx, struct api_space *sp)
{
    open_workspaces_hold(CONTAINER_OF(sp, struct open_workspace, api));
}

static void release_space(void *ctx, struct api_space *sp)
{
    open_workspaces_release(CONTAINER_OF(sp, struct open_workspace, api));
}

static struct api_space *find_space(void *ctx, str id)
{
    struct server *s = ctx;
    struct open_workspace *sp = open_workspaces_find(&s->workspaces, id);
    return sp ? &sp->api : NULL;
}

static struct links_peek *peek_links(void *ctx, str id, store_links_fn fn, void *fn_ctx)
{
    struct server *s = ctx;
    return open_workspaces_peek_links(&s->workspaces, id, fn, fn_ctx);
}

static void close_space(void *ctx, str id)
{
    struct server *s = ctx;
    open_workspaces_close(&s->workspaces, id, NULL, NULL);
}

static int64_t login_until(void *ctx, str session_id)
{
    const struct server *s = ctx;
    return s->auth ? auth_session_until(s->auth, session_id) : 0;
}

static void make_gateway(struct server *s)
{
    const struct config_mcp *m = &s->config->mcp;
    struct gateway_deps deps = {
        .loop = s->loop,
        .log = s->log,
        .pool = s->readers,
        .audit_path = arena_printf(&s->arena, "%s/logs/audit.jsonl", s->config->work_dir).p,
        .base_path = s->config->http.base_path,
        .login_until = login_until,
        .login_ctx = s,
        .limits = {.sessions = (size_t)m->max_sessions,
                   .session_ttl_ms = (uint64_t)m->session_idle_ms,
                   .answer_ttl_ms = (uint64_t)m->answer_wait_ms,
                   .connections = (size_t)m->max_connections},
    };
    s->gateway = gateway_new(&deps);
}

static int server_build(struct server *s, struct err *e)
{
    int r = shared_prepare(s->config, s->database, e);
    if (r == 0)
        r = file_make_dirs(s->config->work_dir, e);
    if (r == 0)
        r = make_llm(s, e);
    if (r == 0 && s->opt.with_local_probe)
        find_local_models(s);
    if (r < 0)
        return r;
    make_gateway(s);
    r = know_people(s, e);
    if (r < 0)
        return r;
    prepare_spaces(s);
    r = choose_home(s, e);
    if (r == 0 && !s->opt.is_serving)
        r = open_home(s, e);
    if (r == 0 && s->opt.page_dir)
        r = page_dir_open(s->loop, s->readers, s->log, s->opt.page_dir, &s->page_dir, e);
    if (r < 0)
        return r;
    struct api_deps deps = {
        .loop = s->loop,
        .log = s->log,
        .config = s->config,
        .bus = s->bus,
        .llm = s->llm,
        .fetcher = s->fetcher,
        .pool = s->readers,
        .directory = s->directory,
        .auth = s->auth,
        .audit = s->audit,
        .org_name = s->instance.org_name,
        .issuer = s->instance.mode == AUTH_OIDC ? s->instance.oidc.issuer : STR_NONE,
        .home_id = s->home_id,
        .examples_dir = s->opt.is_serving ? examples_find(&s->arena) : NULL,
        .started_ms = s->started_ms,
        .tracer = s->tracer,
        .database = s->database,
        .page_dir = s->page_dir,
        .open_space = open_space,
        .hold_space = hold_space,
        .release_space = release_space,
        .find_space = find_space,
        .peek_links = peek_links,
        .close_space = close_space,
        .space_ctx = s,
        .mcp = mcp_endpoint(s->gateway),
    };
    s->api = api_new(&deps);
    return 0;
}

/* The number of threads bounds how many programs run at the same time. */
static void make_media(struct server *s)
{
    const char *home = s->opt.home_dir ? s->opt.home_dir : getenv("HOME");
    const struct media_conf conf = {
        .program = file_own_program(&s->arena),
        .work_dir = s->config->work_dir,
        .home_dir = home ? home : "/",
    };
    s->media_pool = pool_new(s->loop, "nb-media", MEDIA_THREADS);
    s->pages_pool = pool_new(s->loop, "nb-pages", MEDIA_THREADS);
    s->media = media_new(s->media_pool, s->pages_pool, &conf);
}

/* Only the server's own settings: those of a workspace must not send its runs elsewhere. */
static struct tracer *make_tracer(const struct server *s)
{
    const struct config_otlp *c = &s->config->otlp;
    struct tracer_conf conf = {
        .collector = {.loop = s->loop,
                      .log = s->log,
                      .endpoint = c->endpoint,
                      .headers = c->headers,
                      .service_name = c->service_name},
        .metrics_ms = (uint64_t)c->metrics_ms,
    };
    return tracer_new(&conf);
}

int server_new(struct loop *l, struct logger *log, struct config *config,
               const struct server_options *opt, struct server **ret, struct err *e)
{
    struct server *s = xcalloc(1, sizeof *s);
    s->loop = l;
    s->log = log;
    s->config = config;
    s->opt = *opt;
    s->claim_fd = -1;
    s->started_ms = clock_mono_ms();
    arena_init(&s->arena);
    listen_raise_limit(log);
    check_time_zone(config, log);
    s->bus = bus_new(l);
    s->fetcher = fetcher_new(l);
    s->tracer = make_tracer(s);
    s->readers = pool_new(l, "nb-read", READ_THREADS);
    s->files = pool_new(l, "nb-files", FILE_THREADS);
    make_media(s);
    s->appender = appender_new(l, SYNC_THREADS);
    s->database = database_new(l, log, config->store.url);
    s->audit = audit_new(l, log, config->work_dir);
    shared_audit_use(&s->audit_table, config, s->database, s->audit);
    int r = server_build(s, e);
    if (r < 0) {
        server_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

/* ---- listening ---- */

static struct http_server *http(struct server *s)
{
    struct http_handlers h = api_handlers(s->api);
    struct http_limits limits = listen_limits(&s->config->http);
    if (!s->http)
        s->http = http_server_new(s->loop, &limits, &h);
    return s->http;
}

int server_listen(struct server *s, uint16_t *ret_port, struct err *e)
{
    struct config *c = s->config;
    const char *socket = server_socket_path(c, &s->arena);
    assert(s->claim_fd < 0); /* listens once */
    int r = listen_check(c, auth_mode(s->auth), s->opt.service, e);
    if (r == 0)
        r = listen_keys(&c->http, s->log, &s->keys, e);
    if (r == 0)
        r = presence_claim(c->work_dir, &s->claim_fd, e);
    if (r == 0)
        r = store_prepare(&s->store_env, c->store.type, e);
    if (r == 0)
        r = auth_open_shared(s->auth, e);
    if (r == 0)
        r = auth_dev_open(s->auth, e);
    if (r == 0)
        r = presence_make_socket_dir(socket, c->work_dir, e);
    if (r == 0)
        r = http_listen_unix(http(s), socket, e);
    if (r == 0)
        r = listen_main(http(s), c, s->opt.service, s->keys, ret_port, e);
    if (r == 0 && s->opt.is_serving)
        r = open_home(s, e);
    if (r < 0)
        return r;
    listen_explain(s->log, c, s->opt.service, socket, *ret_port);
    api_listens(s->api, *ret_port);
    s->sandbox_http =
        listen_sandboxes(s->loop, s->log, s->api, c, s->opt.service, s->keys, *ret_port);
    open_workspaces_serve(&s->workspaces);
    s->others = (struct others){&s->workspaces, s->directory, s->api};
    others_know(&s->others, s->database,
                arena_printf(&s->arena, "%s:%u", c->http.host, (unsigned)*ret_port).p);
    return 0;
}

struct http_local *server_ask(struct server *s, const struct http_local_ask *q,
                              const struct http_local_events *ev, void *ctx)
{
    return http_local(http(s), q, ev, ctx);
}

/* ---- stopping: listeners, then the workspaces with their runs and stores ---- */

static void on_workspaces_closed(void *ctx)
{
    struct server *s = ctx;
    assert(s->workspaces.nopen == 0);
    s->home = NULL;
    tracer_stop(s->tracer, s->on_stopped, s->on_stopped_ctx);
}

static void on_http_stopped(void *ctx)
{
    struct server *s = ctx;
    api_stop(s->api);
    gateway_stop(s->gateway);
    open_workspaces_close_all(&s->workspaces, on_workspaces_closed, s);
}

static void stop_sandboxes(void *ctx)
{
    struct server *s = ctx;
    if (s->sandbox_http)
        http_server_stop(s->sandbox_http, 0, on_http_stopped, s);
    else
        on_http_stopped(s);
}

void server_stop(struct server *s, uint64_t grace_ms, loop_fn done, void *ctx)
{
    assert(done && !s->on_stopped);
    others_forget(s->database);
    s->on_stopped = done;
    s->on_stopped_ctx = ctx;
    if (s->http)
        http_server_stop(s->http, grace_ms, stop_sandboxes, s);
    else
        on_http_stopped(s);
}

void server_await_bundles(struct server *s, uint64_t max_ms)
{
    uint64_t until = clock_mono_ms() + max_ms;
    bool never = false;
    while (s->home && !open_workspace_bundles_settled(s->home) && clock_mono_ms() < until)
        (void)loop_run_until(s->loop, &never, AWAIT_TICK_MS);
}

bool server_bundles_settled(const struct server *s)
{
    return !s->home || open_workspace_bundles_settled(s->home);
}

struct bundles *server_bundles(const struct server *s)
{
    return s->home ? s->home->api.bundles : NULL;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    http_server_free(s->http);
    http_server_free(s->sandbox_http);
    tls_keys_free(s->keys);
    auth_free(s->auth);
    directory_free(s->directory);
    instance_done(&s->instance);
    api_free(s->api);
    page_dir_free(s->page_dir);
    gateway_free(s->gateway);
    open_workspaces_done(&s->workspaces);
    llm_free(s->llm);
    tracer_free(s->tracer);
    fetcher_free(s->fetcher);
    appender_free(s->appender);
    pool_free(s->files); /* its jobs use the database */
    shared_people_close(&s->people);
    media_stop(s->media);
    pool_free(s->media_pool);
    pool_free(s->pages_pool);
    index_group_free(s->store_env.indexes);
    pool_free(s->readers);
    media_free(s->media); /* an import uses it on a thread of the readers */
    audit_free(s->audit); /* so that the audit log also records what the pool ends */
    database_free(s->database);
    builtin_catalog_free(s->builtins);
    bus_free(s->bus);
    lock_close(s->claim_fd);
    arena_done(&s->arena);
    free(s);
}

void server_close(struct server *s, uint64_t grace_ms)
{
    bool is_stopped = false;
    server_stop(s, grace_ms, set_true, &is_stopped);
    while (!is_stopped)
        (void)loop_run_until(s->loop, &is_stopped, UINT32_MAX);
    server_free(s);
}

str server_page_link(const struct server *s, struct arena *a)
{
    return api_page_link(s->api, a);
}

str server_page_url(const struct server *s, struct arena *a)
{
    return api_page_url(s->api, a);
}

struct store *server_store(const struct server *s)
{
    assert(s->home);
    return s->home->api.store;
}

struct llm *server_llm(const struct server *s)
{
    return s->llm;
}

struct gateway_pipe *server_open_pipe(struct server *s, str source,
                                      void (*send)(void *ctx, str message), void *ctx)
{
    struct api_caller owner = {
        .space = &s->home->api,
        .actor = actor_new_operator(s->directory, s->home->api.id, api_operator(s->api))};
    struct gateway_caller who = mcp_caller(&owner);
    struct gateway_pipe *p = gateway_pipe_open(s->gateway, &who, source, send, ctx);
    actor_unref(owner.actor);
    return p;
}

struct registry *server_tools(const struct server *s)
{
    return s->home->api.tools;
}
