#include <errno.h>
#include <stdlib.h>

#include "bundle/entry/package_command.h"
#include "cli/bundle/bundle.h"
#include "loop/timer.h"
#include "net/child.h"

enum {
    LOOKUP_MS = 60000,
    KILL_MS = 2000,
    OUTPUT_LINE_MAX = 4096,
    SAID_MAX = 400, /* bytes of uv's output that are repeated in an error */
    VERSION_MAX = 64,
};

struct lookup {
    struct cmd *x;
    str name, version; /* version: empty until known */
    struct buf said;   /* on stderr */
    struct child *child;
    struct timer timer;
    bool is_done, is_late;
    int code;
};

/* ---- output of uv ---- */

/* As in package indexes: case is ignored, and '-', '_' and '.' are equal. */
static bool is_same_name(str a, str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        char c[2] = {a.p[i], b.p[i]};
        for (size_t k = 0; k < 2; k++) {
            if (c[k] >= 'A' && c[k] <= 'Z')
                c[k] = (char)(c[k] + ('a' - 'A'));
            else if (c[k] == '_' || c[k] == '.')
                c[k] = '-';
        }
        if (c[0] != c[1])
            return false;
    }
    return true;
}

static bool is_version(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_word && !strchr(".+!-_", c))
            return false;
    }
    return s.n > 0 && s.n <= VERSION_MAX && s.p[0] >= '0' && s.p[0] <= '9';
}

/* "name==1.2.3", optionally followed by a marker or a comment. */
static void on_bundle_uvx_line(void *ctx, str line)
{
    struct lookup *l = ctx;
    ptrdiff_t eq = str_find(line, STR("=="), 0);
    if (eq <= 0 || !is_same_name(str_trim(str_slice(line, 0, (size_t)eq)), l->name))
        return;
    str version = str_skip(line, (size_t)eq + 2), rest = version;
    (void)str_split(&rest, ' ', &version);
    if (is_version(version))
        l->version = arena_str(&l->x->arena, version);
}

static void on_stderr(void *ctx, str bytes)
{
    struct lookup *l = ctx;
    size_t room = SAID_MAX - l->said.n;
    buf_add_str(&l->said, str_slice(bytes, 0, bytes.n < room ? bytes.n : room));
}

static void on_overflow(void *ctx) {}

static void on_exit_code(void *ctx, int code)
{
    struct lookup *l = ctx;
    l->code = code;
    l->is_done = true;
}

static void on_late(void *ctx)
{
    struct lookup *l = ctx;
    l->is_late = true;
    child_stop(l->child, 0, KILL_MS);
}

/* ---- running uv ---- */

/* uv is in the same directory as uvx. */
static const char *uv_of(struct arena *a, str command)
{
    ptrdiff_t slash = str_rfind_char(command, '/');
    return slash < 0 ? "uv"
                     : arena_printf(a, "%.*s/uv", STR_ARG(str_slice(command, 0, (size_t)slash))).p;
}

static int bundle_uvx_start(struct lookup *l, const char *uv, str requirement, struct err *e)
{
    static const char *const NAMES[] = {"PATH",
                                        "HOME",
                                        "LANG",
                                        "XDG_CACHE_HOME",
                                        "XDG_CONFIG_HOME",
                                        "XDG_DATA_HOME",
                                        "SSL_CERT_FILE",
                                        "SSL_CERT_DIR",
                                        "HTTP_PROXY",
                                        "HTTPS_PROXY",
                                        "ALL_PROXY",
                                        "NO_PROXY",
                                        "http_proxy",
                                        "https_proxy",
                                        "all_proxy",
                                        "no_proxy",
                                        "UV_CACHE_DIR",
                                        "UV_INDEX",
                                        "UV_INDEX_URL",
                                        "UV_DEFAULT_INDEX",
                                        "UV_EXTRA_INDEX_URL",
                                        "UV_PYTHON",
                                        "UV_NATIVE_TLS",
                                        "UV_OFFLINE",
                                        NULL};
    static const char *const NONE[] = {NULL};
    static const struct child_events EVENTS = {on_bundle_uvx_line, on_stderr, on_overflow,
                                               on_exit_code};
    /* --no-build: metadata only, no code of the package runs. */
    const char *argv[] = {uv,           "pip",         "compile",       "--no-deps",
                          "--no-build", "--no-header", "--no-annotate", "--quiet",
                          "-",          NULL};
    char **env = child_env(NAMES, NONE);
    struct child_spec spec = {
        .argv = argv, .env = (const char *const *)env, .line_max = OUTPUT_LINE_MAX};
    int r = child_spawn(l->x->loop, &spec, &EVENTS, l, &l->child, e);
    free(env);
    if (r < 0)
        return r;
    (void)child_write(l->child, requirement);
    child_close_stdin(l->child);
    timer_init(&l->timer, l->x->loop, on_late, l);
    timer_start(&l->timer, LOOKUP_MS);
    return 0;
}

