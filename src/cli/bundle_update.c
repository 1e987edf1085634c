/* nb bundle update - a newer version of a package, after a question. */
#include "bundle/package.h"
#include "bundle/settings.h"
#include "cli/bundle.h"
#include "cli/record.h"

struct update_options {
    bool is_sure;
};

static const struct arg UPDATE_ARGS[] = {
    {"yes", 'y', ARG_FLAG, offsetof(struct update_options, is_sure), NULL, "do not ask"}, {0}};

/* The version that runs now: the one that the entry names, or the one that was downloaded. */
static str version_now(struct conv_cli *x, const struct bundle_entry *b)
{
    struct package p = {0};
    struct err e = {0};
    if (b->version.n > 0)
        return b->version;
    (void)package_find(&x->arena, config_path(&x->config, "apps"), b->name, &p, &e);
    return p.version;
}

static int update_one(struct conv_cli *x, const struct bundle_entry *b, bool is_sure)
{
    struct err e = {0};
    str now = version_now(x, b), latest = bundle_cli_latest_version(x, b->name);
    if (latest.n == 0)
        return EXIT_FAILED;
    if (str_eq(now, latest)) {
        printf("%.*s %.*s is up to date.\n", STR_ARG(b->server_name), STR_ARG(now));
        return EXIT_DONE;
    }
    bundle_cli_print_line(stderr, "package", b->name);
    bundle_cli_print_line(stderr, "version",
                          arena_printf(&x->arena, "%.*s -> %.*s",
                                       STR_ARG(now.n > 0 ? now : STR("(none)")), STR_ARG(latest)));
    if (!bundle_cli_confirm("Update it?", is_sure)) {
        fputs("Nothing was updated.\n", stderr);
        return EXIT_FAILED;
    }
    struct json *entry = json_clone(&x->arena, b->raw);
    json_set(&x->arena, entry, STR("name"), json_of_str(b->name));
    json_set(&x->arena, entry, STR("version"), json_of_str(latest));
    if (settings_replace_bundle(x->config.path, b->server_name, entry, &e) < 0)
        return cli_fail(&e);
    cli_record(&x->config, "bundle.update", b->server_name, true,
               arena_printf(&x->arena, "version=%.*s", STR_ARG(latest)));
    printf("%.*s is now version %.*s. Tools that are different wait for `nb bundle approve "
           "%.*s`.\n",
           STR_ARG(b->server_name), STR_ARG(latest), STR_ARG(b->server_name));
    return EXIT_DONE;
}

static int do_update(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct update_options *o = options;
    struct bundle_entry *all;
    size_t n;
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    if (argc == 1 && !bundle_cli_entry_named(all, n, str_from(argv[0]))) {
        fprintf(stderr, "nb: there is no bundle '%s' in %s\n", argv[0], x->config.path);
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_meant = argc == 0 || str_eq(all[i].server_name, str_from(argv[0])) ||
                        str_eq(all[i].name, str_from(argv[0]));
        bool is_own = str_eq(all[i].name, STR(BUNDLE_BASH_PACKAGE));
        if (!is_meant || all[i].kind != BUNDLE_NAMED || is_own)
            continue;
        int one = update_one(x, &all[i], o->is_sure);
        code = one == EXIT_DONE ? code : one;
    }
    return code;
}

static int run_update(struct cli *cli, const void *options, int argc, char **argv)
{
    const struct update_options *o = options;
    if (argc > 1)
        return cli_usage_error("bundle update: name one bundle, or none for all");
    if (!o->is_sure && !cli->is_tty_in)
        return cli_usage_error("bundle update: stdin is not a terminal; pass --yes to confirm");
    return bundle_cli_with(cli, do_update, options, argc, argv);
}

const struct command BUNDLE_UPDATE = {
    .name = "update",
    .usage = "bundle update [NAME] [--yes]",
    .summary = "look for newer versions of packages, and take them after a question",
    .help =
        "Packages are never replaced unasked. The new version is written into the entry; tools\n"
        "that are different in it wait for `nb bundle approve NAME`.\n",
    .args = UPDATE_ARGS,
    .options_size = sizeof(struct update_options),
    .run = run_update,
};
