#include "cli/mcp/plain_settings.h"

#include "bundle/settings/plain_secrets.h"
#include "bundle/settings/settings.h"
#include "os/dir.h"
#include "os/file.h"
#include "workspace/secrets/credentials.h"

#define INSTANCE_BYTES_MAX (256u * 1024)
#define WORKSPACES_MAX     10000

struct settings_files { /* settings files with bundles, and where their secrets are stored */
    struct settings_file {
        const char *path, *credentials_dir;
    } * items;
    size_t n;
};

/* With instance.json, bundles belong to the workspaces. */
static struct settings_files files_of(struct arena *a, const struct config *c)
{
    struct settings_files f = {arena_array(a, WORKSPACES_MAX + 1, sizeof *f.items), 0};
    f.items[f.n++] =
        (struct settings_file){c->path, arena_printf(a, "%s/credentials", c->work_dir).p};
    struct dir d = dir_open(arena_printf(a, "%s/workspaces", c->work_dir).p);
    while (f.n <= WORKSPACES_MAX && dir_next(&d)) {
        if (strncmp(d.name, "ws_", 3) != 0)
            continue;
        const char *root = arena_printf(a, "%s/workspaces/%s", c->work_dir, d.name).p;
        f.items[f.n++] = (struct settings_file){arena_printf(a, "%s/workspace.json", root).p,
                                                arena_printf(a, "%s/credentials", root).p};
    }
    dir_close(&d);
    return f;
}

static const struct json *plain_load(struct arena *a, const char *path)
{
    struct json *doc;
    return settings_load(a, path, &doc, NULL) == 0 ? doc : NULL;
}

/* ---- instance.json ---- */

static const char *instance_path(struct arena *a, const struct config *c)
{
    return arena_printf(a, "%s/instance.json", c->work_dir).p;
}

static struct json *load_instance(struct arena *a, const struct config *c)
{
    struct json *doc;
    str text;
    if (file_read(a, instance_path(a, c), INSTANCE_BYTES_MAX, &text, NULL) < 0 ||
        json_parse(a, text, JSON_COPY, &doc, NULL) < 0)
        return NULL;
    return json_get_string(json_get(doc, "auth"), "clientSecret").n > 0 ? doc : NULL;
}

static int seal_instance(struct arena *a, const struct config *c, size_t *ret_n, struct err *e)
{
    struct json *doc = load_instance(a, c);
    *ret_n = doc ? 1 : 0;
    if (!doc)
        return 0;
    struct json *auth = json_get(doc, "auth");
    struct json secret = json_of_str(json_get_string(auth, "clientSecret"));
    int r = credentials_set(arena_printf(a, "%s/credentials", c->work_dir).p,
                            STR(CREDENTIALS_INSTANCE), STR(CREDENTIALS_OIDC), &secret, e);
    json_unset(auth, "clientSecret");
    return r < 0 ? r : file_write_atomic(instance_path(a, c), json_to_str(a, doc), 0600, e);
}

/* ---- keys of providers ---- */

static str key_of(const struct json *provider)
{
    return json_get_string(provider, "apiKey");
}

static int seal_providers(struct arena *a, const struct config *c, size_t *ret_n, struct err *e)
{
    const struct json *providers = json_get(plain_load(a, c->path), "providers");
    struct json *changed = json_new(a, JSON_OBJECT);
    const char *dir = arena_printf(a, "%s/credentials", c->work_dir).p;
    int r = 0;
    *ret_n = 0;
    for (size_t i = 0; providers && r == 0 && i < providers->len; i++) {
        const struct json_member *m = &providers->members[i];
        struct json key = json_of_str(key_of(&m->value));
        if (key.s.n == 0)
            continue;
        r = credentials_set(dir, STR(CREDENTIALS_PROVIDERS), m->key, &key, e);
        struct json *rest = json_clone(a, &m->value);
        json_unset(rest, "apiKey");
        json_set(a, changed, m->key, *rest);
        (*ret_n)++;
    }
    return r < 0 || *ret_n == 0 ? r : settings_set_members(c->path, "providers", changed, e);
}

