/* PUT /v1/providers/:name/key - the key of a model provider: taken, kept, never shown. */
#include <errno.h>
#include <string.h>

#include "api/internal.h"
#include "api/people.h"
#include "bundle/credentials.h"

struct key_change {
    struct list_node node; /* in api->keys */
    struct api *api;       /* NULL once it has stopped */
    struct http_req *req;  /* NULL once the client has gone */
    struct arena arena;
    const char *dir;
    str provider, key;
    struct err err;
    struct job job;
};

static void save(struct job *j) /* pool thread */
{
    struct key_change *c = CONTAINER_OF(j, struct key_change, job);
    struct json value = json_of_str(c->key);
    (void)credentials_set(c->dir, STR(CREDENTIALS_PROVIDERS), c->provider, &value, &c->err);
}

static void reply(struct http_req *r, const struct llm *llm, str provider)
{
    struct api_json j;
    str why;
    api_json_begin(&j);
    jw_object(&j.w);
    jw_kstr(&j.w, "provider", provider);
    jw_kstr(&j.w, "defaultModel", llm_default_model(llm, &why));
    jw_kstr(&j.w, "why", why);
    jw_end(&j.w);
    api_json_send(&j, r);
}

static void on_saved(struct job *j)
{
    struct key_change *c = CONTAINER_OF(j, struct key_change, job);
    struct llm *llm = c->api ? c->api->deps.llm : NULL;
    list_del(&c->node);
    if (llm && c->err.code == 0)
        llm_set_key(llm, c->provider, c->key);
    if (c->req && c->err.code)
        http_reply_error(c->req, 500, "not_saved", c->err.msg, NULL);
    else if (c->req)
        reply(c->req, llm, c->provider);
    explicit_bzero((char *)c->key.p, c->key.n);
    arena_done(&c->arena);
    free(c);
}

static void on_gone(struct http_req *r)
{
    ((struct key_change *)r->user)->req = NULL;
}

void api_provider_keys_drop(struct api *api)
{
    LIST_FOREACH (n, &api->keys)
        LIST_ENTRY(n, struct key_change, node)->api = NULL;
}

static void start(struct api *api, struct http_req *r, str key)
{
    struct key_change *c = xcalloc(1, sizeof *c);
    arena_init(&c->arena);
    c->api = api;
    c->req = r;
    c->dir = arena_printf(&c->arena, "%s/credentials", api->deps.config->work_dir).p;
    c->provider = arena_str(&c->arena, r->params[0]);
    c->key = arena_str(&c->arena, key);
    c->job = (struct job){.work = save, .done = on_saved};
    list_push(&api->keys, &c->node);
    r->user = c;
    r->on_gone = on_gone;
    pool_submit(api->deps.pool, &c->job);
}

static const struct json_field KEY_FIELDS[] = {{"apiKey", JF_STR, 0, JF_REQUIRED, NULL, 0}, {0}};

void api_provider_key_set(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct err e = {0};
    str key = STR_NONE;
    if (!api_is_org_admin(api_identity(r))) {
        http_reply_error(r, 403, "forbidden", "Only admins may set keys of providers.", NULL);
        return;
    }
    if (!api_decode_body(r, KEY_FIELDS, &key))
        return;
    key = str_trim(key);
    int may = llm_may_set_key(api->deps.llm, r->params[0], &e);
    if (may == -ENOENT)
        http_reply_error(r, 404, "not_found", e.msg, NULL);
    else if (may < 0)
        http_reply_error(r, 409, "conflict", e.msg, NULL);
    else if (!llm_is_key(key))
        http_reply_error(r, 400, "bad_request", "This does not look like a key.", NULL);
    else
        start(api, r, key);
}
