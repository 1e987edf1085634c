/* nb bundle list, info, logs. */
#include "bundle/package/command_line.h"
#include "bundle/package/package.h"
#include "bundle/sandbox/network_reach.h"
#include "cli/bundle/bundle.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"
#include "cli/term/text.h"

#define LOGS_MAX (1024u * 1024)

/* ---- list ---- */

static const struct table_column RUNNING_COLUMNS[] = {
    {"NAME", false, STYLE_BOLD}, {"STATUS", false, 0},       {"TOOLS", true, 0},
    {"VERSION", false, 0},       {"KIND", false, STYLE_DIM}, {"FROM", false, 0}};

static const struct table_column ENTRY_COLUMNS[] = {
    {"NAME", false, STYLE_BOLD}, {"KIND", false, STYLE_DIM}, {"FROM", false, 0}};

static void print_none(void)
{
    puts("No bundles yet. `nb bundle search WORDS` finds some, `nb bundle add` adds one.");
}

static void print_running(struct conv_cli *x, const struct json *apps)
{
    struct table t;
    table_init(&t, RUNNING_COLUMNS, ARRAY_LEN(RUNNING_COLUMNS));
    for (size_t i = 0; apps && i < apps->len; i++) {
        const struct json *app = json_at(apps, i);
        str reason = json_get_string(app, "reason");
        table_row(&t);
        table_cell(&t, 0, json_get_string(app, "name"));
        table_cell(&t, 1, json_get_string(app, "status"));
        long long held = json_get_int(app, "quarantinedCount", 0);
        table_cellf(&t, 2, held > 0 ? "%lld (+%lld)" : "%lld",
                    (long long)json_get_int(app, "toolCount", 0), held);
        table_cell(&t, 3, json_get_string(app, "version"));
        table_cellf(&t, 4, "(%.*s)", STR_ARG(json_get_string(app, "kind")));
        table_cell(&t, 5, reason.n > 0 ? reason : json_get_string(app, "bundleName"));
    }
    table_print(&t, stdout, x->width, x->cli->has_color_out, true);
    table_done(&t);
}

static int list_running(struct conv_cli *x)
{
    struct json *all;
    int code = bundle_cli_ask(x, NULL, STR("/v1/apps"), NULL, NULL, &all);
    if (code != EXIT_DONE)
        return code;
    const struct json *apps = json_get(all, "apps");
    if (x->cli->opt.is_json)
        conv_print_json(apps);
    else if (apps && apps->len > 0)
        print_running(x, apps);
    else
        print_none();
    return EXIT_DONE;
}

static void print_entries_json(struct conv_cli *x, const struct bundle_entry *all, size_t n)
{
    struct json *list = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < n; i++) {
        struct json *entry = bundle_cli_masked(&x->arena, all[i].raw);
        json_set(&x->arena, entry, STR("serverName"), json_of_str(all[i].server_name));
        json_push(&x->arena, list, *entry);
    }
    conv_print_json(list);
}

static int list_entries(struct conv_cli *x)
{
    struct bundle_entry *all;
    size_t n;
    struct table t;
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json) {
        print_entries_json(x, all, n);
        return EXIT_DONE;
    }
    if (n == 0) {
        print_none();
        return EXIT_DONE;
    }
    table_init(&t, ENTRY_COLUMNS, ARRAY_LEN(ENTRY_COLUMNS));
    for (size_t i = 0; i < n; i++) {
        table_row(&t);
        table_cell(&t, 0, all[i].server_name);
        table_cellf(&t, 1, "(%s)%s", bundle_kind_name(all[i].kind),
                    all[i].is_disabled ? " disabled" : "");
        table_cell(&t, 2, bundle_cli_source(&x->arena, &all[i]));
    }
    table_print(&t, stdout, x->width, x->cli->has_color_out, true);
    table_done(&t);
    return EXIT_DONE;
}

static int do_bundle_list(struct conv_cli *x, const void *options, int argc, char **argv)
{
    return bundle_cli_served(x) ? list_running(x) : list_entries(x);
}

static int run_bundle_list(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc > 0)
        return cli_usage_error("bundle list takes no argument '%s'", argv[0]);
    return bundle_cli_with(cli, do_bundle_list, options, argc, argv);
}

