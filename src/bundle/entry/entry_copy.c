#include "bundle/entry/entry.h"

static struct bundle_pair *copy_pairs(struct arena *a, const struct bundle_pair *p, size_t n)
{
    struct bundle_pair *ret = arena_array(a, n, sizeof(*ret));
    for (size_t i = 0; i < n; i++)
        ret[i] = (struct bundle_pair){arena_str(a, p[i].key), arena_str(a, p[i].value)};
    return ret;
}

struct bundle_entry bundle_entry_copy(struct arena *a, const struct bundle_entry *e)
{
    struct bundle_entry c = *e;
    str *texts[] = {&c.server_name,
                    &c.name,
                    &c.version,
                    &c.path,
                    &c.url,
                    &c.command,
                    &c.cwd,
                    &c.pinned.name,
                    &c.pinned.version,
                    &c.pinned.integrity,
                    &c.oauth.client_id,
                    &c.oauth.client_secret,
                    &c.oauth.scope};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_str(a, *texts[i]);
    c.headers = copy_pairs(a, e->headers, e->nheaders);
    c.env = copy_pairs(a, e->env, e->nenv);
    c.args = json_strs_copy(a, e->args);
    c.allowed_env = json_strs_copy(a, e->allowed_env);
    c.sandbox.read = json_strs_copy(a, e->sandbox.read);
    c.sandbox.write = json_strs_copy(a, e->sandbox.write);
    c.sandbox.reach = json_strs_copy(a, e->sandbox.reach);
    c.ui = e->ui ? json_clone(a, e->ui) : NULL;
    c.user_config = e->user_config ? json_clone(a, e->user_config) : NULL;
    c.raw = e->raw ? json_clone(a, e->raw) : NULL;
    return c;
}

static bool strs_equal(const struct json_strs *x, const struct json_strs *y)
{
    bool same = x->len == y->len;
    for (size_t i = 0; same && i < x->len; i++)
        same = str_eq(x->items[i], y->items[i]);
    return same;
}

static bool pairs_equal(const struct bundle_pair *x, size_t nx, const struct bundle_pair *y,
                        size_t ny)
{
    bool same = nx == ny;
    for (size_t i = 0; same && i < nx; i++)
        same = str_eq(x[i].key, y[i].key) && str_eq(x[i].value, y[i].value);
    return same;
}

static bool sandbox_equal(const struct bundle_sandbox *x, const struct bundle_sandbox *y)
{
    return x->is_off == y->is_off && x->network == y->network && strs_equal(&x->read, &y->read) &&
           strs_equal(&x->write, &y->write) && strs_equal(&x->reach, &y->reach);
}

static bool remote_equal(const struct bundle_entry *x, const struct bundle_entry *y)
{
    return str_eq(x->url, y->url) && x->is_sse == y->is_sse &&
           x->allow_private == y->allow_private &&
           x->reconnect_initial_ms == y->reconnect_initial_ms &&
           x->reconnect_max_ms == y->reconnect_max_ms && x->reconnect_tries == y->reconnect_tries &&
           pairs_equal(x->headers, x->nheaders, y->headers, y->nheaders) &&
           x->oauth.is_on == y->oauth.is_on && x->oauth.is_per_person == y->oauth.is_per_person &&
           str_eq(x->oauth.client_id, y->oauth.client_id) &&
           str_eq(x->oauth.client_secret, y->oauth.client_secret) &&
           str_eq(x->oauth.scope, y->oauth.scope);
}

bool bundle_entry_runs_alike(const struct bundle_entry *x, const struct bundle_entry *y)
{
    return x->kind == y->kind && str_eq(x->server_name, y->server_name) &&
           (x->user_config == y->user_config || json_equal(x->user_config, y->user_config)) &&
           str_eq(x->name, y->name) && str_eq(x->version, y->version) && str_eq(x->path, y->path) &&
           str_eq(x->command, y->command) && str_eq(x->cwd, y->cwd) &&
           str_eq(x->pinned.version, y->pinned.version) &&
           str_eq(x->pinned.integrity, y->pinned.integrity) && strs_equal(&x->args, &y->args) &&
           strs_equal(&x->allowed_env, &y->allowed_env) &&
           pairs_equal(x->env, x->nenv, y->env, y->nenv) &&
           sandbox_equal(&x->sandbox, &y->sandbox) && x->memory_mb == y->memory_mb &&
           x->disk_mb == y->disk_mb && x->is_disabled == y->is_disabled &&
           x->is_trusted == y->is_trusted && remote_equal(x, y);
}
