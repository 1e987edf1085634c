/* nb bundle approve - accepts tools that changed after the bundle was added. */
#include "cli/bundle/bundle.h"

struct approve_options {
    bool is_sure;
};

static const struct arg APPROVE_ARGS[] = {
    {"yes", 'y', ARG_FLAG, offsetof(struct approve_options, is_sure), NULL, "do not ask"}, {0}};

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

static bool is_named(str name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (str_eq(name, str_from(argv[i])))
            return true;
    return argc == 1;
}

/* The request body: the digests of what was shown. */
static struct json *bundle_approve_show(struct conv_cli *x, const struct json *app, int argc,
                                        char **argv)
{
    struct arena *a = &x->arena;
    struct json *body = json_new(a, JSON_OBJECT), *tools = json_new(a, JSON_OBJECT);
    const struct json *held = json_get(app, "quarantined");
    const struct json *said = json_get(app, "instructionsChanged");
    for (size_t i = 0; held && i < held->len; i++) {
        const struct json *h = json_at(held, i);
        str name = json_get_string(h, "name");
        if (!is_named(name, argc, argv))
            continue;
        print_held(h);
        json_set(a, tools, name, json_of_str(json_get_string(h, "digest")));
    }
    if (tools->len > 0)
        json_set(a, body, STR("tools"), *tools);
    if (said && argc == 1) {
        print_strs("  WARNING", json_get(said, "warnings"));
        print_change(STR("instructions of the server"), json_get_string(said, "before"),
                     json_get_string(said, "after"));
        json_set(a, body, STR("instructions"), json_of_str(json_get_string(said, "digest")));
    }
    return body;
}

static int nothing_waits(struct conv_cli *x, int argc, char **argv)
{
    if (argc > 1) {
        fprintf(stderr, "nb: %s: no such tool waits for approval\n", argv[0]);
        return EXIT_FAILED;
    }
    if (x->cli->opt.is_json)
        printf("{\"quarantinedCount\":0}\n");
    else
        printf("%s: no tool waits for approval.\n", argv[0]);
    return EXIT_DONE;
}

static int do_approve(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct approve_options *o = options;
    struct json *app, *answer;
    struct err e = {0};
    if (!bundle_cli_served(x) && client_open_bundles(x->loop, &x->config, &x->client, &e) < 0)
        return cli_fail(&e);
    int code = bundle_cli_ask(x, NULL, bundle_cli_path(x, argv[0], ""), NULL, argv[0], &app);
    if (code != EXIT_DONE)
        return code;
    const struct json *body = bundle_approve_show(x, app, argc, argv);
    if (body->len == 0)
        return nothing_waits(x, argc, argv);
    if (!o->is_sure && !x->cli->is_tty_in) /* scripts see the waiting tools too */
        return cli_usage_error("bundle approve: stdin is not a terminal; pass --yes to confirm");
    if (!bundle_cli_confirm("Accept this from now on?", o->is_sure)) {
        fputs("Nothing was approved.\n", stderr);
        return EXIT_FAILED;
    }
    code =
        bundle_cli_ask(x, "POST", bundle_cli_path(x, argv[0], "/approve"), body, argv[0], &answer);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json)
        conv_print_json(answer);
    else
        printf("%s: %lld tools can be used, %lld wait for approval.\n", argv[0],
               (long long)json_get_int(answer, "toolCount", 0),
               (long long)json_get_int(answer, "quarantinedCount", 0));
    return EXIT_DONE;
}

static int run_approve(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc < 1)
        return cli_usage_error("bundle approve: name a bundle");
    return bundle_cli_with(cli, do_approve, options, argc, argv);
}

const struct command BUNDLE_APPROVE = {
    .name = "approve",
    .usage = "bundle approve NAME [TOOL...] [--yes] [--json]",
    .summary = "accept new and changed tools of a bundle",
    .help = "Shows what differs, field by field, and asks. Until a tool is approved it is neither "
            "listed nor callable. Without TOOL, asks about all of them and the server's "
            "instructions.\n",
    .args = APPROVE_ARGS,
    .options_size = sizeof(struct approve_options),
    .run = run_approve,
};
