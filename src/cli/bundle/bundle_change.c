/* nb bundle remove, enable, disable, start, stop, restart. */
#include "base/clock.h"
#include "bundle/settings/settings.h"
#include "cli/bundle/bundle.h"
#include "cli/cli.h"
#include "workspace/secrets/credentials.h"

/* ---- remove ---- */

static const struct arg REMOVE_ARGS[] = {
    {"forget", 0, ARG_FLAG, NULL, "delete its stored values too"}, {0}};

static int remove_running(struct cmd *x, const char *name)
{
    const struct json *answer = cmd_ask(x, "DELETE", bundle_cli_path(x, name, ""), NULL, NULL);
    return answer ? cmd_say(x, answer, "%s is removed. Its data stays in %.*s.", name,
                            STR_ARG(json_get_string(answer, "dataPath")))
                  : EXIT_FAILED;
}

static int remove_entry(struct cmd *x, const char *name)
{
    struct err e = {0};
    if (settings_remove_bundle(x->config.path, str_from(name), &e) < 0)
        return cli_fail(&e);
    cli_record(&x->config, "bundle.remove", str_from(name), true, STR_NONE);
    return cmd_say(x,
                   cmd_object(x, {STR("name"), json_of_str(str_from(name))},
                              {STR("uninstalled"), json_of_bool(true)}),
                   "%s is no longer in %s.", name, x->config.path);
}

static int bundle_remove(struct cmd *x)
{
    struct bundle_entry *all;
    size_t n;
    struct err e = {0};
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    const struct bundle_entry *b = bundle_cli_entry_named(all, n, str_from(x->argv[0]));
    const char *name = b ? arena_cstr(&x->arena, b->server_name) : x->argv[0];
    code = bundle_cli_served(x) ? remove_running(x, name) : remove_entry(x, name);
    if (code == EXIT_DONE && b && b->oauth.is_per_person)
        credentials_forget_people(bundle_cli_credentials(x), b->server_name);
    if (code != EXIT_DONE || !cmd_flag(x, "forget") || !b)
        return code;
    str slug = entry_credentials(&x->arena, b);
    return credentials_remove(bundle_cli_credentials(x), slug, &e) < 0 ? cli_fail(&e) : EXIT_DONE;
}

const struct command BUNDLE_REMOVE = {
    .name = "remove",
    .alias = "rm",
    .operands = "NAME",
    .summary = "remove a bundle from the settings; keep its data",
    .args = REMOVE_ARGS,
    .run = bundle_remove,
};

/* ---- enable, disable ---- */

#define NOTICE_MS 5000 /* how long a server may take to read its settings again */
#define TICK_MS   100

/* Waits until the running server has applied the change, so that the next command sees it. */
static void await_state(struct cmd *x, const char *name, bool is_stopped)
{
    uint64_t until = clock_mono_ms() + NOTICE_MS;
    const struct json *app;
    bool never = false;
    while (clock_mono_ms() < until &&
           (app = cmd_ask(x, NULL, bundle_cli_path(x, name, ""), NULL, name)) != NULL) {
        if (str_eq(json_get_string(app, "status"), STR("stopped")) == is_stopped)
            return;
        (void)loop_run_until(x->loop, &never, TICK_MS);
    }
}

/* Writes the settings file; a running server detects the change. */
static int set_disabled(struct cmd *x)
{
    bool is_disabled = strcmp(x->command->name, "disable") == 0;
    struct err e = {0};
    const struct bundle_entry *b = bundle_cli_find(x, x->argv[0]);
    if (!b)
        return EXIT_FAILED;
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
    return cmd_say(x, entry, "%.*s is %s.", STR_ARG(b->server_name),
                   is_disabled ? "disabled" : "enabled");
}

/* ---- start, stop, restart ---- */

static int set_running(struct cmd *x)
{
    const char *name = x->argv[0];
    if (!bundle_cli_served(x))
        return cli_failed("no server is running; bundles start with `nb` and `nb serve`");
    const char *rest = arena_printf(&x->arena, "/%s", x->command->name).p;
    const struct json *answer = cmd_ask(x, "POST", bundle_cli_path(x, name, rest), NULL, name);
    return answer ? cmd_say(x, answer, "%s: %.*s", name, STR_ARG(json_get_string(answer, "status")))
                  : EXIT_FAILED;
}

const struct command BUNDLE_ENABLE = {
    .name = "enable",
    .operands = "NAME",
    .summary = "enable a disabled bundle and start it",
    .run = set_disabled,
};

const struct command BUNDLE_DISABLE = {
    .name = "disable",
    .operands = "NAME",
    .summary = "stop a bundle and keep it in the settings",
    .run = set_disabled,
};

const struct command BUNDLE_START = {
    .name = "start",
    .operands = "NAME",
    .summary = "start a bundle that is stopped or dead",
    .needs = NEEDS_PLACE | WORKS_ELSEWHERE,
    .run = set_running,
};

const struct command BUNDLE_STOP = {
    .name = "stop",
    .operands = "NAME",
    .summary = "stop a bundle until it is started again",
    .help = "The bundle starts again with the next start of the server. `nb bundle disable` stops "
            "it permanently.\n",
    .needs = NEEDS_PLACE | WORKS_ELSEWHERE,
    .run = set_running,
};

const struct command BUNDLE_RESTART = {
    .name = "restart",
    .operands = "NAME",
    .summary = "stop and start a bundle",
    .needs = NEEDS_PLACE | WORKS_ELSEWHERE,
    .run = set_running,
};
