/* nb bundle update - installs a newer version of a package, after showing what changes. */
#include <errno.h>
#include <stdlib.h>

#include "bundle/package/archive.h"
#include "bundle/package/package.h"
#include "bundle/settings/settings.h"
#include "cli/bundle/bundle.h"
#include "cli/cli.h"
#include "os/file.h"
#include "store/event/io.h"

#define REMOVE_DEPTH ((int)ARCHIVE_DEPTH_MAX + 6)

struct update {
    struct cmd *x;
    const struct bundle_entry *before;
    struct json *raw;        /* the new entry */
    struct bundle_entry now; /* the same, decoded */
    struct npm_package npm;  /* when npx runs the package */
    struct inspection old, new;
};

/* ---- what changes ---- */

static void print_only(const char *label, char sign, const struct json_strs *a,
                       const struct json_strs *b)
{
    for (size_t i = 0; i < a->len; i++)
        if (!json_strs_has(b, a->items[i]))
            fprintf(stderr, "%-12s %c %.*s\n", label, sign, STR_ARG(a->items[i]));
}

static void print_difference(const char *label, const struct json_strs *old,
                             const struct json_strs *new)
{
    print_only(label, '-', old, new);
    print_only(label, '+', new, old);
}

static struct json_strs arguments(struct arena *a, const struct inspection *in, const char *files)
{
    const char *const *argv = in->plan.program;
    struct json_strs ret = {0};
    size_t n = 0;
    while (argv[n])
        n++;
    ret.items = arena_array(a, n, sizeof(str));
    for (size_t i = 0; i < n; i++) { /* the path of the files is not a difference */
        str arg = str_from(argv[i]), dir = str_from(files);
        bool is_inside = dir.n > 0 && str_starts(arg, dir);
        ret.items[ret.len++] =
            is_inside ? arena_printf(a, "PACKAGE%.*s", STR_ARG(str_skip(arg, dir.n))) : arg;
    }
    return ret;
}

static struct json_strs proposed(struct arena *a, const struct inspection *in)
{
    struct json_strs ret = {arena_array(a, in->nproposals, sizeof(str)), 0};
    for (size_t i = 0; i < in->nproposals; i++)
        for (size_t k = 0; k < in->proposals[i].paths.len && k < 1; k++)
            ret.items[ret.len++] =
                arena_printf(a, "%.*s for %.*s", STR_ARG(in->proposals[i].paths.items[k]),
                             STR_ARG(in->proposals[i].option->key));
    return ret;
}

static void print_changes(struct update *u, const char *old_files, const char *new_files)
{
    struct arena *a = &u->x->arena;
    struct json_strs args[] = {arguments(a, &u->old, old_files), arguments(a, &u->new, new_files)};
    struct json_strs vars[] = {inspection_variables(a, &u->old), inspection_variables(a, &u->new)};
    struct json_strs places[] = {proposed(a, &u->old), proposed(a, &u->new)};
    print_difference("command", &args[0], &args[1]);
    print_difference("variables", &vars[0], &vars[1]);
    if (u->old.manifest && u->new.manifest)
        print_difference("tools", &u->old.manifest->tools, &u->new.manifest->tools);
    print_difference("proposes", &places[0], &places[1]);
    print_difference("needs", &u->old.missing, &u->new.missing);
}

static int update_confirm(struct update *u, str before, str after)
{
    bundle_cli_print_line(stderr, "version",
                          arena_printf(&u->x->arena, "%.*s -> %.*s",
                                       STR_ARG(before.n > 0 ? before : STR("(none)")),
                                       STR_ARG(after)));
    return cmd_confirm(u->x, "Update it?", "Nothing was updated.");
}

static int bundle_update_replace(struct update *u, str version)
{
    struct cmd *x = u->x;
    str name = u->before->server_name;
    struct err e = {0};
    if (settings_replace_bundle(x->config.path, name, u->raw, &e) < 0)
        return cli_fail(&e);
    cli_record(&x->config, "bundle.update", name, true, STR_NONE);
    printf("%.*s is now version %.*s. Tools that are different wait for `nb bundle approve "
           "%.*s`.\n",
           STR_ARG(name), STR_ARG(version), STR_ARG(name));
    return EXIT_DONE;
}

static int up_to_date(const struct update *u, str version)
{
    printf("%.*s %.*s is up to date.\n", STR_ARG(u->before->server_name), STR_ARG(version));
    return EXIT_DONE;
}

static int bundle_update_decode(struct update *u)
{
    struct err e = {0};
    return bundle_entry_decode(&u->x->arena, u->raw, "/", &u->now, &e) < 0 ? cli_fail(&e)
                                                                           : EXIT_DONE;
}

/* ---- packages of the registry ---- */

/* The current version: the one in the entry, or the one that was downloaded. */
static struct package package_now(struct cmd *x, const struct bundle_entry *b)
{
    struct package p = {0};
    struct err e = {0};
    (void)package_find(&x->arena, config_path(&x->config, "apps"), b->name, &p, &e);
    if (b->version.n > 0 && !str_eq(b->version, p.version))
        p = (struct package){.version = b->version};
    return p;
}

