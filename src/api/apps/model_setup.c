/* PUT and DELETE /v1/providers/:name/key, POST /v1/providers, POST /v1/models/look, PUT
 * /v1/models/default - configuring a model while nb runs: store a key that its provider accepts (it
 * is never returned), delete one, add a server that answers, look for model servers on this
 * machine, and write the default model into the settings. */
#include "api/apps/model_setup.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "bundle/entry/entry.h"
#include "bundle/settings/settings.h"
#include "net/url.h"
#include "workspace/secrets/credentials.h"

#define MODEL_NAME_MAX 200

/* ---- changes that are saved before they take effect ---- */

struct model_change {
    struct list_node node; /* in api->model_changes */
    struct api *api;       /* NULL after the API was freed */
    struct http_req *req;  /* NULL after the client disconnected */
    struct arena arena;
    void (*save)(struct model_change *c); /* runs on a pool thread */
    void (*use)(struct llm *llm, const struct model_change *c);
    const char *path;        /* path of the settings, or of the directory of keys */
    const char *keys;        /* the directory of keys, of a new provider */
    bool is_public_only;     /* of a new provider */
    str model;               /* of a new provider, as "provider:model", whose key is in value; or
                                configured_model() */
    str provider, base_url;  /* base_url: empty = not written to the settings */
    str value;               /* the key, or "provider:model" */
    struct llm_trial *trial; /* of the key, before it is saved; or NULL */
    bool is_accepted;        /* the provider accepts the key */
    struct err doubt;        /* why the key could not be tried */
    bool needs_key;          /* the provider, whose key is deleted, cannot be used without it */
    struct err err;
    struct job job;
};

static void model_setup_save(struct job *j) /* pool thread */
{
    struct model_change *c = CONTAINER_OF(j, struct model_change, job);
    c->save(c);
}

static void model_setup_reply(struct http_req *r, const struct llm *llm,
                              const struct model_change *c)
{
    struct api_json j;
    str why;
    api_json_begin(&j);
    jw_kstr(&j.w, "provider", c->provider);
    if (c->is_accepted)
        jw_kbool(&j.w, "isAccepted", true);
    if (c->doubt.code)
        jw_kcstr(&j.w, "doubt", c->doubt.msg);
    jw_kstr(&j.w, "defaultModel", llm_default_model(llm, &why));
    jw_kstr(&j.w, "why", why);
    api_json_send(&j, r);
}

static void change_free(struct model_change *c)
{
    explicit_bzero((char *)c->value.p, c->value.n);
    arena_done(&c->arena);
    free(c);
}

static void on_model_setup_saved(struct job *j)
{
    struct model_change *c = CONTAINER_OF(j, struct model_change, job);
    struct llm *llm = c->api ? c->api->deps.llm : NULL;
    list_del(&c->node);
    if (llm && c->err.code == 0)
        c->use(llm, c);
    if (c->req && c->err.code)
        http_reply_error(c->req, 500, "not_saved", c->err.msg, NULL);
    else if (c->req)
        model_setup_reply(c->req, llm, c);
    change_free(c);
}

static void on_model_setup_gone(struct http_req *r)
{
    ((struct model_change *)r->user)->req = NULL;
}

static struct model_change *change_new(struct api *api, struct http_req *r, str provider, str value)
{
    struct model_change *c = xcalloc(1, sizeof *c);
    arena_init(&c->arena);
    c->api = api;
    c->req = r;
    c->provider = arena_str(&c->arena, provider);
    c->value = arena_str(&c->arena, value);
    c->job = (struct job){.work = model_setup_save, .done = on_model_setup_saved};
    list_push(&api->model_changes, &c->node);
    assert(!r->user && !r->on_gone);
    r->user = c;
    r->on_gone = on_model_setup_gone;
    return c;
}

/* ---- a key ---- */

static void save_key(struct model_change *c)
{
    struct json value = json_of_str(c->value);
    (void)credentials_set(c->path, STR(CREDENTIALS_PROVIDERS), c->provider, &value, &c->err);
}

static void use_key(struct llm *llm, const struct model_change *c)
{
    llm_set_key(llm, c->provider, c->value);
}