/* ---- bundles ---- */

static str plain_name_of(struct arena *a, const struct json *entry)
{
    struct bundle_entry b;
    return bundle_entry_decode(a, entry, "/", &b, NULL) == 0 ? b.server_name : STR_NONE;
}

static int seal_bundles(struct arena *a, const struct settings_file *f, size_t *ret_n,
                        struct err *e)
{
    const struct json *bundles = json_get(plain_load(a, f->path), "bundles");
    int r = 0;
    *ret_n = 0;
    for (size_t i = 0; json_is(bundles, JSON_ARRAY) && r == 0 && i < bundles->len; i++) {
        const struct json *entry = json_at(bundles, i), *sealed;
        str name = plain_name_of(a, entry), places[16];
        if (name.n == 0 || plain_secrets_in(a, entry, places, ARRAY_LEN(places)) == 0)
            continue;
        r = plain_secrets_seal(a, f->credentials_dir, entry, &sealed, e);
        if (r == 0)
            r = settings_replace_bundle(f->path, name, sealed, e);
        (*ret_n)++;
    }
    return r;
}

/* ---- all of it ---- */

static void add_plain_secret(struct plain_setting *all, size_t *n, struct plain_setting one)
{
    if (*n < PLAIN_SETTINGS_MAX)
        all[(*n)++] = one;
}

static void find_in_bundles(struct arena *a, const struct settings_file *f,
                            struct plain_setting *all, size_t *n)
{
    const struct json *bundles = json_get(plain_load(a, f->path), "bundles");
    for (size_t i = 0; json_is(bundles, JSON_ARRAY) && i < bundles->len; i++) {
        str places[64];
        size_t found = plain_secrets_in(a, json_at(bundles, i), places, ARRAY_LEN(places));
        for (size_t k = 0; k < found; k++)
            add_plain_secret(
                all, n,
                (struct plain_setting){f->path, plain_name_of(a, json_at(bundles, i)), places[k]});
    }
}

size_t plain_settings_find(struct arena *a, const struct config *c, struct plain_setting **ret)
{
    struct plain_setting *all = arena_array(a, PLAIN_SETTINGS_MAX, sizeof *all);
    const struct json *providers = json_get(plain_load(a, c->path), "providers");
    struct settings_files f = files_of(a, c);
    size_t n = 0;
    for (size_t i = 0; providers && i < providers->len; i++) {
        const struct json_member *m = &providers->members[i];
        if (key_of(&m->value).n > 0)
            add_plain_secret(
                all, &n,
                (struct plain_setting){c->path, STR_NONE,
                                       arena_printf(a, "providers.%.*s.apiKey", STR_ARG(m->key))});
    }
    if (load_instance(a, c))
        add_plain_secret(
            all, &n,
            (struct plain_setting){instance_path(a, c), STR_NONE, STR("auth.clientSecret")});
    for (size_t i = 0; i < f.n; i++)
        find_in_bundles(a, &f.items[i], all, &n);
    *ret = all;
    return n;
}

int plain_settings_seal(struct arena *a, const struct config *c,
                        void (*told)(const char *path, size_t n), struct err *e)
{
    struct settings_files f = files_of(a, c);
    size_t n;
    int r = seal_providers(a, c, &n, e);
    if (r == 0 && n > 0)
        told(c->path, n);
    if (r == 0)
        r = seal_instance(a, c, &n, e);
    if (r == 0 && n > 0)
        told(instance_path(a, c), n);
    for (size_t i = 0; r == 0 && i < f.n; i++) {
        r = seal_bundles(a, &f.items[i], &n, e);
        if (r == 0 && n > 0)
            told(f.items[i].path, n);
    }
    return r;
}
