#include "config/config.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/bytes/ip.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "config/dotenv.h"
#include "config/relaxed.h"
#include "os/file.h"

#define RATE_MAX       1000000 /* requests a minute */
#define DAY_MS         (24 * 3600 * 1000)
#define CONNS_MAX      16384 /* of all together */
#define PUBLIC_URL_MAX 255
#define VERSION_SHOWN  40  /* bytes of a version that is not known */
#define BASE_PATH_MAX  128 /* of http.basePath: it is part of every address */

/* ---- the file's shape ---- */

/* The older form "model": {"provider", "apiKey"}. */
struct legacy_model {
    str provider, api_key;
};

struct document {
    struct config_http http;
    struct config_store store;
    struct config_logging logging;
    struct config_models models;
    struct config_limits limits;
    struct config_model_calls model_calls;
    struct config_mcp mcp;
    struct config_features features;
    struct config_people people;
    struct legacy_model model;
    str default_model, thinking, time_zone;
    const char *work_dir, *registry_url;
    bool no_default_bundles, allow_insecure_remotes;
    struct json_strs skill_dirs, allow_install;
    const struct json *bundles, *skills, *agents, *providers, *permissions, *home;
    const struct json *model_overrides, *version, *ignored;
    int64_t demo_delay_ms, max_history;
};

#define AT(member) offsetof(struct document, member)

static const struct json_field RATE_FIELDS[] = {
    {"chat", JF_INT, offsetof(struct config_rates, chat), 0, NULL, 0},
    {"tools", JF_INT, offsetof(struct config_rates, tools), 0, NULL, 0},
    {"mcp", JF_INT, offsetof(struct config_rates, mcp), 0, NULL, 0},
    {0}};

static const struct json_field HTTP_FIELDS[] = {
    {"port", JF_INT, offsetof(struct config_http, port), 0, NULL, 0},
    {"host", JF_CSTR, offsetof(struct config_http, host), 0, NULL, 0},
    {"allowUnauthenticated", JF_BOOL, offsetof(struct config_http, allow_unauthenticated), 0, NULL,
     0},
    {"allowedHosts", JF_STRS, offsetof(struct config_http, allowed_hosts), 0, NULL, 0},
    {"allowedOrigins", JF_STRS, offsetof(struct config_http, allowed_origins), 0, NULL, 0},
    {"publicUrl", JF_STR, offsetof(struct config_http, public_url), 0, NULL, 0},
    {"basePath", JF_STR, offsetof(struct config_http, base_path), 0, NULL, 0},
    {"trustedProxies", JF_STRS, offsetof(struct config_http, trusted_proxies), 0, NULL, 0},
    {"insecureCookies", JF_BOOL, offsetof(struct config_http, insecure_cookies), 0, NULL, 0},
    {"connectionsPerAddress", JF_INT, offsetof(struct config_http, conns_per_address), 0, NULL, 0},
    {"connectionsPerPerson", JF_INT, offsetof(struct config_http, conns_per_person), 0, NULL, 0},
    {"streamsPerPerson", JF_INT, offsetof(struct config_http, streams_per_person), 0, NULL, 0},
    {"rateLimits", JF_OBJECT, offsetof(struct config_http, rates), 0, RATE_FIELDS, 0},
    {0}};

static const struct json_field STORE_FIELDS[] = {
    {"type", JF_CSTR, offsetof(struct config_store, type), 0, NULL, 0},
    {"dir", JF_CSTR, offsetof(struct config_store, dir), JF_NULLABLE, NULL, 0},
    {"durability", JF_CSTR, offsetof(struct config_store, durability), 0, NULL, 0},
    {"integrity", JF_BOOL, offsetof(struct config_store, integrity), 0, NULL, 0},
    {0}};

static const struct json_field LOGGING_FIELDS[] = {
    {"level", JF_CSTR, offsetof(struct config_logging, level), 0, NULL, 0},
    {"format", JF_CSTR, offsetof(struct config_logging, format), 0, NULL, 0},
    {"dir", JF_CSTR, offsetof(struct config_logging, dir), JF_NULLABLE, NULL, 0},
    {"disabled", JF_BOOL, offsetof(struct config_logging, disabled), 0, NULL, 0},
    {0}};