struct key_body {
    str key;
    bool is_tried;
};

const struct json_field API_KEY_FIELDS[] = {
    {"apiKey", JF_STR, offsetof(struct key_body, key), JF_REQUIRED, NULL, 0,
     "The key; it is stored on the server and never sent to clients."},
    {"try", JF_BOOL, offsetof(struct key_body, is_tried), 0, NULL, 0,
     "Ask the provider first, and do not store a key that it refuses (default true)."},
    {0}};

/* A key that could not be tried is stored: the provider may be out of reach for a while. */
static void on_key_tried(void *ctx, enum llm_trial_result result, const struct err *why)
{
    struct model_change *c = ctx;
    assert(c->api && c->trial);
    c->trial = NULL;
    c->is_accepted = result == LLM_TRIAL_ACCEPTED;
    if (result == LLM_TRIAL_UNKNOWN)
        c->doubt = *why;
    if (result != LLM_TRIAL_REFUSED) {
        pool_submit(c->api->deps.pool, &c->job);
        return;
    }
    list_del(&c->node);
    if (c->req) {
        c->req->on_gone = NULL;
        http_reply_error(c->req, 422, "key_refused", why->msg, NULL);
    }
    change_free(c);
}

static void start_key(struct api *api, struct http_req *r, str key, bool is_tried)
{
    struct model_change *c = change_new(api, r, r->params[0], key);
    c->path = arena_printf(&c->arena, "%s/credentials", api->deps.config->work_dir).p;
    c->save = save_key;
    c->use = use_key;
    if (is_tried)
        c->trial = llm_try_key(api->deps.llm, c->provider, c->value, on_key_tried, c);
    else
        pool_submit(api->deps.pool, &c->job);
}

void api_provider_key_set(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct err e = {0};
    struct key_body body = {.is_tried = true};
    if (!api_decode_body(r, API_KEY_FIELDS, &body))
        return;
    str key = str_trim(body.key);
    if (llm_may_set_key(api->deps.llm, r->params[0], &e) < 0)
        api_fail(r, FROM_MODEL, &e);
    else if (!llm_is_key(key))
        api_bad_request(
            r,
            "This is not an API key: expected 8 to 512 visible ASCII characters without spaces.");
    else
        start_key(api, r, key, body.is_tried);
}

static int save_member(struct model_change *c, const char *section, str key, struct json value)
{
    struct json *members = json_new(&c->arena, JSON_OBJECT);
    json_set(&c->arena, members, key, value);
    return settings_set_members(c->path, section, members, &c->err);
}

/* Is the default model of the settings one of this provider? The model that nb uses may differ: the
 * command line or the environment can name it. */
static int find_own_default(struct model_change *c, bool *ret)
{
    struct json *doc;
    int r = settings_load(&c->arena, c->path, &doc, &c->err);
    *ret = false;
    if (r == -ENOENT) {
        err_clear(&c->err);
        return 0;
    }
    if (r < 0)
        return r;
    str name = json_get_string(json_get(doc, "models"), "default");
    *ret = llm_has_prefix(name, c->provider) || (name.n > 0 && str_eq(name, c->model));
    return 0;
}

/* The default first: settings that name a model without its key would be wrong after a restart. */
static void delete_key(struct model_change *c)
{
    bool is_own = false;
    if (c->needs_key && find_own_default(c, &is_own) < 0)
        return;
    if (is_own && save_member(c, "models", STR("default"), (struct json){0}) < 0)
        return;
    (void)credentials_set(c->keys, STR(CREDENTIALS_PROVIDERS), c->provider, NULL, &c->err);
}

static void forget_key(struct llm *llm, const struct model_change *c)
{
    llm_remove_key(llm, c->provider);
}

/* The default model as it was configured, which may be a bare name, if the provider has it. */
static str configured_model(const struct api *api, struct model_change *c)
{
    str name = api->deps.config->models.default_model, provider, model;
    bool is_own = name.n > 0 && llm_resolve(api->deps.llm, name, &provider, &model, NULL) == 0 &&
                  str_eq(provider, c->provider);
    return is_own ? arena_str(&c->arena, name) : STR_NONE;
}

