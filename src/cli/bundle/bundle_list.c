/* nb bundle list, info, logs. */
#include "bundle/package/package.h"
#include "bundle/sandbox/network_reach.h"
#include "cli/bundle/bundle.h"
#include "cli/session/client.h"
#include "cli/term/styled.h"

#define LOGS_MAX (1024u * 1024)

/* ---- list ---- */

static str show_tool_count(struct cmd *x, const struct json *app)
{
    long long held = json_get_int(app, "quarantinedCount", 0);
    return arena_printf(&x->arena, held > 0 ? "%lld (+%lld)" : "%lld",
                        (long long)json_get_int(app, "toolCount", 0), held);
}

static str show_kind(struct cmd *x, const struct json *app)
{
    return arena_printf(&x->arena, "(%.*s)", STR_ARG(json_get_string(app, "kind")));
}

static const struct cmd_column RUNNING_COLUMNS[] = {
    {"NAME", "name", .style = STYLE_BOLD},
    {"STATUS", "status"},
    {"TOOLS", .show = show_tool_count, .is_right = true},
    {"VERSION", "version"},
    {"KIND", .show = show_kind, .style = STYLE_DIM},
    {"FROM", "bundleName"},
    {"REASON", "reason"}, /* not shown when all are fine */
};

static bool has_reason(const struct json *apps)
{
    for (size_t i = 0; i < apps->len; i++)
        if (json_get_string(json_at(apps, i), "reason").n > 0)
            return true;
    return false;
}

static const struct cmd_column ENTRY_COLUMNS[] = {
    {"NAME", "serverName", .style = STYLE_BOLD},
    {"KIND", "kind", .style = STYLE_DIM},
    {"FROM", "from"},
};

/* The entries of the settings file, as --json prints them or with the cells of the table. */
static struct json *entries_json(struct cmd *x, const struct bundle_entry *all, size_t n)
{
    struct json *list = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < n; i++) {
        bool is_json = x->cli->opt.is_json;
        struct json *row =
            is_json ? bundle_cli_masked(&x->arena, all[i].raw) : json_new(&x->arena, JSON_OBJECT);
        json_set(&x->arena, row, STR("serverName"), json_of_str(all[i].server_name));
        if (!is_json) {
            str kind = arena_printf(&x->arena, "(%s)%s", bundle_kind_name(all[i].kind),
                                    all[i].is_disabled ? " disabled" : "");
            json_set(&x->arena, row, STR("kind"), json_of_str(kind));
            json_set(&x->arena, row, STR("from"),
                     json_of_str(bundle_cli_source(&x->arena, &all[i])));
        }
        json_push(&x->arena, list, *row);
    }
    return list;
}

static int bundle_list(struct cmd *x)
{
    bool is_served = bundle_cli_served(x);
    struct bundle_entry *all;
    size_t n;
    const struct json *rows;
    if (is_served)
        rows = json_get(cmd_ask(x, NULL, STR("/v1/apps"), NULL, NULL), "apps");
    else
        rows = bundle_cli_entries(x, &all, &n) == EXIT_DONE ? entries_json(x, all, n) : NULL;
    if (!rows)
        return EXIT_FAILED;
    if (x->cli->opt.is_json || rows->len == 0)
        return cmd_say(x, rows,
                       is_served || x->config.no_default_bundles
                           ? "No bundles yet. `nb bundle search WORDS` finds some, `nb bundle "
                             "add` adds one."
                           : "No bundles besides the built-in bash. `nb bundle search WORDS` finds "
                             "some, `nb bundle add` adds one.");
    if (is_served)
        cmd_table(x, rows, RUNNING_COLUMNS, ARRAY_LEN(RUNNING_COLUMNS) - !has_reason(rows), true);
    else
        cmd_table(x, rows, ENTRY_COLUMNS, ARRAY_LEN(ENTRY_COLUMNS), true);
    return EXIT_DONE;
}

