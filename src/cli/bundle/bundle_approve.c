/* nb bundle approve - accepts tools that changed after the bundle was added. */
#include "cli/bundle/bundle.h"
#include "cli/session/client.h"

static void print_strs(const char *label, const struct json *list)
{
    for (size_t i = 0; list && i < list->len; i++)
        bundle_cli_print_line(stderr, label, json_string(json_at(list, i), STR_NONE));
}

static void print_change(str field, str before, str after)
{
    bundle_cli_print_line(stderr, " ", field);
    bundle_cli_print_line(stderr, "    -", before);
    bundle_cli_print_line(stderr, "    +", after);
}

static void print_held(const struct json *held)
{
    const struct json *changes = json_get(held, "changes");
    str shown = json_get_string(held, "shownName");
    bundle_cli_print_line(stderr, "tool", shown.n > 0 ? shown : json_get_string(held, "name"));
    bundle_cli_print_line(stderr, "  because", json_get_string(held, "detail"));
    print_strs("  WARNING", json_get(held, "warnings"));
    for (size_t i = 0; changes && i < changes->len; i++) {
        const struct json *c = json_at(changes, i);
        print_change(json_get_string(c, "field"), json_get_string(c, "before"),
                     json_get_string(c, "after"));
    }
}

static bool is_named(str name, const struct cmd *x)
{
    for (int i = 1; i < x->argc; i++)
        if (str_eq(name, str_from(x->argv[i])))
            return true;
    return x->argc == 1;
}

/* The request body: the digests of what was shown. */
static struct json *bundle_approve_show(struct cmd *x, const struct json *app)
{
    struct arena *a = &x->arena;
    struct json *body = json_new(a, JSON_OBJECT), *tools = json_new(a, JSON_OBJECT);
    const struct json *held = json_get(app, "quarantined");
    const struct json *instructions = json_get(app, "instructionsChanged");
    for (size_t i = 0; held && i < held->len; i++) {
        const struct json *h = json_at(held, i);
        str name = json_get_string(h, "name");
        if (!is_named(name, x))
            continue;
        print_held(h);
        json_set(a, tools, name, json_of_str(json_get_string(h, "digest")));
    }
    if (tools->len > 0)
        json_set(a, body, STR("tools"), *tools);
    if (instructions && x->argc == 1) {
        print_strs("  WARNING", json_get(instructions, "warnings"));
        print_change(STR("instructions of the server"), json_get_string(instructions, "before"),
                     json_get_string(instructions, "after"));
        json_set(a, body, STR("instructions"),
                 json_of_str(json_get_string(instructions, "digest")));
    }
    return body;
}

static int bundle_approve(struct cmd *x)
{
    const char *name = x->argv[0];
    struct err e = {0};
    if (!bundle_cli_served(x) && client_open_bundles(x->loop, &x->config, &x->client, &e) < 0)
        return cli_fail(&e);
    const struct json *app = cmd_ask(x, NULL, bundle_cli_path(x, name, ""), NULL, name);
    if (!app)
        return EXIT_FAILED;
    const struct json *body = bundle_approve_show(x, app);
    if (body->len == 0 && x->argc > 1)
        return cli_failed("%s: no such tool waits for approval", name);
    if (body->len == 0)
        return cmd_say(x, cmd_object(x, {STR("quarantinedCount"), json_of_int(0)}),
                       "%s: no tool waits for approval.", name);
    /* asked here, so that scripts see the waiting tools too */
    int code = cmd_confirm(x, "Accept this from now on?", "Nothing was approved.");
    if (code != EXIT_DONE)
        return code;
    const struct json *answer =
        cmd_ask(x, "POST", bundle_cli_path(x, name, "/approve"), body, name);
    return answer ? cmd_say(x, answer, "%s: %lld tools can be used, %lld wait for approval.", name,
                            (long long)json_get_int(answer, "toolCount", 0),
                            (long long)json_get_int(answer, "quarantinedCount", 0))
                  : EXIT_FAILED;
}

const struct command BUNDLE_APPROVE = {
    .name = "approve",
    .operands = "NAME [TOOL...]",
    .summary = "accept new and changed tools of a bundle",
    .help = "Shows what differs, field by field, and asks. Until a tool is approved it is neither "
            "listed nor callable. Without TOOL, asks about all of them and the server's "
            "instructions.\n",
    .yes = "do not ask",
    .run = bundle_approve,
};