void api_provider_key_delete(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct err e = {0};
    if (llm_may_remove_key(api->deps.llm, r->params[0], &e) < 0) {
        api_fail(r, FROM_MODEL, &e);
        return;
    }
    struct model_change *c = change_new(api, r, r->params[0], STR_NONE);
    c->path = arena_cstr(&c->arena, str_from(api->deps.config->path));
    c->keys = arena_printf(&c->arena, "%s/credentials", api->deps.config->work_dir).p;
    c->needs_key = llm_needs_key(api->deps.llm, c->provider);
    c->model = configured_model(api, c);
    c->save = delete_key;
    c->use = forget_key;
    pool_submit(api->deps.pool, &c->job);
}

/* ---- a server with an address of its own ---- */

#define PROVIDER_NAME_MAX 32
#define BASE_URL_MAX      512

struct endpoint_body {
    str name, base_url, key, model;
};

const struct json_field API_ENDPOINT_FIELDS[] = {
    {"name", JF_STR, offsetof(struct endpoint_body, name), JF_REQUIRED, NULL, 0,
     "Of the new provider: lower-case letters, digits and -."},
    {"baseURL", JF_STR, offsetof(struct endpoint_body, base_url), JF_REQUIRED, NULL, 0,
     "The address of its OpenAI API (chat completions), such as https://llm.example.com/v1."},
    {"apiKey", JF_STR, offsetof(struct endpoint_body, key), 0, NULL, 0,
     "The key, if it needs one; stored on the server and never sent to clients."},
    {"model", JF_STR, offsetof(struct endpoint_body, model), JF_REQUIRED, NULL, 0,
     "A model that it has; it becomes the default."},
    {0}};

static struct llm_provider_conf endpoint_conf(const struct model_change *c)
{
    return (struct llm_provider_conf){.name = c->provider,
                                      .type = STR("openai"),
                                      .base_url = c->base_url,
                                      .api_key = c->value,
                                      .is_key_entered = true,
                                      .is_public_only = c->is_public_only};
}

/* The key first: settings that name a server without its key would be wrong after a restart. */
static void save_endpoint(struct model_change *c)
{
    struct json *provider = json_new(&c->arena, JSON_OBJECT), key = json_of_str(c->value);
    if (c->value.n > 0 &&
        credentials_set(c->keys, STR(CREDENTIALS_PROVIDERS), c->provider, &key, &c->err) < 0)
        return;
    json_set(&c->arena, provider, STR("type"), json_of_str(STR("openai")));
    json_set(&c->arena, provider, STR("baseURL"), json_of_str(c->base_url));
    if (c->is_public_only)
        json_set(&c->arena, provider, STR("publicOnly"), json_of_bool(true));
    if (save_member(c, "providers", c->provider, *provider) == 0)
        (void)save_member(c, "models", STR("default"), json_of_str(c->model));
}

/* Somebody may have added one with that name meanwhile: then the settings have the later one, and a
 * restart takes it. */
static void use_endpoint(struct llm *llm, const struct model_change *c)
{
    struct llm_provider_conf conf = endpoint_conf(c);
    if (llm_add_provider(llm, &conf, NULL) == 0)
        llm_set_default(llm, c->model);
}

/* A server that did not answer is not stored: nothing would show what is wrong with it. */
static void on_endpoint_tried(void *ctx, enum llm_trial_result result, const struct err *why)
{
    struct model_change *c = ctx;
    assert(c->api && c->trial);
    c->trial = NULL;
    c->is_accepted = result == LLM_TRIAL_ACCEPTED;
    if (c->is_accepted) {
        pool_submit(c->api->deps.pool, &c->job);
        return;
    }
    list_del(&c->node);
    if (c->req) {
        c->req->on_gone = NULL;
        http_reply_error(c->req, 422,
                         result == LLM_TRIAL_REFUSED ? "key_refused" : "endpoint_failed", why->msg,
                         NULL);
    }
    change_free(c);
}

static bool is_provider_name(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '-')
            return false;
    return s.n > 0 && s.n <= PROVIDER_NAME_MAX && s.p[0] != '-';
}

