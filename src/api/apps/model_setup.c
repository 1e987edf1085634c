/* PUT /v1/providers/:name/key, POST /v1/models/look, PUT /v1/models/default - configuring a model
 * while nb runs: store a key (it is never returned), look for model servers on this machine, and
 * write the default model into the settings. */
#include "api/apps/model_setup.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "bundle/settings/credentials.h"
#include "bundle/settings/settings.h"

#define MODEL_NAME_MAX 200

/* ---- changes that are saved before they take effect ---- */

struct model_change {
    struct list_node node; /* in api->model_changes */
    struct api *api;       /* NULL after the API was freed */
    struct http_req *req;  /* NULL after the client disconnected */
    struct arena arena;
    void (*save)(struct model_change *c); /* runs on a pool thread */
    void (*use)(struct llm *llm, const struct model_change *c);
    const char *path;       /* path of the settings, or of the directory of keys */
    str provider, base_url; /* base_url: empty = not written to the settings */
    str value;              /* the key, or "provider:model" */
    struct err err;
    struct job job;
};

static void model_setup_save(struct job *j) /* pool thread */
{
    struct model_change *c = CONTAINER_OF(j, struct model_change, job);
    c->save(c);
}

static void model_setup_reply(struct http_req *r, const struct llm *llm, str provider)
{
    struct api_json j;
    str why;
    api_json_begin(&j);
    jw_kstr(&j.w, "provider", provider);
    jw_kstr(&j.w, "defaultModel", llm_default_model(llm, &why));
    jw_kstr(&j.w, "why", why);
    api_json_send(&j, r);
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
        model_setup_reply(c->req, llm, c->provider);
    explicit_bzero((char *)c->value.p, c->value.n);
    arena_done(&c->arena);
    free(c);
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

static const struct json_field KEY_FIELDS[] = {{"apiKey", JF_STR, 0, JF_REQUIRED, NULL, 0}, {0}};

static void start_key(struct api *api, struct http_req *r, str key)
{
    struct model_change *c = change_new(api, r, r->params[0], key);
    c->path = arena_printf(&c->arena, "%s/credentials", api->deps.config->work_dir).p;
    c->save = save_key;
    c->use = use_key;
    pool_submit(api->deps.pool, &c->job);
}

void api_provider_key_set(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct err e = {0};
    str key = STR_NONE;
    if (!api_decode_body(r, KEY_FIELDS, &key))
        return;
    key = str_trim(key);
    if (llm_may_set_key(api->deps.llm, r->params[0], &e) < 0)
        api_fail(r, FROM_MODEL, &e);
    else if (!llm_is_key(key))
        api_bad_request(r, "This is not a valid API key.");
    else
        start_key(api, r, key);
}

/* ---- the default model ---- */

static int save_member(struct model_change *c, const char *section, str key, struct json value)
{
    struct json *members = json_new(&c->arena, JSON_OBJECT);
    json_set(&c->arena, members, key, value);
    return settings_set_members(c->path, section, members, &c->err);
}

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

static const struct json_field DEFAULT_FIELDS[] = {{"model", JF_STR, 0, JF_REQUIRED, NULL, 0}, {0}};

/* The provider of a bare name is a guess; the default for everybody must not depend on a guess. */
static bool is_exact(const struct api *api, struct arena *a, str name, str provider, str full)
{
    size_t n;
    const str *known = llm_known_models(api->deps.llm, a, &n);
    if (str_in(full, known, n))
        return true;
    bool is_named = str_starts(name, provider) && name.n > provider.n && name.p[provider.n] == ':';
    return is_named && !str_eq(provider, STR("demo"));
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
    if (!api_decode_body(r, DEFAULT_FIELDS, &name))
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
        LIST_ENTRY(n, struct model_change, node)->api = NULL;
        list_del(n); /* the list is freed before changes that are still being saved */
    }
    llm_stop_look(api->deps.llm);
}