static const struct json_field MODELS_FIELDS[] = {
    {"default", JF_STR, offsetof(struct config_models, default_model), JF_NULLABLE, NULL, 0},
    {"fast", JF_STR, offsetof(struct config_models, fast), JF_NULLABLE, NULL, 0},
    {"reasoning", JF_STR, offsetof(struct config_models, reasoning), JF_NULLABLE, NULL, 0},
    {0}};

static const struct json_field CALLS_FIELDS[] = {
    {"idleTimeoutMs", JF_INT, offsetof(struct config_model_calls, idle_timeout_ms), 0, NULL, 0},
    {"maxTries", JF_INT, offsetof(struct config_model_calls, max_tries), 0, NULL, 0},
    {"retryBaseMs", JF_INT, offsetof(struct config_model_calls, retry_base_ms), 0, NULL, 0},
    {0}};

static const struct json_field MCP_FIELDS[] = {
    {"maxSessions", JF_INT, offsetof(struct config_mcp, max_sessions), 0, NULL, 0},
    {"sessionIdleMs", JF_INT, offsetof(struct config_mcp, session_idle_ms), 0, NULL, 0},
    {"answerWaitMs", JF_INT, offsetof(struct config_mcp, answer_wait_ms), 0, NULL, 0},
    {"maxConnections", JF_INT, offsetof(struct config_mcp, max_connections), 0, NULL, 0},
    {0}};

#define FEATURE(name, member)                                                                      \
    {                                                                                              \
        name, JF_BOOL, offsetof(struct config_features, member), 0, NULL, 0                        \
    }
static const struct json_field FEATURE_FIELDS[] = {
    FEATURE("bundleManagement", bundle_management),
    FEATURE("bundleDiscovery", bundle_discovery),
    FEATURE("skillManagement", skill_management),
    FEATURE("delegation", delegation),
    FEATURE("toolDiscovery", tool_discovery),
    FEATURE("mcpServer", mcp_server),
    FEATURE("fileContext", file_context),
    FEATURE("userManagement", user_management),
    FEATURE("workspaceManagement", workspace_management),
    {0}};
#undef FEATURE

static const struct json_field PEOPLE_FIELDS[] = {
    {"ownWorkspace", JF_BOOL, offsetof(struct config_people, own_workspace), 0, NULL, 0}, {0}};

static const struct json_field MODEL_FIELDS[] = {
    {"provider", JF_STR, offsetof(struct legacy_model, provider), 0, NULL, 0},
    {"apiKey", JF_STR, offsetof(struct legacy_model, api_key), JF_NULLABLE, NULL, 0},
    {0}};

static const struct json_field FIELDS[] = {
    {"$schema", JF_JSON, AT(ignored), 0, NULL, 0},
    {"version", JF_JSON, AT(version), 0, NULL, 0},
    {"telemetry", JF_JSON_OBJECT, AT(ignored), 0, NULL, 0},
    {"workDir", JF_CSTR, AT(work_dir), 0, NULL, 0},
    {"http", JF_OBJECT, AT(http), 0, HTTP_FIELDS, 0},
    {"store", JF_OBJECT, AT(store), 0, STORE_FIELDS, 0},
    {"logging", JF_OBJECT, AT(logging), 0, LOGGING_FIELDS, 0},
    {"model", JF_OBJECT, AT(model), 0, MODEL_FIELDS, 0},
    {"defaultModel", JF_STR, AT(default_model), JF_NULLABLE, NULL, 0},
    {"models", JF_OBJECT, AT(models), 0, MODELS_FIELDS, 0},
    {"providers", JF_JSON_OBJECT, AT(providers), 0, NULL, 0},
    {"modelCalls", JF_OBJECT, AT(model_calls), 0, CALLS_FIELDS, 0},
    {"mcp", JF_OBJECT, AT(mcp), 0, MCP_FIELDS, 0},
    {"modelInfo", JF_JSON_OBJECT, AT(model_overrides), 0, NULL, 0},
    {"thinking", JF_STR, AT(thinking), 0, NULL, 0},
    {"timeZone", JF_STR, AT(time_zone), 0, NULL, 0},
    {"maxIterations", JF_INT, AT(limits.max_iterations), 0, NULL, 0},
    {"maxInputTokens", JF_INT, AT(limits.max_input_tokens), 0, NULL, 0},
    {"maxOutputTokens", JF_INT, AT(limits.max_output_tokens), 0, NULL, 0},
    {"maxDirectTools", JF_INT, AT(limits.max_direct_tools), 0, NULL, 0},
    {"maxToolResultSize", JF_INT, AT(limits.max_tool_result_size), 0, NULL, 0},
    {"maxHistoryMessages", JF_INT, AT(max_history), 0, NULL, 0},
    {"bundles", JF_JSON, AT(bundles), 0, NULL, 0},
    {"noDefaultBundles", JF_BOOL, AT(no_default_bundles), 0, NULL, 0},
    {"allowInsecureRemotes", JF_BOOL, AT(allow_insecure_remotes), 0, NULL, 0},
    {"allowInstall", JF_STRS, AT(allow_install), 0, NULL, 0},
    {"skillDirs", JF_STRS, AT(skill_dirs), 0, NULL, 0},
    {"skills", JF_JSON, AT(skills), 0, NULL, 0},
    {"agents", JF_JSON_OBJECT, AT(agents), 0, NULL, 0},
    {"features", JF_OBJECT, AT(features), 0, FEATURE_FIELDS, 0},
    {"people", JF_OBJECT, AT(people), 0, PEOPLE_FIELDS, 0},
    {"registryUrl", JF_CSTR, AT(registry_url), JF_NULLABLE, NULL, 0},
    {"permissions", JF_JSON_OBJECT, AT(permissions), 0, NULL, 0},
    {"home", JF_JSON_OBJECT, AT(home), 0, NULL, 0},
    {"demoDelayMs", JF_INT, AT(demo_delay_ms), 0, NULL, 0},
    {0}};