const struct command BUNDLE_LIST = {
    .name = "list",
    .alias = "ls",
    .summary = "list bundles and their states",
    .help =
        "With a running server, shows its bundles and their states; without one, the entries of "
        "nimblebrain.json. --json prints the answer of the API, or the entries of the file.\n",
    .needs = NEEDS_PLACE | WORKS_ELSEWHERE,
    .run = bundle_list,
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

#define TOOL_COLUMN_MAX 36 /* longer names push their own description to the right */

static int tool_column(struct cmd *x, const struct json *tools)
{
    size_t width = 0;
    for (size_t i = 0; i < tools->len; i++) {
        size_t n = cmd_line(x, json_get_string(json_at(tools, i), "name")).n;
        width = n > width && n <= TOOL_COLUMN_MAX ? n : width;
    }
    return (int)width;
}

static void print_bundle_tools(struct cmd *x, const struct json *tools)
{
    if (!tools || tools->len == 0)
        return;
    int width = tool_column(x, tools);
    puts("\nTools");
    for (size_t i = 0; i < tools->len; i++) {
        const struct json *t = json_at(tools, i);
        printf("  %-*.*s  %.*s\n", width, STR_ARG(cmd_line(x, json_get_string(t, "name"))),
               STR_ARG(cmd_line(x, json_get_string(t, "description"))));
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
static const char *name_of_package(struct cmd *x, const char *package)
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

static int info_running(struct cmd *x, const char *name)
{
    static const struct {
        const char *label, *key;
    } LINES[] = {{"name", "name"},       {"title", "title"},
                 {"status", "status"},   {"reason", "reason"},
                 {"from", "bundleName"}, {"version", "version"},
                 {"author", "author"},   {"about", "description"},
                 {"sandbox", "sandbox"}, {"protocol", "protocolVersion"}};
    const char *installed = name[0] == '@' ? name_of_package(x, name) : name;
    if (!installed)
        return bundle_cli_registry_info(x, name);
    const struct json *app = cmd_ask(x, NULL, bundle_cli_path(x, installed, ""), NULL, name);
    if (!app)
        return EXIT_FAILED;
    if (cmd_json(x, app))
        return EXIT_DONE;
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++)
        bundle_cli_print_line(stdout, LINES[i].label, json_get_string(app, LINES[i].key));
    print_number("uptime", app, "uptimeMs", 1000, " s");
    print_number("memory", app, "rssBytes", 1024 * 1024, " MiB");
    print_number("restarts", app, "restartCount", 1, "");
    print_number("trust", app, "trustScore", 1, " of 100");
    print_held(app);
    print_bundle_tools(x, json_get(app, "tools"));
    return EXIT_DONE;
}

static void print_sandbox(struct cmd *x, const struct bundle_entry *b)
{
    struct buf out;
    if (b->kind == BUNDLE_REMOTE)
        return;
    buf_init(&out, LOGS_MAX);
    if (b->sandbox.is_off) {
        buf_add_lit(&out, "off: it may do everything that you may do");
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
static void print_manifest(struct cmd *x, const struct bundle_entry *b)
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

static int info_entry(struct cmd *x, const char *name)
{
    struct bundle_entry *all;
    size_t n;
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    const struct bundle_entry *b = bundle_cli_entry_named(all, n, str_from(name));
    if (!b && name[0] == '@')
        return bundle_cli_registry_info(x, name);
    if (!b)
        return cli_failed("no bundle '%s' in %s", name, x->config.path);
    if (cmd_json(x, bundle_cli_masked(&x->arena, b->raw)))
        return EXIT_DONE;
    bundle_cli_print_line(stdout, "name", b->server_name);
    bundle_cli_print_line(stdout, "status",
                          b->is_disabled ? STR("disabled") : STR("no server is running"));
    bundle_cli_print_line(stdout, "from", bundle_cli_source(&x->arena, b));
    print_sandbox(x, b);
    print_manifest(x, b);
    return EXIT_DONE;
}

static int bundle_info(struct cmd *x)
{
    return bundle_cli_served(x) ? info_running(x, x->argv[0]) : info_entry(x, x->argv[0]);
}

const struct command BUNDLE_INFO = {
    .name = "info",
    .operands = "NAME|@SCOPE/PACKAGE",
    .summary = "show state, sandbox and tools of a bundle",
    .help = "A package that is not installed is looked up in the registry.\n",
    .needs = NEEDS_PLACE | WORKS_ELSEWHERE,
    .run = bundle_info,
};

/* ---- logs ---- */

static int bundle_logs(struct cmd *x)
{
    if (!bundle_cli_served(x))
        return cli_failed("no server is running, so there are no logs");
    const char *name = x->argv[0];
    const struct json *answer = cmd_ask(x, NULL, bundle_cli_path(x, name, "/logs"), NULL, name);
    if (!answer)
        return EXIT_FAILED;
    str logs = json_get_string(answer, "logs");
    if (cmd_json(x, answer) || logs.n == 0)
        return EXIT_DONE;
    cmd_print_text(logs);
    fputs(str_ends(logs, STR("\n")) ? "" : "\n", stdout);
    return EXIT_DONE;
}

const struct command BUNDLE_LOGS = {
    .name = "logs",
    .operands = "NAME",
    .summary = "show the last lines of a bundle's standard error",
    .needs = NEEDS_PLACE | WORKS_ELSEWHERE,
    .run = bundle_logs,
};
