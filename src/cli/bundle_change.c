/* nb bundle remove, start, stop, restart. */
#include "bundle/settings.h"
#include "cli/bundle.h"

/* ---- remove ---- */

static int remove_running(struct conv_cli *x, const char *name)
{
    struct json *answer;
    int code = bundle_cli_ask(x, "DELETE", bundle_cli_path(x, name, ""), NULL, NULL, &answer);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(answer);
    else
        printf("%s is removed. Its data stays in %.*s.\n", name,
               STR_ARG(json_get_string(answer, "dataPath")));
    return EXIT_DONE;
}

static int remove_entry(struct conv_cli *x, const char *typed)
{
    struct bundle_entry *all;
    size_t n;
    struct err e = {0};
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    const struct bundle_entry *b = bundle_cli_entry_named(all, n, str_from(typed));
    str name = b ? b->server_name : str_from(typed);
    if (settings_remove_bundle(x->config.path, name, &e) < 0)
        return cli_fail(&e);
    if (x->cli->opt.is_json)
        printf("{\"name\":\"%.*s\",\"uninstalled\":true}\n", STR_ARG(name));
    else
        printf("%.*s is no longer in %s.\n", STR_ARG(name), x->config.path);
    return EXIT_DONE;
}

static int do_remove(struct conv_cli *x, const void *options, int argc, char **argv)
{
    return bundle_cli_served(x) ? remove_running(x, argv[0]) : remove_entry(x, argv[0]);
}

static int run_remove(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("bundle remove: name one bundle");
    return bundle_cli_with(cli, do_remove, options, argc, argv);
}

const struct command BUNDLE_REMOVE = {
    .name = "remove",
    .alias = "rm",
    .usage = "bundle remove NAME [--json]",
    .summary = "take a bundle out of the settings; its data stays",
    .run = run_remove,
};

/* ---- start, stop, restart ---- */

static int set_state(struct conv_cli *x, const char *name, const char *verb)
{
    struct json *answer;
    if (!bundle_cli_served(x)) {
        fprintf(stderr, "nb: no server is running; bundles start with `nb` and `nb serve`\n");
        return EXIT_FAILED;
    }
    const char *rest = arena_printf(&x->arena, "/%s", verb).p;
    int code = bundle_cli_ask(x, "POST", bundle_cli_path(x, name, rest), NULL, name, &answer);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(answer);
    else
        printf("%s: %.*s\n", name, STR_ARG(json_get_string(answer, "status")));
    return EXIT_DONE;
}

static int do_start(struct conv_cli *x, const void *options, int argc, char **argv)
{
    return set_state(x, argv[0], "start");
}

static int do_stop(struct conv_cli *x, const void *options, int argc, char **argv)
{
    return set_state(x, argv[0], "stop");
}

static int do_restart(struct conv_cli *x, const void *options, int argc, char **argv)
{
    return set_state(x, argv[0], "restart");
}

static int run_one(struct cli *cli, const char *verb, conv_fn fn, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("bundle %s: name one bundle", verb);
    return bundle_cli_with(cli, fn, NULL, argc, argv);
}

static int run_start(struct cli *cli, const void *options, int argc, char **argv)
{
    return run_one(cli, "start", do_start, argc, argv);
}

static int run_stop(struct cli *cli, const void *options, int argc, char **argv)
{
    return run_one(cli, "stop", do_stop, argc, argv);
}

static int run_restart(struct cli *cli, const void *options, int argc, char **argv)
{
    return run_one(cli, "restart", do_restart, argc, argv);
}

const struct command BUNDLE_START = {
    .name = "start",
    .usage = "bundle start NAME",
    .summary = "start a bundle that is stopped or dead",
    .run = run_start,
};

const struct command BUNDLE_STOP = {
    .name = "stop",
    .usage = "bundle stop NAME",
    .summary = "stop a bundle until it is started again",
    .help = "Only for this run of the server; \"disabled\": true in its entry stops it for good.\n",
    .run = run_stop,
};

const struct command BUNDLE_RESTART = {
    .name = "restart",
    .usage = "bundle restart NAME",
    .summary = "stop and start a bundle",
    .run = run_restart,
};