/* ---- where things are ---- */

struct loader {
    struct config *c;
    const struct config_flags *flags;
    config_getenv env;
    void *env_ctx;
    struct dotenv dotenv; /* of the work directory, once that is known */
    struct buf warnings;  /* NUL-separated */
};

static const char *getenv_nonempty(const struct loader *l, const char *name)
{
    const char *v = l->env ? l->env(l->env_ctx, name) : NULL;
    if (!(v && *v) && l->dotenv.text.n > 0)
        v = dotenv_get(&l->c->arena, &l->dotenv, name);
    return v && *v ? v : NULL;
}

static void warn(struct loader *l, str message)
{
    buf_add_str(&l->warnings, message);
    buf_add_char(&l->warnings, 0);
}

static const char *absolute(struct config *c, const char *dir, const char *path)
{
    if (path[0] == '/')
        return arena_cstr(&c->arena, str_from(path));
    return arena_printf(&c->arena, "%s/%s", dir, path).p;
}

static int current_dir(struct config *c, const char **ret, struct err *e)
{
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof cwd))
        return err_set(e, -errno, "cannot determine the current directory: %s", err_reason(-errno));
    *ret = arena_cstr(&c->arena, str_from(cwd));
    return 0;
}

/* $<variable>/nimblebrain<below>, or the same below the default of the XDG base directories, when
 * it exists; else NULL. */
static const char *xdg_path(struct loader *l, const char *variable, const char *otherwise,
                            const char *below)
{
    const char *base = getenv_nonempty(l, variable), *home = getenv_nonempty(l, "HOME");
    if ((!base || base[0] != '/') && !home)
        return NULL;
    const char *path =
        base && base[0] == '/'
            ? arena_printf(&l->c->arena, "%s/nimblebrain%s", base, below).p
            : arena_printf(&l->c->arena, "%s/%s/nimblebrain%s", home, otherwise, below).p;
    return file_exists(path) ? path : NULL;
}

/* The work directory as far as it is known before the file is read. */
static int first_work_dir(struct loader *l, const char **ret, struct err *e)
{
    const char *given = l->flags->work_dir ? l->flags->work_dir : getenv_nonempty(l, "NB_WORK_DIR");
    if (given && !*given)
        return err_set(e, -EINVAL, "--workdir: the name of the directory is empty");
    if (given) {
        const char *cwd;
        int r = current_dir(l->c, &cwd, e);
        if (r == 0)
            *ret = absolute(l->c, cwd, given);
        return r;
    }
    const char *home = getenv_nonempty(l, "HOME");
    if (!home)
        return err_set(e, -ENOENT, "no work directory: set HOME or NB_WORK_DIR, or use --workdir");
    *ret = arena_printf(&l->c->arena, "%s/.nimblebrain", home).p;
    const char *xdg = xdg_path(l, "XDG_DATA_HOME", ".local/share", "");
    if (xdg && !file_exists(*ret))
        *ret = xdg;
    return 0;
}

