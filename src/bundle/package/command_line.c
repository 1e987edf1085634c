#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "bundle/confine/loader_env.h"
#include "bundle/confine/path_list.h"
#include "bundle/package/package_prepare.h"

#define ARGV_MAX 1024 /* lists of values expand */

struct command_builder {
    struct arena *arena;
    const struct manifest *m;
    const struct variables *vars;
    const char **argv;
    size_t nargv;
    const char **env;
    size_t nenv;
    struct err *e;
};

static int add_arg(struct command_builder *b, str s)
{
    if (b->nargv == ARGV_MAX)
        return err_set(b->e, -EINVAL, "server.mcp_config.args: more than %d arguments", ARGV_MAX);
    b->argv[b->nargv++] = arena_cstr(b->arena, s);
    return 0;
}

static int check_argument_text(struct command_builder *b, const char *where, str text,
                               bool may_hold_secret)
{
    str unknown = substitute_unknown(text, b->vars);
    const struct user_value *secret = substitute_secret(text, b->vars);
    if (unknown.n > 0)
        return err_set(b->e, -EINVAL, "%s: user_config has no '%.*s'", where, STR_ARG(unknown));
    if (secret && !may_hold_secret)
        return err_set(b->e, -EINVAL,
                       "%s: puts the secret '%.*s' on the command line, which other users of this "
                       "machine can read; it belongs in server.mcp_config.env",
                       where, STR_ARG(secret->option->key));
    return 0;
}

/* ---- argv ---- */