/* The rule of remote bundles; and in dev mode, where the one user has the key of the machine's
 * owner, also servers of this machine. */
static bool check_endpoint_url(const struct api *api, struct http_req *r, str url,
                               bool *ret_public_only)
{
    struct bundle_entry entry = {.url = url};
    struct url u;
    struct err e = {0};
    bool may_be_local =
        api->deps.config->allow_insecure_remotes || auth_mode(api->deps.auth) == AUTH_DEV;
    if (url.n > BASE_URL_MAX || url_parse(url, &u, NULL) < 0 || u.has_userinfo ||
        str_find_char(u.target, '?') >= 0)
        return api_bad_request(r,
                               "baseURL: expected an address such as https://llm.example.com/v1");
    if (bundle_entry_check_url(&entry, may_be_local, &e) < 0)
        return api_bad_request(r, "baseURL: expected a public address with https. A server in your "
                                  "own network is added in the settings file: providers.");
    *ret_public_only = !url_is_local(&u);
    return true;
}

static bool check_endpoint(struct api *api, struct http_req *r, const struct endpoint_body *b)
{
    struct llm_provider_conf conf = {.name = b->name};
    struct err e = {0};
    if (!is_provider_name(b->name) || llm_is_known(b->name))
        return api_bad_request(r, "name: expected lower-case letters, digits and -, and not the "
                                  "name of a provider that nb knows");
    if (b->model.n == 0 || b->model.n > MODEL_NAME_MAX)
        return api_bad_request(r, "model is required.");
    if (b->key.n > 0 && !llm_is_key(b->key))
        return api_bad_request(
            r,
            "This is not an API key: expected 8 to 512 visible ASCII characters without spaces.");
    if (llm_may_add(api->deps.llm, &conf, &e) == 0)
        return true;
    http_reply_error(r, 409, "conflict", e.msg, NULL);
    return false;
}

void api_providers_add(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct endpoint_body b = {0};
    bool is_public_only = true;
    if (!api_decode_body(r, API_ENDPOINT_FIELDS, &b))
        return;
    b.name = str_trim(b.name);
    b.key = str_trim(b.key);
    b.model = str_trim(b.model);
    b.base_url = str_trim(b.base_url);
    if (!check_endpoint(api, r, &b) || !check_endpoint_url(api, r, b.base_url, &is_public_only))
        return;
    struct model_change *c = change_new(api, r, b.name, b.key);
    c->path = arena_cstr(&c->arena, str_from(api->deps.config->path));
    c->keys = arena_printf(&c->arena, "%s/credentials", api->deps.config->work_dir).p;
    c->base_url = arena_str(&c->arena, b.base_url);
    c->is_public_only = is_public_only;
    c->model = arena_printf(&c->arena, "%.*s:%.*s", STR_ARG(b.name), STR_ARG(b.model));
    c->save = save_endpoint;
    c->use = use_endpoint;
    struct llm_provider_conf conf = endpoint_conf(c);
    c->trial =
        llm_try_provider(api->deps.llm, &conf, arena_str(&c->arena, b.model), on_endpoint_tried, c);
}

/* ---- the default model ---- */

/* A server that was only found is written to the settings too: once a model is named there, nb no
 * longer looks for servers. */
static void save_default(struct model_change *c)
{
    struct json *provider = json_new(&c->arena, JSON_OBJECT);
    if (c->base_url.n > 0) {
        json_set(&c->arena, provider, STR("baseURL"), json_of_str(c->base_url));
        if (save_member(c, "providers", c->provider, *provider) < 0)
            return;
    }
    (void)save_member(c, "models", STR("default"), json_of_str(c->value));
}

static void use_default(struct llm *llm, const struct model_change *c)
{
    llm_set_default(llm, c->value);
}

/* The address of the provider's server, when it is known only because nb found the server. */
static str found_at(const struct api *api, str provider)
{
    enum { MAX = 64 };
    struct llm_provider_info all[MAX];
    size_t n = llm_providers(api->deps.llm, all, MAX);
    const struct json *configured = api->deps.config->providers;
    for (size_t i = 0; i < n && i < MAX; i++)
        if (str_eq(all[i].name, provider) && all[i].is_local && !json_get_str(configured, provider))
            return all[i].base_url;
    return STR_NONE;
}