static void warn_unknown(void *ctx, const char *path, const char *meant)
{
    struct loader *l = ctx;
    struct err e;
    err_set(&e, -EINVAL, "%s: unknown key '%s' is ignored", l->c->path, path);
    nearest_hint(&e, meant);
    warn(l, str_from(e.msg));
}

/* ---- values ---- */

static int check_choice(const struct config *c, const char *what, const char *value,
                        const char *const *allowed, struct err *e)
{
    for (size_t i = 0; allowed[i]; i++)
        if (strcmp(value, allowed[i]) == 0)
            return 0;
    err_set(e, -EINVAL, "%s: %s: '%s' is not one of", c->path, what, value);
    for (size_t i = 0; allowed[i]; i++) {
        size_t n = strlen(e->msg);
        snprintf(e->msg + n, sizeof e->msg - n, "%s %s", i ? "," : "", allowed[i]);
    }
    return -EINVAL;
}

static int check_range(const struct config *c, const char *what, int64_t v, int64_t lo, int64_t hi,
                       struct err *e)
{
    if (v >= lo && v <= hi)
        return 0;
    return err_set(e, -EINVAL, "%s: %s: %lld is outside %lld to %lld", c->path, what, (long long)v,
                   (long long)lo, (long long)hi);
}

static bool is_base_path(str s)
{
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    for (size_t i = 0; i < s.n; i++) {
        bool is_slash = s.p[i] == '/';
        bool is_doubled = is_slash && i + 1 < s.n && s.p[i + 1] == '/';
        if (is_doubled || (!is_slash && !memchr(PLAIN, s.p[i], sizeof PLAIN - 1)))
            return false;
    }
    return s.n == 0 || (s.n > 1 && s.n <= BASE_PATH_MAX && s.p[0] == '/' && s.p[s.n - 1] != '/');
}

