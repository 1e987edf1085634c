#include "server/server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <sys/resource.h>

#include "api/api.h"
#include "base/clock.h"
#include "base/hash.h"
#include "builtin/builtin.h"
#include "config/file.h"
#include "net/fetch.h"
#include "runtime/skill.h"
#include "runtime/zone.h"
#include "server/providers.h"
#include "store/appender.h"

#define SYNC_THREADS 8
#define READ_THREADS 2
#define WORKSPACE_ID "ws_default"

struct server {
    struct loop *loop;
    struct logger *log;
    struct config *config;
    struct server_options opt;
    struct arena arena;
    uint64_t started_ms;

    struct bus *bus;
    struct fetcher *fetcher;
    struct llm *llm;
    struct pool *readers;
    struct appender *appender;
    struct store_env store_env;
    struct store *store;
    struct registry *tools;
    struct runtime *runtime;
    struct builtin *builtin;
    struct api *api;
    struct http_server *http;

    loop_fn on_stopped;
    void *on_stopped_ctx;
};

const char *server_socket_path(struct config *c, struct arena *a)
{
    return arena_printf(a, "%s/nb.sock", c->work_dir).p;
}

static void raise_file_limit(struct logger *log)
{
    struct rlimit lim;
    if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur >= lim.rlim_max)
        return;
    lim.rlim_cur = lim.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &lim) < 0)
        log_warn(log, "server", "cannot raise the limit of open files: %s", err_reason(-errno));
}

/* A wrong zone is no reason not to start: UTC serves. */
static void check_time_zone(const struct config *c, struct logger *log)
{
    int32_t offset;
    char abbr[ZONE_ABBR_MAX];
    struct err e = {0};
    if (zone_offset(c->time_zone, clock_now_ms() / 1000, &offset, abbr, &e) < 0)
        log_warn(log, "server", "timeZone: %s", e.msg);
}

static enum store_durability durability(const char *name)
{
    return strcmp(name, "none") == 0       ? STORE_NONE
           : strcmp(name, "interval") == 0 ? STORE_INTERVAL
                                           : STORE_SYNC;
}

/* Without instance.json there is one workspace, rooted at the work directory itself. */
static const char *default_dir(struct config *c, const char *type)
{
    return config_path(c, strcmp(type, "folder") == 0 ? "storage" : "conversations");
}

/* An index belongs to one directory of logs: a directory of the user's own choice gets a
 * cache of its own, so that two never take turns in rebuilding one. */
static const char *cache_dir(struct config *c, const char *type, const char *dir)
{
    char sha[SHA256_HEX_LEN + 1];
    if (strcmp(type, "memory") == 0)
        return NULL;
    if (strcmp(dir, default_dir(c, type)) == 0)
        return config_path(c, "cache");
    sha256_hex(str_from(dir), sha);
    return arena_printf(&c->arena, "%s/cache/%.12s", c->work_dir, sha).p;
}

struct store_conf server_store_conf(struct config *c, const char *type, const char *dir)
{
    bool is_own = !type && !dir;
    if (!type)
        type = c->store.type;
    if (!dir && strcmp(type, c->store.type) == 0)
        dir = c->store.dir;
    if (!dir)
        dir = default_dir(c, type);
    return (struct store_conf){
        .type = type,
        .dir = dir,
        .cache_dir = is_own ? cache_dir(c, type, dir) : NULL,
        .workspace_id = WORKSPACE_ID,
        .durability = durability(c->store.durability),
        .integrity = c->store.integrity,
    };
}

static int open_store(struct server *s, struct err *e)
{
    struct store_conf conf = server_store_conf(s->config, NULL, NULL);
    if (strcmp(conf.type, "memory") != 0) {
        int r = file_make_dirs(conf.dir, e);
        if (r < 0)
            return r;
    }
    s->store_env = (struct store_env){
        .loop = s->loop,
        .log = s->log,
        .bus = s->bus,
        .appender = s->appender,
        .readers = s->readers,
        .price = llm_price,
        .price_ctx = s->llm,
    };
    return store_open(&s->store_env, &conf, &s->store, e);
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
    return s->llm ? 0 : e->code;
}

/* The first message may need what is found, and whoever starts nb wants to read it. A machine
 * without such servers answers at once. */
static void find_local_models(struct server *s)
{
    bool is_over = false;
    llm_probe(s->llm, set_true, &is_over);
    while (!is_over)
        (void)loop_run_until(s->loop, &is_over, UINT32_MAX);
}

static int make_runtime(struct server *s, struct err *e)
{
    struct runtime_deps deps = {
        .loop = s->loop,
        .log = s->log,
        .config = s->config,
        .bus = s->bus,
        .store = s->store,
        .llm = s->llm,
        .tools = s->tools,
        .pool = s->readers,
        .home_dir = str_from(s->opt.home_dir),
        .project_dir = str_from(s->opt.project_dir),
    };
    s->runtime = runtime_new(&deps);
    struct builtin_deps bdeps = {.runtime = s->runtime, .started_ms = s->started_ms};
    s->builtin = builtin_new(&bdeps);
    int r = runtime_load_settings(s->runtime, e);
    return r < 0 ? r : builtin_register(s->builtin, s->tools, e);
}