static int bundle_uvx_explain(struct lookup *l, struct err *e)
{
    str said = str_trim(buf_str(&l->said));
    const char *why = l->is_late ? "uv took too long" : "uv did not print one";
    return err_set(e, -ENOENT,
                   "cannot look up the version of %.*s: %.*s; pass it (uvx %.*s@VERSION) to add "
                   "the bundle without a lookup",
                   STR_ARG(l->name), STR_ARG(said.n && !l->is_late ? said : str_from(why)),
                   STR_ARG(l->name));
}

/* An empty version: uv is not installed. */
static int look_up(struct cmd *x, const char *uv, str name, str *ret, struct err *e)
{
    struct lookup l = {.x = x, .name = name};
    struct err absent = {0};
    int r = 0;
    buf_init(&l.said, SAID_MAX + 1);
    if (bundle_uvx_start(&l, uv, arena_printf(&x->arena, "%.*s\n", STR_ARG(name)), &absent) == 0) {
        cmd_wait(x, &l.is_done);
        timer_stop(&l.timer);
        r = l.code == 0 && l.version.n > 0 ? 0 : bundle_uvx_explain(&l, e);
    }
    buf_done(&l.said);
    *ret = l.version;
    return r;
}

/* ---- the entry ---- */

/* uvx accepts NAME@VERSION as a program, and NAME==VERSION after --from. */
static struct json pinned_args(struct arena *a, const struct bundle_entry *b,
                               const struct package_command *c, str version)
{
    struct json *list = json_new(a, JSON_ARRAY);
    const char *between = c->program.n > 0 ? "==" : "@";
    str pinned = arena_printf(a, "%.*s%s%.*s", STR_ARG(c->name), between, STR_ARG(version));
    str option = arena_concat(a, STR("--from="), c->spec);
    for (size_t i = 0; i < b->args.len; i++) {
        str arg = b->args.items[i];
        if (i < c->first_arg && str_eq(arg, c->spec))
            arg = pinned;
        else if (i < c->first_arg && str_eq(arg, option))
            arg = arena_concat(a, STR("--from="), pinned);
        json_push(a, list, json_of_str(arg));
    }
    return *list;
}

int bundle_cli_uvx_pin(struct cmd *x, const struct bundle_entry *b, struct json *entry, bool *ret,
                       struct err *e)
{
    struct package_command c;
    str version;
    *ret = false;
    if (b->kind != BUNDLE_COMMAND || !package_command_parse(b->command, &b->args, &c) ||
        c.source != PACKAGE_PYPI || is_version(c.wanted))
        return 0;
    if (c.wanted.n > 0 && !str_eq(c.wanted, STR("latest")))
        return 0; /* uvx itself prints what is wrong */
    int r = look_up(x, uv_of(&x->arena, b->command), c.name, &version, e);
    if (r < 0 || version.n == 0)
        return r;
    json_set(&x->arena, entry, STR("args"), pinned_args(&x->arena, b, &c, version));
    *ret = true;
    return 0;
}