/* Characters that may not be part of an origin and a path are refused; so is user information. */
static bool is_public_url(str s)
{
    static const char PLAIN[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/[]";
    str rest = str_skip(s, sizeof "https://" - 1);
    for (size_t i = 0; i < rest.n; i++) {
        if (!memchr(PLAIN, rest.p[i], sizeof PLAIN - 1))
            return false;
    }
    return s.n == 0 || (str_starts(s, STR("https://")) && rest.n > 0 && rest.n <= PUBLIC_URL_MAX &&
                        rest.p[0] != '/' && rest.p[rest.n - 1] != '/');
}

static int check_proxy(const struct config *c, struct err *e)
{
    const struct json_strs *list = &c->http.trusted_proxies;
    struct ip_block b;
    if (!is_base_path(c->http.base_path))
        return err_set(e, -EINVAL,
                       "%s: http.basePath: expected a path such as /nb, of letters, digits, - and "
                       "_, without a slash at its end",
                       c->path);
    if (!is_public_url(c->http.public_url))
        return err_set(e, -EINVAL,
                       "%s: http.publicUrl: expected an address such as https://nb.example.com, "
                       "without a slash at its end",
                       c->path);
    for (size_t i = 0; i < list->len; i++)
        if (ip_block_parse(list->items[i], &b) < 0)
            return err_set(e, -EINVAL,
                           "%s: http.trustedProxies[%zu]: expected an address such as 127.0.0.1, "
                           "or a block such as 10.0.0.0/8",
                           c->path, i);
    return 0;
}

static int check_mcp(const struct config *c, struct err *e)
{
    const struct config_mcp *m = &c->mcp;
    int r = check_range(c, "mcp.maxSessions", m->max_sessions, 1, 100000, e);
    if (r == 0)
        r = check_range(c, "mcp.sessionIdleMs", m->session_idle_ms, 60000, 7 * DAY_MS, e);
    if (r == 0)
        r = check_range(c, "mcp.answerWaitMs", m->answer_wait_ms, 1000, DAY_MS, e);
    if (r == 0)
        r = check_range(c, "mcp.maxConnections", m->max_connections, 1, 256, e);
    return r;
}

static int config_check(const struct config *c, struct err *e)
{
    static const char *const STORES[] = {"jsonl", "folder", "memory", NULL};
    static const char *const DURABILITY[] = {"sync", "interval", "none", NULL};
    static const char *const LEVELS[] = {"debug", "info", "warn", "error", "off", NULL};
    static const char *const FORMATS[] = {"text", "json", NULL};
    static const char *const THINKING[] = {"off", "adaptive", "enabled", NULL};
    const struct config_limits *l = &c->limits;
    int r = check_choice(c, "store.type", c->store.type, STORES, e);
    if (r == 0)
        r = check_choice(c, "store.durability", c->store.durability, DURABILITY, e);
    if (r == 0)
        r = check_choice(c, "logging.level", c->logging.level, LEVELS, e);
    if (r == 0)
        r = check_choice(c, "logging.format", c->logging.format, FORMATS, e);
    if (r == 0)
        r = check_choice(c, "thinking", c->thinking.p, THINKING, e);
    if (r == 0)
        r = check_range(c, "http.port", c->http.port, 0, 65535, e);
    if (r == 0)
        r = check_proxy(c, e);
    if (r == 0)
        r = check_range(c, "http.connectionsPerAddress", c->http.conns_per_address, 1, CONNS_MAX,
                        e);
    if (r == 0)
        r = check_range(c, "http.connectionsPerPerson", c->http.conns_per_person, 1, CONNS_MAX, e);
    if (r == 0)
        r = check_range(c, "http.streamsPerPerson", c->http.streams_per_person, 1, CONNS_MAX, e);
    if (r == 0)
        r = check_range(c, "http.rateLimits.chat", c->http.rates.chat, 0, RATE_MAX, e);
    if (r == 0)
        r = check_range(c, "http.rateLimits.tools", c->http.rates.tools, 0, RATE_MAX, e);
    if (r == 0)
        r = check_range(c, "http.rateLimits.mcp", c->http.rates.mcp, 0, RATE_MAX, e);
    if (r == 0)
        r = check_range(c, "maxIterations", l->max_iterations, 1, CONFIG_ITERATIONS_MAX, e);
    if (r == 0)
        r = check_range(c, "maxInputTokens", l->max_input_tokens, 1, INT64_MAX, e);
    if (r == 0)
        r = check_range(c, "maxOutputTokens", l->max_output_tokens, 1, 1000000, e);
    if (r == 0)
        r = check_range(c, "maxDirectTools", l->max_direct_tools, 0, 10000, e);
    if (r == 0)
        r = check_range(c, "maxToolResultSize", l->max_tool_result_size, 0, INT64_MAX, e);
    if (r == 0)
        r = check_range(c, "modelCalls.idleTimeoutMs", c->model_calls.idle_timeout_ms, 0, 3600000,
                        e);
    if (r == 0)
        r = check_range(c, "modelCalls.maxTries", c->model_calls.max_tries, 0, 20, e);
    if (r == 0)
        r = check_range(c, "modelCalls.retryBaseMs", c->model_calls.retry_base_ms, 0, 60000, e);
    if (r == 0)
        r = check_mcp(c, e);
    if (r == 0)
        r = check_range(c, "demoDelayMs", c->demo_delay_ms, 0, 10000, e);
    return r;
}

static void set_defaults(struct document *d)
{
    *d = (struct document){
        .http = {.host = "127.0.0.1",
                 .port = CONFIG_PORT,
                 .conns_per_address = 256,
                 .conns_per_person = 256,
                 .streams_per_person = 64,
                 .rates = {.chat = 20, .tools = 600, .mcp = 300}},
        .store = {.type = "jsonl", .durability = "sync"},
        .logging = {.level = "info", .format = "text"},
        .limits = {.max_iterations = 10,
                   .max_input_tokens = 500000,
                   .max_output_tokens = 16384,
                   .max_direct_tools = 30,
                   .max_tool_result_size = 1000000},
        .mcp = {.max_sessions = 1000,
                .session_idle_ms = DAY_MS / 3,
                .answer_wait_ms = 300000,
                .max_connections = 8},
        .features = {true, true, true, true, true, true, true, true, true},
        .thinking = STR("off"),
        .demo_delay_ms = 12,
    };
}

/* The same keys may have another meaning in a file of another version. */
static int check_version(struct config *c, const struct json *root, struct err *e)
{
    const struct json *version = json_get(root, "version");
    str text = json_string(version, STR_NONE);
    if (!version || json_is(version, JSON_NULL))
        return 0;
    str shown = json_to_str(&c->arena, version);
    if (text.n == 0)
        text = shown;
    if (str_eq(text, STR("1")) || str_starts(text, STR("1.")))
        return 0;
    return err_set(e, -EINVAL,
                   "%s: version: %.*s is not supported: this nb reads version 1. Update nb, or set "
                   "\"1\" if the file was written for it",
                   c->path, STR_ARG(utf8_truncate(shown, VERSION_SHOWN)));
}

static int read_document(struct loader *l, struct document *d, struct err *e)
{
    struct config *c = l->c;
    str text;
    if (l->flags->without_file)
        return 0;
    int r = file_read(&c->arena, c->path, CONFIG_BYTES_MAX, &text, e);
    if (r == -ENOENT && !l->flags->config_path) {
        err_clear(e);
        return 0;
    }
    if (r < 0)
        return r;
    c->is_file_present = true;

    struct json *root;
    r = json_parse(&c->arena, relaxed_json(&c->arena, text, NULL), JSON_COPY | JSON_UNIQUE, &root,
                   e);
    if (r < 0) {
        err_prefix(e, "%s", c->path);
        return r;
    }
    if (root->type != JSON_OBJECT)
        return err_set(e, -EINVAL, "%s: expected an object", c->path);
    r = check_version(c, root, e);
    if (r < 0)
        return r;
    r = json_decode(&c->arena, root, FIELDS, d, "", warn_unknown, l, e);
    if (r < 0)
        err_prefix(e, "%s", c->path);
    return r;
}

/* A key in the file overrides the environment: the only exception to the order of precedence, so
 * that a project can have its own key. */
static str provider_key(const struct document *d, const char *provider, const char *env)
{
    const struct json *conf = json_get(d->providers, provider);
    str key = json_get_string(conf, "apiKey");
    if (key.n > 0)
        return key;
    bool is_legacy_match = d->model.provider.n == 0 ? strcmp(provider, "anthropic") == 0
                                                    : str_eq(d->model.provider, str_from(provider));
    if (is_legacy_match && d->model.api_key.n > 0)
        return d->model.api_key;
    return str_from(env);
}

/* A whole number from 0 to max, when the variable is set. */
static int environment_number(const struct loader *l, const char *name, uint64_t max, int64_t *ret,
                              struct err *e)
{
    uint64_t number;
    const char *text = getenv_nonempty(l, name);
    if (!text)
        return 0;
    if (parse_u64(str_from(text), &number) < 0 || number > max)
        return err_set(e, -EINVAL, "%s: '%s' is not a whole number from 0 to %llu", name, text,
                       (unsigned long long)max);
    *ret = (int64_t)number;
    return 0;
}

/* "https://a.example, https://b.example" */
static struct json_strs environment_list(const struct loader *l, const char *name,
                                         struct json_strs otherwise)
{
    str rest = str_from(getenv_nonempty(l, name)), one;
    if (rest.n == 0)
        return otherwise;
    struct json_strs out = {arena_array(&l->c->arena, rest.n, sizeof(str)), 0};
    while (str_split(&rest, ',', &one))
        if (str_trim(one).n > 0)
            out.items[out.len++] = arena_str(&l->c->arena, str_trim(one));
    return out;
}

static int apply_rates(const struct loader *l, struct config_rates *to, struct err *e)
{
    int r = environment_number(l, "NB_CHAT_RATE_LIMIT", RATE_MAX, &to->chat, e);
    if (r == 0)
        r = environment_number(l, "NB_TOOL_RATE_LIMIT", RATE_MAX, &to->tools, e);
    return r < 0 ? r : environment_number(l, "NB_MCP_RATE_LIMIT", RATE_MAX, &to->mcp, e);
}

static int apply_environment(const struct loader *l, struct document *d, struct err *e)
{
    d->http.allowed_hosts = environment_list(l, "ALLOWED_HOSTS", d->http.allowed_hosts);
    d->http.allowed_origins = environment_list(l, "ALLOWED_ORIGINS", d->http.allowed_origins);
    if (getenv_nonempty(l, "NB_REGISTRY_URL"))
        d->registry_url = getenv_nonempty(l, "NB_REGISTRY_URL");
    const char *zone = getenv_nonempty(l, "NB_TIMEZONE");
    if (zone)
        d->time_zone = str_from(zone);
    if (getenv_nonempty(l, "NB_DEBUG"))
        d->logging.level = "debug";
    const char *model = getenv_nonempty(l, "NB_MODEL");
    if (model)
        d->models.default_model = str_from(model);
    int r = environment_number(l, "PORT", 65535, &d->http.port, e);
    if (r == 0)
        r = apply_rates(l, &d->http.rates, e);
    return r < 0 ? r : environment_number(l, "NB_DEMO_DELAY_MS", 10000, &d->demo_delay_ms, e);
}

static void take_secrets(struct loader *l, const struct document *d)
{
    struct config_secrets *to = &l->c->secrets;
    const struct {
        const char *provider, *variable;
        str *key;
    } KEYS[] = {
        {"anthropic", "ANTHROPIC_API_KEY", &to->anthropic_api_key},
        {"openai", "OPENAI_API_KEY", &to->openai_api_key},
        {"google", "GOOGLE_GENERATIVE_AI_API_KEY", &to->google_api_key},
        {"openrouter", "OPENROUTER_API_KEY", &to->openrouter_api_key},
        {"groq", "GROQ_API_KEY", &to->groq_api_key},
        {"mistral", "MISTRAL_API_KEY", &to->mistral_api_key},
        {"deepseek", "DEEPSEEK_API_KEY", &to->deepseek_api_key},
    };
    const char *google = getenv_nonempty(l, "GEMINI_API_KEY");
    if (!google)
        google = getenv_nonempty(l, "GOOGLE_API_KEY");
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++)
        *KEYS[i].key = arena_str(
            &l->c->arena, provider_key(d, KEYS[i].provider, getenv_nonempty(l, KEYS[i].variable)));
    if (to->google_api_key.n == 0 && google)
        to->google_api_key = arena_str(&l->c->arena, str_from(google));
    l->c->base_urls.anthropic =
        arena_str(&l->c->arena, str_from(getenv_nonempty(l, "ANTHROPIC_BASE_URL")));
    l->c->base_urls.openai =
        arena_str(&l->c->arena, str_from(getenv_nonempty(l, "OPENAI_BASE_URL")));
    to->nb_api_key = arena_str(&l->c->arena, str_from(getenv_nonempty(l, "NB_API_KEY")));
    to->oidc_client_secret =
        arena_str(&l->c->arena, str_from(getenv_nonempty(l, "NB_OIDC_CLIENT_SECRET")));
    l->c->ollama_host = arena_str(&l->c->arena, str_from(getenv_nonempty(l, "OLLAMA_HOST")));
}