static bool is_in_path(const char *name)
{
    str rest = str_from(getenv("PATH")), dir;
    char path[PATH_MAX];
    while (str_split(&rest, ':', &dir)) {
        snprintf(path, sizeof path, "%.*s/%s", STR_ARG(dir), name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* Many systems have python3 only. */
static str usual_program(str command)
{
    bool is_python = str_eq(command, STR("python"));
    return is_python && !is_in_path("python") ? STR("python3") : command;
}

/* A name with a slash is a file of the bundle, unless it is absolute. */
static str program_path(struct command_builder *b, str command)
{
    if (str_find_char(command, '/') < 0)
        return usual_program(command);
    if (command.p[0] == '/')
        return command;
    return arena_printf(b->arena, "%s/%.*s", b->vars->dir, STR_ARG(command));
}

static str entry_path(struct command_builder *b)
{
    return arena_printf(b->arena, "%s/%.*s", b->vars->dir, STR_ARG(b->m->entry_point));
}

/* uv would update the lock file first and write it, but packages are read-only. */
static int add_uv(struct command_builder *b)
{
    const char *lock = arena_printf(b->arena, "%s/uv.lock", b->vars->dir).p;
    bool is_locked = access(lock, F_OK) == 0;
    const char *const args[] = {"uv", "run", "--directory", b->vars->dir, "--frozen"};
    size_t n = ARRAY_LEN(args) - (is_locked ? 0 : 1);
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = add_arg(b, str_from(args[i]));
    return r;
}

static int add_usual_command(struct command_builder *b)
{
    int r = 0;
    switch (b->m->type) {
    case SERVER_NODE:
        r = add_arg(b, STR("node"));
        break;
    case SERVER_PYTHON:
        r = add_arg(b, usual_program(STR("python")));
        break;
    case SERVER_UV:
        r = add_uv(b);
        break;
    case SERVER_BINARY:
        break;
    }
    return r < 0 ? r : add_arg(b, entry_path(b));
}

/* "${user_config.KEY}" alone becomes one argument per value; none if it is not set. */
static int add_given_arg(struct command_builder *b, str text)
{
    const struct user_value *whole = substitute_whole(text, b->vars);
    int r = check_argument_text(b, "server.mcp_config.args", text, false);
    if (r < 0 || !whole)
        return r < 0 ? r : add_arg(b, substitute_text(b->arena, text, b->vars));
    for (size_t i = 0; r == 0 && i < whole->values.len; i++)
        r = add_arg(b, whole->values.items[i]);
    return r;
}

static int build_argv(struct command_builder *b)
{
    const struct manifest *m = b->m;
    b->argv = arena_array(b->arena, ARGV_MAX + 1, sizeof *b->argv);
    if (m->command.n == 0)
        return add_usual_command(b);
    int r = check_argument_text(b, "server.mcp_config.command", m->command, false);
    str command = substitute_text(b->arena, m->command, b->vars);
    if (r == 0)
        r = add_arg(b, program_path(b, command));
    for (size_t i = 0; r == 0 && i < m->args.len; i++)
        r = add_given_arg(b, m->args.items[i]);
    return r;
}

/* ---- environment ---- */

static void add_env(struct command_builder *b, str key, str value)
{
    b->env[b->nenv++] = arena_printf(b->arena, "%.*s=%.*s", STR_ARG(key), STR_ARG(value)).p;
}

/* The usual directories for bundled modules. */
static str python_path(struct command_builder *b, str given)
{
    return arena_printf(b->arena, "%s/deps:%s/src%s%.*s", b->vars->dir, b->vars->dir,
                        given.n > 0 ? ":" : "", STR_ARG(given));
}

static bool is_of_package(struct command_builder *b, str dir)
{
    str clean = path_clean(b->arena, dir, str_from(b->vars->dir), STR("/nonexistent"));
    return path_is_at_or_below(clean, str_from(b->vars->dir)) ||
           (b->vars->data_dir && path_is_at_or_below(clean, str_from(b->vars->data_dir)));
}

/* Modules of a package must be in the package. */
static int check_module_path(struct command_builder *b, str key, str value)
{
    str rest = value, dir;
    if (!env_is_module_path(key))
        return 0;
    while (str_split(&rest, ':', &dir)) {
        if (dir.n > 0 && !is_of_package(b, dir))
            return err_set(b->e, -EINVAL,
                           "server.mcp_config.env.%.*s: '%.*s' is not a directory of the package",
                           STR_ARG(key), STR_ARG(dir));
    }
    return 0;
}

static int build_env(struct command_builder *b)
{
    const struct manifest *m = b->m;
    bool is_python = m->type == SERVER_PYTHON, has_path = false;
    b->env = arena_array(b->arena, m->nenv + 3, sizeof *b->env);
    for (size_t i = 0; i < m->nenv; i++) {
        str key = m->env[i].key, text = m->env[i].value;
        const struct user_value *whole = substitute_whole(text, b->vars);
        int r = check_argument_text(b, "server.mcp_config.env", text, true);
        if (r < 0)
            return r;
        if (whole && whole->values.len == 0)
            continue;
        str value = substitute_text(b->arena, text, b->vars);
        r = check_module_path(b, key, value);
        if (r < 0)
            return r;
        bool is_path = is_python && str_eq(key, STR("PYTHONPATH"));
        has_path |= is_path;
        add_env(b, key, is_path ? python_path(b, value) : value);
    }
    if (is_python && !has_path)
        add_env(b, STR("PYTHONPATH"), python_path(b, STR_NONE));
    if (m->type == SERVER_UV && b->vars->data_dir)
        add_env(b, STR("UV_PROJECT_ENVIRONMENT"),
                arena_printf(b->arena, "%s/.venv", b->vars->data_dir));
    return 0;
}

/* ---- paths that a person chose ---- */

static struct json_strs chosen_paths(struct arena *a, const struct variables *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->nvalues; i++)
        n += v->values[i].values.len;
    struct json_strs all = {arena_array(a, n, sizeof(str)), 0};
    for (size_t i = 0; i < v->nvalues; i++) {
        for (size_t k = 0; k < v->values[i].values.len; k++)
            if (v->values[i].is_chosen && option_is_path(v->values[i].option))
                all.items[all.len++] = v->values[i].values.items[k];
    }
    return all;
}

int command_line_build(struct arena *a, const struct manifest *m, const struct variables *vars,
                       struct resolved *ret, struct err *e)
{
    struct command_builder b = {.arena = a, .m = m, .vars = vars, .e = e};
    int r = build_argv(&b);
    if (r == 0)
        r = build_env(&b);
    if (r < 0)
        return r;
    ret->argv = b.argv;
    ret->env = b.env;
    ret->cwd = arena_cstr(a, str_from(vars->dir));
    ret->chosen_paths = chosen_paths(a, vars);
    return 0;
}