/* Downloads into a separate directory: the installed version does not change before the user
 * agrees. */
static int show_registry(struct update *u, const struct package *now, const char *tmp)
{
    struct cmd *x = u->x;
    struct bundle_cli_files files;
    struct err e = {0};
    if (bundle_cli_fetch(x, &u->now, tmp, &files, &e) < 0)
        return cli_fail(&e);
    struct bundle_cli_question next = {.entry = &u->now, .files = files.dir};
    struct bundle_cli_question old = {.entry = u->before, .files = now->dir};
    if (bundle_cli_inspect(x, &next, &u->new, &e) < 0)
        return cli_fail(&e);
    bundle_cli_print_line(stderr, "package", u->before->name);
    if (now->dir && bundle_cli_inspect(x, &old, &u->old, &e) == 0)
        print_changes(u, now->dir, files.dir);
    else
        bundle_cli_show(x, stderr, &u->new);
    return EXIT_DONE;
}

static int preview(struct update *u, const struct package *now)
{
    const char *apps = config_path(&u->x->config, "apps");
    char *tmp = arena_cstr(&u->x->arena, arena_printf(&u->x->arena, "%s/preview-XXXXXX", apps));
    struct err e = {0};
    if (file_make_dirs(apps, &e) < 0)
        return cli_fail(&e);
    if (!mkdtemp(tmp)) {
        err_errno(&e, -errno, "cannot make a directory in", apps);
        return cli_fail(&e);
    }
    int code = show_registry(u, now, tmp);
    (void)io_remove_tree(&store_io_system, tmp, REMOVE_DEPTH);
    return code;
}

static int update_registry(struct update *u)
{
    struct arena *a = &u->x->arena;
    struct package now = package_now(u->x, u->before);
    str latest = bundle_cli_latest_version(u->x, u->before->name);
    if (latest.n == 0)
        return EXIT_FAILED;
    if (str_eq(now.version, latest))
        return up_to_date(u, latest);
    json_set(a, u->raw, STR("name"), json_of_str(u->before->name));
    json_set(a, u->raw, STR("version"), json_of_str(latest));
    int code = bundle_update_decode(u);
    if (code == EXIT_DONE)
        code = preview(u, &now);
    if (code == EXIT_DONE)
        code = update_confirm(u, now.version, latest);
    return code == EXIT_DONE ? bundle_update_replace(u, latest) : code;
}

/* ---- packages of npm ---- */

static int update_npm(struct update *u)
{
    struct cmd *x = u->x;
    const struct npm_pin *pin = &u->npm.pin;
    struct err e = {0};
    if (bundle_cli_npm_resolve(x, u->before, &u->npm, &e) < 0)
        return cli_fail(&e);
    str before = u->before->pinned.version;
    if (str_eq(before, pin->version) && str_eq(u->before->pinned.integrity, pin->integrity))
        return up_to_date(u, before);
    json_set(&x->arena, u->raw, STR("pinned"), *bundle_cli_pinned(&x->arena, pin));
    int code = bundle_update_decode(u);
    struct bundle_cli_question q = {.entry = &u->now, .npm = &u->npm};
    if (code == EXIT_DONE && bundle_cli_inspect(x, &q, &u->new, &e) < 0)
        code = cli_fail(&e);
    if (code != EXIT_DONE)
        return code;
    bundle_cli_show(x, stderr, &u->new);
    code = update_confirm(u, before, pin->version);
    if (code != EXIT_DONE)
        return code;
    return bundle_cli_npm_install(x, &u->now, &e) < 0 ? cli_fail(&e)
                                                      : bundle_update_replace(u, pin->version);
}

/* ---- all of them ---- */

static int update_one(struct cmd *x, const struct bundle_entry *b)
{
    struct package_command c;
    struct update u = {.x = x, .before = b, .raw = json_clone(&x->arena, b->raw)};
    if (b->kind == BUNDLE_NAMED && !str_eq(b->name, STR(BUNDLE_BASH_PACKAGE)))
        return update_registry(&u);
    return npm_is_wanted(b, &c) ? update_npm(&u) : EXIT_DONE;
}

static int bundle_update(struct cmd *x)
{
    struct bundle_entry *all;
    size_t n;
    const char *name = x->argc > 0 ? x->argv[0] : NULL;
    if (name && !bundle_cli_find(x, name))
        return EXIT_FAILED;
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    for (size_t i = 0; i < n; i++) {
        bool is_meant = !name || bundle_cli_entry_named(&all[i], 1, str_from(name));
        int one = is_meant ? update_one(x, &all[i]) : EXIT_DONE;
        code = one == EXIT_DONE ? code : one;
    }
    return code;
}

const struct command BUNDLE_UPDATE = {
    .name = "update",
    .operands = "[NAME]",
    .summary = "update packages, after showing what changes",
    .help = "Shows the new version and what is different in it (command, variables, tools, "
            "proposed directories), asks, and writes it into the entry. Changed tools wait for `nb "
            "bundle approve NAME`. Without NAME, looks at all packages.\n",
    .yes = "do not ask",
    .needs = NEEDS_PLACE | NEEDS_TERMINAL,
    .run = bundle_update,
};