static void apply_flags(const struct config_flags *f, struct document *d)
{
    if (f->model)
        d->models.default_model = d->models.named = str_from(f->model);
    if (f->host)
        d->http.host = f->host;
    if (f->port >= 0)
        d->http.port = f->port;
    if (f->store_type) {
        d->store.type = f->store_type;
        d->store.dir = NULL;
    }
    if (f->is_debug)
        d->logging.level = "debug";
}

static void take_document(struct config *c, const struct document *d)
{
    struct arena *a = &c->arena;
    c->http = d->http;
    c->http.host = arena_cstr(a, str_from(d->http.host));
    c->store = d->store;
    c->store.type = arena_cstr(a, str_from(d->store.type));
    c->logging = d->logging;
    c->models = d->models;
    if (c->models.default_model.n == 0)
        c->models.default_model = d->default_model;
    c->models.default_model = arena_str(a, c->models.default_model);
    c->models.named = arena_str(a, c->models.named);
    c->limits = d->limits;
    c->model_calls = d->model_calls;
    c->mcp = d->mcp;
    c->no_default_bundles = d->no_default_bundles;
    c->allow_insecure_remotes = d->allow_insecure_remotes;
    c->allow_install = d->allow_install;
    c->bundles = d->bundles;
    c->skills = d->skills;
    c->agents = d->agents;
    c->features = d->features;
    c->people = d->people;
    c->providers = d->providers;
    c->permissions = d->permissions;
    c->home = d->home;
    c->registry_url = d->registry_url ? arena_cstr(a, str_from(d->registry_url)) : NULL;
    c->model_overrides = d->model_overrides;
    c->thinking = arena_str(a, d->thinking);
    c->time_zone = arena_str(a, d->time_zone);
    c->demo_delay_ms = d->demo_delay_ms;
}

