#include "config/config.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/utf8.h"
#include "config/dotenv.h"
#include "config/relaxed.h"
#include "config/setting.h"
#include "os/file.h"

#define VERSION_SHOWN 40 /* bytes of a version that is not known */

/* ---- where things are ---- */

struct loader {
    struct config *c;
    const struct config_flags *flags;
    config_getenv env;
    void *env_ctx;
    struct dotenv dotenv;    /* of the work directory, once that is known */
    const struct json *root; /* of the settings file; NULL = none */
    struct buf warnings;     /* NUL-separated */
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

/* ---- the settings file ---- */

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

static int parse_document(struct loader *l, str text, struct json **ret, struct err *e)
{
    struct config *c = l->c;
    struct json *root;
    int r = json_parse(&c->arena, relaxed_json(&c->arena, text, NULL), JSON_COPY | JSON_UNIQUE,
                       &root, e);
    if (r < 0) {
        err_prefix(e, "%s", c->path);
        return r;
    }
    if (root->type != JSON_OBJECT)
        return err_set(e, -EINVAL, "%s: expected an object", c->path);
    *ret = root;
    return check_version(c, root, e);
}

static int read_document(struct loader *l, struct err *e)
{
    struct config *c = l->c;
    struct json *root = NULL;
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
    r = parse_document(l, text, &root, e);
    if (r < 0)
        return r;
    l->root = root;
    for (size_t i = 0; r == 0 && i < SETTINGS_LEN; i++)
        r = SETTINGS[i].key ? setting_decode(&SETTINGS[i], c, root, e) : 0;
    if (r < 0)
        err_prefix(e, "%s", c->path);
    else
        settings_unknown(&c->arena, root, warn_unknown, l);
    return r;
}

/* ---- the environment ---- */

/* The older form "model": {"provider", "apiKey"} of providers.NAME.apiKey. */
static void take_older_key(struct loader *l, const struct setting *s)
{
    const struct json *model = json_get(l->root, "model");
    str key = json_get_string(model, "apiKey"), provider = json_get_string(model, "provider");
    if (key.n == 0 || setting_str(s, l->c).n > 0)
        return;
    if (provider.n == 0)
        provider = STR("anthropic");
    str row = arena_printf(&l->c->arena, "providers.%.*s.apiKey", STR_ARG(provider));
    if (str_eq(row, str_from(s->key)))
        (void)setting_set(s, l->c, arena_cstr(&l->c->arena, key));
}

/* The value of the first of its variables that is set, or NULL. */
static const char *variable_of(const struct loader *l, const struct setting *s, const char **ret)
{
    str rest = str_from(s->variables), one;
    while (str_split(&rest, ' ', &one)) {
        *ret = arena_cstr(&l->c->arena, one);
        const char *value = getenv_nonempty(l, *ret);
        if (value)
            return value;
    }
    return NULL;
}

static int apply_variable(struct loader *l, const struct setting *s, struct err *e)
{
    const char *name, *value = variable_of(l, s, &name);
    /* A key in the file overrides the environment: the only exception to the order of precedence,
     * so that a project can have its own key. */
    if (s->flags & SETTING_FILE_FIRST) {
        take_older_key(l, s);
        if (setting_str(s, l->c).n > 0)
            return 0;
    }
    if (!value || setting_set(s, l->c, value) == 0)
        return 0;
    return err_set(e, -EINVAL, "%s: '%s' is not a whole number from %lld to %lld", name, value,
                   (long long)s->min, (long long)s->max);
}

static int apply_environment(struct loader *l, struct err *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < SETTINGS_LEN; i++)
        r = SETTINGS[i].variables ? apply_variable(l, &SETTINGS[i], e) : 0;
    if (getenv_nonempty(l, "NB_DEBUG"))
        l->c->logging.level = "debug";
    return r;
}

/* ---- all of it ---- */

static void apply_defaults(struct config *c)
{
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        int r = SETTINGS[i].initial ? setting_set(&SETTINGS[i], c, SETTINGS[i].initial) : 0;
        assert(r == 0);
    }
}

static void apply_flags(struct config *c, const struct config_flags *f)
{
    if (f->model)
        c->models.default_model = c->models.named = arena_str(&c->arena, str_from(f->model));
    if (f->host)
        c->http.host = arena_cstr(&c->arena, str_from(f->host));
    if (f->port >= 0)
        c->http.port = f->port;
    if (f->store_type) {
        c->store.type = arena_cstr(&c->arena, str_from(f->store_type));
        c->store.dir = NULL;
    }
    if (f->is_debug)
        c->logging.level = "debug";
}

static void resolve_paths(struct config *c)
{
    const char *slash = strrchr(c->path, '/');
    const char *dir = arena_cstr(&c->arena, str_make(c->path, (size_t)(slash - c->path)));
    if (c->store.dir)
        c->store.dir = absolute(c, dir, c->store.dir);
    if (c->logging.dir)
        c->logging.dir = absolute(c, dir, c->logging.dir);
    for (size_t i = 0; i < c->skill_dirs.len; i++) {
        const char *given = arena_cstr(&c->arena, c->skill_dirs.items[i]);
        c->skill_dirs.items[i] = str_from(absolute(c, dir, given));
    }
}

/* Settings of parts that do not exist yet: a warning is better than silence. */
static void warn_without_effect(struct loader *l)
{
    for (size_t i = 0; i < SETTINGS_LEN; i++)
        if (SETTINGS[i].flags & SETTING_NO_EFFECT && setting_str(&SETTINGS[i], l->c).n > 0)
            warn(l, arena_printf(&l->c->arena, "%s: '%s' has no effect in this version", l->c->path,
                                 SETTINGS[i].key));
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

static bool is_work_dir_given(const struct loader *l)
{
    return l->flags->work_dir || getenv_nonempty(l, "NB_WORK_DIR");
}

/* The file in the work directory, else one of the XDG directories when it exists. */
static const char *settings_path(struct loader *l)
{
    const char *own = arena_printf(&l->c->arena, "%s/nimblebrain.json", l->c->work_dir).p;
    if (is_work_dir_given(l) || file_exists(own))
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

    const char *first = c->work_dir;
    apply_defaults(c);
    r = read_document(l, e);
    c->work_dir = is_work_dir_given(l) ? first : absolute(c, cwd, c->work_dir);
    if (r == 0)
        r = apply_environment(l, e);
    if (r < 0)
        return r;
    apply_flags(c, l->flags);
    resolve_paths(c);
    warn_without_effect(l);
    take_warnings(l);
    for (size_t i = 0; r == 0 && i < SETTINGS_LEN; i++)
        r = setting_check(&SETTINGS[i], c, e);
    return r;
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
