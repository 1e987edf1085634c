/* nb bundle remove, enable, disable, start, stop, restart. */
#include "base/clock.h"
#include "bundle/settings/credentials.h"
#include "bundle/settings/settings.h"
#include "cli/bundle/bundle.h"
#include "cli/session/record.h"

/* ---- remove ---- */

struct remove_options {
    bool is_forgetting;
};

static const struct arg REMOVE_ARGS[] = {{"forget", 0, ARG_FLAG,
                                          offsetof(struct remove_options, is_forgetting), NULL,
                                          "delete its stored values too"},
                                         {0}};

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

static int remove_entry(struct conv_cli *x, const char *name)
{
    struct err e = {0};
    if (settings_remove_bundle(x->config.path, str_from(name), &e) < 0)
        return cli_fail(&e);
    cli_record(&x->config, "bundle.remove", str_from(name), true, STR_NONE);
    if (x->cli->opt.is_json)
        printf("{\"name\":\"%s\",\"uninstalled\":true}\n", name);
    else
        printf("%s is no longer in %s.\n", name, x->config.path);
    return EXIT_DONE;
}

static int do_remove(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct remove_options *o = options;
    struct bundle_entry *all;
    size_t n;
    struct err e = {0};
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    const struct bundle_entry *b = bundle_cli_entry_named(all, n, str_from(argv[0]));
    const char *name = b ? arena_cstr(&x->arena, b->server_name) : argv[0];
    code = bundle_cli_served(x) ? remove_running(x, name) : remove_entry(x, name);
    if (code == EXIT_DONE && b && b->oauth.is_per_person)
        credentials_forget_people(bundle_cli_credentials(x), b->server_name);
    if (code != EXIT_DONE || !o->is_forgetting || !b)
        return code;
    str slug = credentials_slug(&x->arena, b);
    return credentials_remove(bundle_cli_credentials(x), slug, &e) < 0 ? cli_fail(&e) : EXIT_DONE;
}

static int run_bundle_remove(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("bundle remove: name one bundle");
    return bundle_cli_with(cli, do_remove, options, argc, argv);
}

const struct command BUNDLE_REMOVE = {
    .name = "remove",
    .alias = "rm",
    .usage = "bundle remove NAME [--forget] [--json]",
    .summary = "remove a bundle from the settings; keep its data",
    .args = REMOVE_ARGS,
    .options_size = sizeof(struct remove_options),
    .run = run_bundle_remove,
};

/* ---- enable, disable ---- */

#define NOTICE_MS 5000 /* how long a server may take to read its settings again */
#define TICK_MS   100

/* Waits until the running server has applied the change, so that the next command sees it. */
static void await_state(struct conv_cli *x, const char *name, bool is_stopped)
{
    uint64_t until = clock_mono_ms() + NOTICE_MS;
    struct json *app;
    bool never = false;
    while (clock_mono_ms() < until &&
           bundle_cli_ask(x, NULL, bundle_cli_path(x, name, ""), NULL, name, &app) == EXIT_DONE) {
        if (str_eq(json_get_string(app, "status"), STR("stopped")) == is_stopped)
            return;
        (void)loop_run_until(x->loop, &never, TICK_MS);
    }
}

/* Writes the settings file; a running server detects the change. */
static int set_disabled(struct conv_cli *x, const void *verb, int argc, char **argv)
{
    const char *name = argv[0];
    bool is_disabled = str_eq(str_from(verb), STR("disable"));
    struct bundle_entry *all;
    size_t n;
    struct err e = {0};
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    const struct bundle_entry *b = bundle_cli_entry_named(all, n, str_from(name));
    if (!b) {
        fprintf(stderr, "nb: no bundle '%s' in %s\n", name, x->config.path);
        return EXIT_FAILED;
    }
    struct json *entry = json_clone(&x->arena, b->raw);
    if (is_disabled)
        json_set(&x->arena, entry, STR("disabled"), json_of_bool(true));
    else
        json_unset(entry, "disabled");
    if (settings_replace_bundle(x->config.path, b->server_name, entry, &e) < 0)
        return cli_fail(&e);
    cli_record(&x->config, is_disabled ? "bundle.disable" : "bundle.enable", b->server_name, true,
               STR_NONE);
    if (bundle_cli_served(x))
        await_state(x, arena_cstr(&x->arena, b->server_name), is_disabled);
    if (x->cli->opt.is_json)
        conv_print_json(entry);
    else
        printf("%.*s is %s.\n", STR_ARG(b->server_name), is_disabled ? "disabled" : "enabled");
    return EXIT_DONE;
}

/* ---- start, stop, restart ---- */

static int set_running(struct conv_cli *x, const void *verb, int argc, char **argv)
{
    const char *name = argv[0];
    struct json *answer;
    if (!bundle_cli_served(x)) {
        fprintf(stderr, "nb: no server is running; bundles start with `nb` and `nb serve`\n");
        return EXIT_FAILED;
    }
    const char *rest = arena_printf(&x->arena, "/%s", (const char *)verb).p;
    int code = bundle_cli_ask(x, "POST", bundle_cli_path(x, name, rest), NULL, name, &answer);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(answer);
    else
        printf("%s: %.*s\n", name, STR_ARG(json_get_string(answer, "status")));
    return EXIT_DONE;
}

/* The verb is the option of set_disabled and set_running. */
static int run_one(struct cli *cli, const char *verb, conv_fn fn, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("bundle %s: name one bundle", verb);
    return bundle_cli_with(cli, fn, verb, argc, argv);
}

static int run_enable(struct cli *cli, const void *options, int argc, char **argv)
{
    return run_one(cli, "enable", set_disabled, argc, argv);
}

static int run_disable(struct cli *cli, const void *options, int argc, char **argv)
{
    return run_one(cli, "disable", set_disabled, argc, argv);
}

static int run_start(struct cli *cli, const void *options, int argc, char **argv)
{
    return run_one(cli, "start", set_running, argc, argv);
}

static int run_stop(struct cli *cli, const void *options, int argc, char **argv)
{
    return run_one(cli, "stop", set_running, argc, argv);
}

static int run_restart(struct cli *cli, const void *options, int argc, char **argv)
{
    return run_one(cli, "restart", set_running, argc, argv);
}

const struct command BUNDLE_ENABLE = {
    .name = "enable",
    .usage = "bundle enable NAME [--json]",
    .summary = "start a disabled bundle again, now and later",
    .run = run_enable,
};

const struct command BUNDLE_DISABLE = {
    .name = "disable",
    .usage = "bundle disable NAME [--json]",
    .summary = "stop a bundle and keep it in the settings",
    .run = run_disable,
};

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
    .help = "The bundle starts again with the next start of the server. `nb bundle disable` stops "
            "it permanently.\n",
    .run = run_stop,
};

const struct command BUNDLE_RESTART = {
    .name = "restart",
    .usage = "bundle restart NAME",
    .summary = "stop and start a bundle",
    .run = run_restart,
};