const struct command BUNDLE_LIST = {
    .name = "list",
    .alias = "ls",
    .usage = "bundle list [--json]",
    .summary = "list bundles and their states",
    .help =
        "With a running server, shows its bundles and their states; without one, the entries of "
        "nimblebrain.json. --json prints the answer of the API, or the entries of the file.\n",
    .run = run_bundle_list,
};

/* ---- info ---- */

static void print_judgement(const struct json *tool)
{
    const struct json *warnings = json_get(tool, "warnings");
    str effect = json_get_string(tool, "effect");
    if (str_eq(effect, STR("undeclared")))
        puts("      may change things (not declared)");
    else if (str_eq(effect, STR("destroys")))
        puts("      may destroy things");
    for (size_t i = 0; warnings && i < warnings->len; i++)
        bundle_cli_print_line(stdout, "      WARNING", json_string(json_at(warnings, i), STR_NONE));
}

static void print_held(const struct json *app)
{
    long long held = json_get_int(app, "quarantinedCount", 0);
    if (held > 0)
        printf("%-12s %lld changed or new; `nb bundle approve %.*s` shows what differs\n",
               "quarantined", held, STR_ARG(json_get_string(app, "name")));
}

static void print_bundle_tools(const struct json *tools)
{
    if (!tools || tools->len == 0)
        return;
    puts("\nTools");
    for (size_t i = 0; i < tools->len; i++) {
        const struct json *t = json_at(tools, i);
        struct buf b;
        buf_init(&b, LOGS_MAX);
        buf_add_lit(&b, "  ");
        text_add_line(&b, json_get_string(t, "name"));
        buf_add_lit(&b, "  ");
        text_add_line(&b, json_get_string(t, "description"));
        printf("%s\n", buf_cstr(&b));
        buf_done(&b);
        print_judgement(t);
    }
}

static void print_number(const char *label, const struct json *v, const char *key, double unit,
                         const char *suffix)
{
    double n = json_double(json_get(v, key), -1);
    if (n >= 0)
        printf("%-12s %.0f%s\n", label, n / unit, suffix);
}

/* A running bundle is listed by the prefix of its tools; a package name is searched among them. */
static const char *name_of_package(struct conv_cli *x, const char *package)
{
    struct json *all;
    struct err e = {0};
    struct client_ask q = {.path = STR("/v1/apps")};
    if (client_ask(x->client, &q, &x->arena, &all, &e) < 0)
        return NULL;
    const struct json *apps = json_get(all, "apps");
    for (size_t i = 0; apps && i < apps->len; i++)
        if (str_eq(json_get_string(json_at(apps, i), "bundleName"), str_from(package)))
            return arena_cstr(&x->arena, json_get_string(json_at(apps, i), "name"));
    return NULL;
}

static int info_running(struct conv_cli *x, const char *name)
{
    static const struct {
        const char *label, *key;
    } LINES[] = {{"name", "name"},       {"title", "title"},
                 {"status", "status"},   {"reason", "reason"},
                 {"from", "bundleName"}, {"version", "version"},
                 {"author", "author"},   {"about", "description"},
                 {"sandbox", "sandbox"}, {"protocol", "protocolVersion"}};
    struct json *app;
    const char *installed = name[0] == '@' ? name_of_package(x, name) : name;
    if (!installed)
        return bundle_cli_registry_info(x, name);
    int code = bundle_cli_ask(x, NULL, bundle_cli_path(x, installed, ""), NULL, name, &app);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json) {
        conv_print_json(app);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++)
        bundle_cli_print_line(stdout, LINES[i].label, json_get_string(app, LINES[i].key));
    print_number("uptime", app, "uptimeMs", 1000, " s");
    print_number("memory", app, "rssBytes", 1024 * 1024, " MiB");
    print_number("restarts", app, "restartCount", 1, "");
    print_number("trust", app, "trustScore", 1, " of 100");
    print_held(app);
    print_bundle_tools(json_get(app, "tools"));
    return EXIT_DONE;
}

static void print_sandbox(struct conv_cli *x, const struct bundle_entry *b)
{
    struct buf out;
    if (b->kind == BUNDLE_REMOTE)
        return;
    buf_init(&out, LOGS_MAX);
    if (b->sandbox.is_off) {
        buf_add_lit(&out, "off: it may do whatever you may");
    } else {
        buf_printf(&out, "network %.*s", STR_ARG(network_words(&x->arena, &b->sandbox)));
        for (size_t i = 0; i < b->sandbox.read.len; i++)
            buf_printf(&out, ", reads %.*s", STR_ARG(b->sandbox.read.items[i]));
        for (size_t i = 0; i < b->sandbox.write.len; i++)
            buf_printf(&out, ", writes %.*s", STR_ARG(b->sandbox.write.items[i]));
    }
    bundle_cli_print_line(stdout, "sandbox", buf_str(&out));
    buf_done(&out);
}