static int build(struct server *s, struct err *e)
{
    int r = file_make_dirs(s->config->work_dir, e);
    if (r == 0)
        r = make_llm(s, e);
    if (r == 0 && s->opt.with_local_probe)
        find_local_models(s);
    if (r == 0)
        r = open_store(s, e);
    if (r == 0)
        r = make_runtime(s, e);
    if (r < 0)
        return r;
    struct api_deps deps = {
        .loop = s->loop,
        .log = s->log,
        .config = s->config,
        .runtime = s->runtime,
        .store = s->store,
        .bus = s->bus,
        .llm = s->llm,
        .tools = s->tools,
        .started_ms = s->started_ms,
    };
    s->api = api_new(&deps);
    return 0;
}

/* Building failed half-way: an open store has to be closed like that of a server that ran. */
static void abandon(struct server *s)
{
    bool is_closed = s->store == NULL;
    if (s->store)
        store_close(s->store, set_true, &is_closed);
    while (!is_closed)
        (void)loop_run_until(s->loop, &is_closed, UINT32_MAX);
    server_free(s);
}

int server_new(struct loop *l, struct logger *log, struct config *config,
               const struct server_options *opt, struct server **ret, struct err *e)
{
    struct server *s = xcalloc(1, sizeof *s);
    s->loop = l;
    s->log = log;
    s->config = config;
    s->opt = *opt;
    s->started_ms = clock_mono_ms();
    arena_init(&s->arena);
    raise_file_limit(log);
    check_time_zone(config, log);
    s->bus = bus_new(l);
    s->fetcher = fetcher_new(l);
    s->readers = pool_new(l, "nb-read", READ_THREADS);
    s->appender = appender_new(l, SYNC_THREADS);
    s->tools = registry_new(l);
    registry_set_result_limit(s->tools, (size_t)config->limits.max_tool_result_size);
    int r = build(s, e);
    if (r < 0) {
        abandon(s);
        return r;
    }
    *ret = s;
    return 0;
}

/* ---- listening ---- */

static bool is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (strcmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static int check_exposure(const struct config *c, struct err *e)
{
    if (is_loopback(c->http.host) || c->secrets.nb_api_key.n > 0 || c->http.allow_unauthenticated)
        return 0;
    return err_set(e, -EACCES,
                   "refusing to listen on %s without authentication: anyone on the network could "
                   "use your tools and read your conversations. Set NB_API_KEY, or listen on "
                   "127.0.0.1, or set http.allowUnauthenticated to true in %s.",
                   c->http.host, c->path);
}

static struct http_server *http(struct server *s)
{
    struct http_handlers h = api_handlers(s->api);
    if (!s->http)
        s->http = http_server_new(s->loop, &HTTP_LIMITS_DEFAULT, &h);
    return s->http;
}

int server_listen(struct server *s, uint16_t *ret_port, struct err *e)
{
    struct config *c = s->config;
    int r = check_exposure(c, e);
    if (r < 0)
        return r;
    r = http_listen_unix(http(s), server_socket_path(c, &s->arena), e);
    if (r == 0)
        r = http_listen_tcp(http(s), c->http.host, (uint16_t)c->http.port, ret_port, e);
    return r;
}

void server_ask(struct server *s, const struct http_local_ask *q, http_local_fn fn, void *ctx)
{
    http_local(http(s), q, fn, ctx);
}

/* ---- stopping: listeners, then runs, then the store ---- */

static void on_store_closed(void *ctx)
{
    struct server *s = ctx;
    s->store = NULL;
    s->on_stopped(s->on_stopped_ctx);
}

static void on_runtime_stopped(void *ctx)
{
    struct server *s = ctx;
    store_close(s->store, on_store_closed, s);
}

static void on_http_stopped(void *ctx)
{
    struct server *s = ctx;
    api_stop(s->api);
    runtime_stop(s->runtime, on_runtime_stopped, s);
}

void server_stop(struct server *s, uint64_t grace_ms, loop_fn done, void *ctx)
{
    s->on_stopped = done;
    s->on_stopped_ctx = ctx;
    if (s->http)
        http_server_stop(s->http, grace_ms, on_http_stopped, s);
    else
        on_http_stopped(s);
}

void server_free(struct server *s)
{
    if (!s)
        return;
    if (s->http)
        http_server_free(s->http);
    api_free(s->api);
    builtin_free(s->builtin);
    runtime_free(s->runtime);
    registry_free(s->tools);
    llm_free(s->llm);
    fetcher_free(s->fetcher);
    appender_free(s->appender);
    pool_free(s->readers);
    bus_free(s->bus);
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

struct runtime *server_runtime(const struct server *s)
{
    return s->runtime;
}

struct store *server_store(const struct server *s)
{
    return s->store;
}

struct bus *server_bus(const struct server *s)
{
    return s->bus;
}

struct llm *server_llm(const struct server *s)
{
    return s->llm;
}

struct registry *server_tools(const struct server *s)
{
    return s->tools;
}