const struct json_field API_DEFAULT_MODEL_FIELDS[] = {
    {"model", JF_STR, 0, JF_REQUIRED, NULL, 0, "The model as provider:model."}, {0}};

/* The provider of a bare name is a guess; the default for everybody must not depend on a guess. */
static bool is_exact(const struct api *api, struct arena *a, str name, str provider, str full)
{
    size_t n;
    const str *known = llm_known_models(api->deps.llm, a, &n);
    if (str_in(full, known, n))
        return true;
    return llm_has_prefix(name, provider) && !str_eq(provider, STR("demo"));
}

static void refuse_model(const struct api *api, struct http_req *r, str name)
{
    enum { MAX = 64 };
    struct llm_provider_info all[MAX];
    struct buf b;
    size_t n = llm_providers(api->deps.llm, all, MAX), nmodels;
    const str *models = llm_known_models(api->deps.llm, &r->arena, &nmodels);
    buf_init(&b, 8192);
    buf_printf(&b, "Unknown model %.*s. Write provider:model. Providers:", STR_ARG(name));
    for (size_t i = 0; i < n && i < MAX; i++)
        buf_printf(&b, " %.*s", STR_ARG(all[i].name));
    buf_printf(&b, ". Known models:");
    for (size_t i = 0; i < nmodels && i < MAX; i++)
        buf_printf(&b, " %.*s", STR_ARG(models[i]));
    api_bad_request(r, buf_cstr(&b));
    buf_done(&b);
}

void api_models_set_default(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct err e = {0};
    str name = STR_NONE, provider, model;
    if (!api_decode_body(r, API_DEFAULT_MODEL_FIELDS, &name))
        return;
    name = str_trim(name);
    if (name.n == 0 || name.n > MODEL_NAME_MAX ||
        llm_resolve(api->deps.llm, name, &provider, &model, &e) < 0) {
        api_bad_request(r, e.code ? e.msg : "model is required.");
        return;
    }
    str full = arena_printf(&r->arena, "%.*s:%.*s", STR_ARG(provider), STR_ARG(model));
    if (!is_exact(api, &r->arena, name, provider, full)) {
        refuse_model(api, r, name);
        return;
    }
    name = full;
    struct model_change *c = change_new(api, r, provider, name);
    c->path = arena_cstr(&c->arena, str_from(api->deps.config->path));
    c->base_url = arena_str(&c->arena, found_at(api, provider));
    c->save = save_default;
    c->use = use_default;
    pool_submit(api->deps.pool, &c->job);
}

/* ---- looking for model servers ---- */

struct probe_waiter {      /* in the request's arena */
    struct list_node node; /* in api->probe_waiters */
    struct http_req *req;
};

static void on_probe_waiter_gone(struct http_req *r)
{
    list_del(&((struct probe_waiter *)r->user)->node);
}

static void on_model_setup_looked(void *ctx)
{
    struct api *api = ctx;
    struct list_node *n;
    while ((n = list_pop(&api->probe_waiters)) != NULL) {
        struct http_req *r = LIST_ENTRY(n, struct probe_waiter, node)->req;
        r->on_gone = NULL;
        api_models_list(api, r);
    }
}

void api_models_look(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct probe_waiter *l = ARENA_NEW(&r->arena, struct probe_waiter);
    bool is_first = list_empty(&api->probe_waiters);
    l->req = r;
    r->user = l;
    r->on_gone = on_probe_waiter_gone;
    list_push(&api->probe_waiters, &l->node);
    if (is_first)
        llm_look(api->deps.llm, on_model_setup_looked, api);
}

void api_model_setup_drop(struct api *api)
{
    LIST_FOREACH (n, &api->model_changes) {
        struct model_change *c = LIST_ENTRY(n, struct model_change, node);
        c->api = NULL;
        list_del(n); /* the list is freed before changes that are still being saved */
        if (c->trial) {
            llm_stop_trial(c->trial);
            change_free(c);
        }
    }
    llm_stop_look(api->deps.llm);
}