/* Reads the manifest of a folder; archives and packages are unpacked only at a start. */
static void print_manifest(struct conv_cli *x, const struct bundle_entry *b)
{
    struct manifest m;
    struct err e = {0};
    struct package p = {0};
    const char *dir = NULL;
    if (b->kind == BUNDLE_LOCAL && !str_ends(b->path, STR(".mcpb")))
        dir = arena_cstr(&x->arena, b->path);
    if (b->kind == BUNDLE_NAMED &&
        package_find(&x->arena, config_path(&x->config, "apps"), b->name, &p, &e) == 0)
        dir = p.dir;
    if (!dir || package_manifest(&x->arena, dir, &m, &e) < 0)
        return;
    bundle_cli_print_line(stdout, "version", m.version);
    bundle_cli_print_line(stdout, "author", m.author);
    bundle_cli_print_line(stdout, "about", m.description);
    for (size_t i = 0; i < m.noptions; i++)
        printf("%-12s %.*s (%s%s%s)\n", i == 0 ? "values" : "", STR_ARG(m.options[i].key),
               option_type_name(m.options[i].type), m.options[i].is_required ? ", required" : "",
               m.options[i].is_sensitive ? ", secret" : "");
}

static int info_entry(struct conv_cli *x, const char *name)
{
    struct bundle_entry *all;
    size_t n;
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    const struct bundle_entry *b = bundle_cli_entry_named(all, n, str_from(name));
    if (!b && name[0] == '@')
        return bundle_cli_registry_info(x, name);
    if (!b) {
        fprintf(stderr, "nb: no bundle '%s' in %s\n", name, x->config.path);
        return EXIT_FAILED;
    }
    if (x->cli->opt.is_json) {
        conv_print_json(bundle_cli_masked(&x->arena, b->raw));
        return EXIT_DONE;
    }
    bundle_cli_print_line(stdout, "name", b->server_name);
    bundle_cli_print_line(stdout, "status",
                          b->is_disabled ? STR("disabled") : STR("no server runs"));
    bundle_cli_print_line(stdout, "from", bundle_cli_source(&x->arena, b));
    print_sandbox(x, b);
    print_manifest(x, b);
    return EXIT_DONE;
}

static int do_info(struct conv_cli *x, const void *options, int argc, char **argv)
{
    return bundle_cli_served(x) ? info_running(x, argv[0]) : info_entry(x, argv[0]);
}

static int run_info(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("bundle info: name one bundle");
    return bundle_cli_with(cli, do_info, options, argc, argv);
}

const struct command BUNDLE_INFO = {
    .name = "info",
    .usage = "bundle info NAME | @SCOPE/PACKAGE [--json]",
    .summary = "show state, sandbox and tools of a bundle",
    .help = "A package that is not installed is looked up in the registry.\n",
    .run = run_info,
};

/* ---- logs ---- */

static int do_logs(struct conv_cli *x, const void *options, int argc, char **argv)
{
    struct json *answer;
    struct buf b;
    if (!bundle_cli_served(x)) {
        fputs("nb: no server is running, so there are no logs\n", stderr);
        return EXIT_FAILED;
    }
    int code =
        bundle_cli_ask(x, NULL, bundle_cli_path(x, argv[0], "/logs"), NULL, argv[0], &answer);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json) {
        conv_print_json(answer);
        return EXIT_DONE;
    }
    str logs = json_get_string(answer, "logs");
    buf_init(&b, 4 * LOGS_MAX);
    text_add(&b, logs);
    if (logs.n > 0)
        printf("%.*s%s", STR_ARG(buf_str(&b)), str_ends(logs, STR("\n")) ? "" : "\n");
    buf_done(&b);
    return EXIT_DONE;
}

static int run_logs(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("bundle logs: name one bundle");
    return bundle_cli_with(cli, do_logs, options, argc, argv);
}

const struct command BUNDLE_LOGS = {
    .name = "logs",
    .usage = "bundle logs NAME [--json]",
    .summary = "show the last lines of a bundle's standard error",
    .run = run_logs,
};
