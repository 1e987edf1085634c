#include "bundle/sandbox/network_reach.h"

#include <errno.h>
#include <stdlib.h>

#include "bundle/entry/package_command.h"
#include "bundle/network/network_rules.h"
#include "net/url.h"
#include "os/file.h"

#define RC_FILE_MAX    (64u * 1024)
#define REGISTRIES_MAX 8

enum runner { RUNNER_NONE, RUNNER_NPM, RUNNER_PYTHON };

struct reach {
    struct arena *arena;
    struct sandbox_want *want;
    enum runner runner;
    struct json_strs list; /* room for all */
    const char *registry;  /* npm registry that npm would not find itself; or NULL */
};

static enum runner runner_of(const char *program)
{
    str name = str_from(program);
    name = str_skip(name, (size_t)(str_rfind_char(name, '/') + 1));
    bool is_installer = str_eq(name, STR("npm")); /* npm_install.h */
    if (!is_installer && !command_fetches(name))
        return RUNNER_NONE;
    bool is_npm = is_installer || str_eq(name, STR("npx")) || str_eq(name, STR("bunx")) ||
                  str_eq(name, STR("pnpm"));
    return is_npm ? RUNNER_NPM : RUNNER_PYTHON;
}

/* ---- registries ---- */

static void add_reach(struct reach *r, str dest)
{
    if (!json_strs_has(&r->list, dest))
        r->list.items[r->list.len++] = dest;
}

static bool add_url(struct reach *r, str text)
{
    struct url u;
    struct network_dest dest;
    if (r->list.len >= r->want->declared->reach.len + REGISTRIES_MAX ||
        url_parse(text, &u, NULL) < 0)
        return false;
    str host = u.is_ip_literal ? arena_printf(r->arena, "[%.*s]", STR_ARG(u.host)) : u.host;
    str text_of = arena_printf(r->arena, "%.*s:%d", STR_ARG(host), u.port);
    if (network_dest_parse(r->arena, text_of, &dest, NULL) < 0)
        return false;
    add_reach(r, text_of);
    return true;
}

static const char *from_env(const char *const *env, str name)
{
    for (; env && *env; env++) {
        str pair = str_from(*env), key = STR_NONE;
        if (str_split(&pair, '=', &key) && str_eq_nocase(key, name))
            return *env + key.n + 1;
    }
    return NULL;
}

/* "registry=URL", "@scope:registry = URL". */
static void add_npmrc_line(struct reach *r, str line, bool is_seen)
{
    ptrdiff_t eq = str_find_char(line, '=');
    if (eq < 0)
        return;
    str key = str_trim(str_slice(line, 0, (size_t)eq)),
        value = str_trim(str_skip(line, (size_t)eq + 1));
    bool is_main = str_eq(key, STR("registry"));
    if (!is_main && !str_ends(key, STR(":registry")))
        return;
    if (add_url(r, value) && is_main && !is_seen)
        r->registry = arena_cstr(r->arena, value);
}

/* is_seen: the file is visible inside the sandbox. */
static void add_npmrc(struct reach *r, const char *path, bool is_seen)
{
    char *text = arena_alloc(r->arena, RC_FILE_MAX);
    str rest = file_head(path, text, RC_FILE_MAX), line;
    while (str_split(&rest, '\n', &line))
        add_npmrc_line(r, str_trim(line), is_seen);
}

/* A registry URL with a user name and a password is not passed on: it belongs to the person. */
static void add_npm(struct reach *r)
{
    const char *own = from_env(r->want->env, STR("npm_config_registry"));
    const char *outside = getenv("npm_config_registry");
    if (!outside)
        outside = getenv("NPM_CONFIG_REGISTRY");
    add_npmrc(r, "/etc/npmrc", true);
    add_npmrc(r, "/usr/etc/npmrc", true);
    add_npmrc(r, "/usr/local/etc/npmrc", true);
    add_npmrc(r, arena_printf(r->arena, "%s/.npmrc", r->want->home_dir).p, false);
    if (outside && add_url(r, str_from(outside)))
        r->registry = outside;
    if (own && add_url(r, str_from(own)))
        r->registry = NULL;
    add_reach(r, STR("registry.npmjs.org:443"));
}

static void add_python(struct reach *r)
{
    static const char *const NAMES[] = {"UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        const char *own = from_env(r->want->env, str_from(NAMES[i]));
        if (own)
            (void)add_url(r, str_from(own));
    }
    add_reach(r, STR("pypi.org:443"));
    add_reach(r, STR("files.pythonhosted.org:443"));
}

static void set_registry(struct reach *r)
{
    size_t n = 0;
    struct url u;
    if (!r->registry || url_parse(str_from(r->registry), &u, NULL) < 0 || u.has_userinfo)
        return;
    while (r->want->env && r->want->env[n])
        n++;
    const char **env = arena_copy(r->arena, r->want->env, n, n + 2, sizeof(*env));
    env[n] = arena_printf(r->arena, "npm_config_registry=%s", r->registry).p;
    r->want->env = env;
}

/* ---- all of it ---- */

int network_prepare(struct arena *a, struct sandbox_want *w, struct err *e)
{
    const struct bundle_sandbox *d = w->declared;
    struct reach r = {.arena = a, .want = w};
    w->reach = (struct json_strs){0};
    if (!d->network)
        return 0;
    if (!w->offer->has_network)
        return err_set(
            e, -ENOSYS,
            "it needs the network, and this machine cannot create a network namespace: %s. "
            "Allow user namespaces, or run it unprotected with \"sandbox\": \"off\" in "
            "its entry",
            w->offer->why_no_network);
    r.runner = w->package_dir ? RUNNER_NONE : runner_of(w->argv[0]);
    r.list.items = arena_array(a, d->reach.len + REGISTRIES_MAX + 4, sizeof(str));
    for (size_t i = 0; i < d->reach.len; i++)
        add_reach(&r, d->reach.items[i]);
    if (d->reach.len == 0)
        add_reach(&r, STR(NETWORK_PUBLIC));
    if (r.runner == RUNNER_NPM)
        add_npm(&r);
    if (r.runner == RUNNER_PYTHON)
        add_python(&r);
    set_registry(&r);
    w->reach = r.list;
    return 0;
}

static void add_dests(struct buf *out, const struct json_strs *reach)
{
    for (size_t i = 0; i < reach->len; i++) {
        str dest = reach->items[i];
        buf_add_lit(out, i > 0 ? ", " : "");
        buf_add_str(out, str_eq(dest, STR(NETWORK_PUBLIC)) ? STR("public addresses") : dest);
    }
}

void network_describe(struct buf *out, const struct json_strs *reach)
{
    buf_add_lit(out, reach->len > 0 ? "network of its own: " : "no network");
    add_dests(out, reach);
}

#define WORDS_MAX (NETWORK_DESTS_MAX * (NETWORK_DEST_MAX + 2) + 64)

str network_words(struct arena *a, const struct bundle_sandbox *s)
{
    struct buf out;
    if (!s->network)
        return STR("no");
    if (s->reach.len == 0)
        return STR("yes: public addresses only");
    buf_init(&out, WORDS_MAX);
    buf_add_lit(&out, "yes: only ");
    add_dests(&out, &s->reach);
    return buf_keep(&out, a);
}
