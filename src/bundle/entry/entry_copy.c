#include "bundle/entry/entry.h"

#define AT(member) offsetof(struct bundle_entry, member)

static const size_t TEXTS[] = {AT(server_name),
                               AT(name),
                               AT(version),
                               AT(path),
                               AT(url),
                               AT(command),
                               AT(cwd),
                               AT(pinned.name),
                               AT(pinned.version),
                               AT(pinned.integrity),
                               AT(oauth.client_id),
                               AT(oauth.client_secret),
                               AT(oauth.scope)};

static const size_t LISTS[] = {AT(args), AT(allowed_env), AT(sandbox.read), AT(sandbox.write),
                               AT(sandbox.reach)};

static void *member(const struct bundle_entry *e, size_t offset)
{
    return (char *)e + offset;
}

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
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
        str *text = member(&c, TEXTS[i]);
        *text = arena_str(a, *text);
    }
    for (size_t i = 0; i < ARRAY_LEN(LISTS); i++) {
        struct json_strs *list = member(&c, LISTS[i]);
        *list = json_strs_copy(a, *list);
    }
    c.headers = copy_pairs(a, e->headers, e->nheaders);
    c.env = copy_pairs(a, e->env, e->nenv);
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

bool bundle_entry_runs_alike(const struct bundle_entry *x, const struct bundle_entry *y)
{
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++)
        if (!str_eq(*(str *)member(x, TEXTS[i]), *(str *)member(y, TEXTS[i])))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(LISTS); i++)
        if (!strs_equal(member(x, LISTS[i]), member(y, LISTS[i])))
            return false;
    return x->kind == y->kind && pairs_equal(x->headers, x->nheaders, y->headers, y->nheaders) &&
           pairs_equal(x->env, x->nenv, y->env, y->nenv) &&
           (x->user_config == y->user_config || json_equal(x->user_config, y->user_config)) &&
           x->sandbox.is_off == y->sandbox.is_off && x->sandbox.network == y->sandbox.network &&
           x->memory_mb == y->memory_mb && x->disk_mb == y->disk_mb &&
           x->is_disabled == y->is_disabled && x->is_trusted == y->is_trusted &&
           x->is_sse == y->is_sse && x->allow_private == y->allow_private &&
           x->reconnect_initial_ms == y->reconnect_initial_ms &&
           x->reconnect_max_ms == y->reconnect_max_ms && x->reconnect_tries == y->reconnect_tries &&
           x->oauth.is_on == y->oauth.is_on && x->oauth.is_per_person == y->oauth.is_per_person;
}