static void resolve_paths(struct config *c, const struct document *d)
{
    const char *slash = strrchr(c->path, '/');
    const char *dir = arena_cstr(&c->arena, str_make(c->path, (size_t)(slash - c->path)));
    if (d->store.dir)
        c->store.dir = absolute(c, dir, d->store.dir);
    if (d->logging.dir)
        c->logging.dir = absolute(c, dir, d->logging.dir);
    c->skill_dirs.len = d->skill_dirs.len;
    c->skill_dirs.items = arena_array(&c->arena, d->skill_dirs.len, sizeof(str));
    for (size_t i = 0; i < d->skill_dirs.len; i++) {
        const char *given = arena_cstr(&c->arena, d->skill_dirs.items[i]);
        c->skill_dirs.items[i] = str_from(absolute(c, dir, given));
    }
}

/* Settings of parts that do not exist yet: a warning is better than silence. */
static void warn_without_effect(struct loader *l, const struct document *d)
{
    const struct {
        const char *key;
        bool is_set;
    } unused[] = {
        {"models.reasoning", d->models.reasoning.n > 0},
        {"logging.dir", d->logging.dir != NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(unused); i++) {
        if (!unused[i].is_set)
            continue;
        buf_printf(&l->warnings, "%s: '%s' has no effect in this version", l->c->path,
                   unused[i].key);
        buf_add_char(&l->warnings, 0);
    }
}

static int read_dotenv(struct loader *l, struct err *e)
{
    bool is_open;
    const char *path = arena_printf(&l->c->arena, "%s/.env", l->c->work_dir).p;
    int r = l->env ? dotenv_load(&l->c->arena, path, &l->dotenv, &is_open, e) : 0;
    if (r == 0 && l->dotenv.text.n > 0 && is_open)
        warn(l,
             arena_printf(&l->c->arena, "%s: other users can read it; run chmod 600 on it", path));
    return r;
}

/* The file in the work directory, else one of the XDG directories when it exists. */
static const char *settings_path(struct loader *l)
{
    const char *own = arena_printf(&l->c->arena, "%s/nimblebrain.json", l->c->work_dir).p;
    bool is_given = l->flags->work_dir || getenv_nonempty(l, "NB_WORK_DIR");
    if (is_given || file_exists(own))
        return own;
    const char *xdg = xdg_path(l, "XDG_CONFIG_HOME", ".config", "/nimblebrain.json");
    return xdg ? xdg : own;
}

static void take_warnings(struct loader *l)
{
    struct config *c = l->c;
    str rest = buf_str(&l->warnings), one;
    size_t n = 0;
    for (size_t i = 0; i < rest.n; i++)
        n += rest.p[i] == 0;
    c->warnings.items = arena_array(&c->arena, n, sizeof(str));
    while (c->warnings.len < n && str_split(&rest, 0, &one))
        c->warnings.items[c->warnings.len++] = arena_str(&c->arena, one);
}

static int config_resolve(struct loader *l, struct err *e)
{
    struct config *c = l->c;
    const char *cwd;
    int r = first_work_dir(l, &c->work_dir, e);
    if (r == 0)
        r = current_dir(c, &cwd, e);
    if (r == 0)
        r = read_dotenv(l, e);
    if (r < 0)
        return r;
    c->path = l->flags->config_path ? absolute(c, cwd, l->flags->config_path) : settings_path(l);

    struct document d;
    set_defaults(&d);
    r = read_document(l, &d, e);
    if (r < 0)
        return r;
    if (d.work_dir && !l->flags->work_dir && !getenv_nonempty(l, "NB_WORK_DIR"))
        c->work_dir = absolute(c, cwd, d.work_dir);
    r = apply_environment(l, &d, e);
    if (r < 0)
        return r;
    take_secrets(l, &d);
    apply_flags(l->flags, &d);
    take_document(c, &d);
    resolve_paths(c, &d);
    warn_without_effect(l, &d);
    take_warnings(l);
    return config_check(c, e);
}

int config_load(struct config *ret, const struct config_flags *flags, config_getenv env,
                void *env_ctx, struct err *e)
{
    *ret = (struct config){0};
    arena_init(&ret->arena);
    struct loader l = {.c = ret, .flags = flags, .env = env, .env_ctx = env_ctx};
    buf_init(&l.warnings, 64u * 1024);
    int r = config_resolve(&l, e);
    buf_done(&l.warnings);
    if (r < 0)
        config_done(ret);
    return r;
}

void config_done(struct config *c)
{
    arena_done(&c->arena);
    *c = (struct config){0};
}

const char *config_path(struct config *c, const char *below)
{
    return arena_printf(&c->arena, "%s/%s", c->work_dir, below).p;
}
