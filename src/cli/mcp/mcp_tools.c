/* nb mcp list, call - lists and calls the tools of all bundles. */
#include "cli/bundle/bundle.h"
#include "cli/mcp/mcp.h"
#include "cli/session/session.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"
#include "cli/term/text.h"

#define CALL_MS    (16 * 60 * 1000) /* longer than any tool may take */
#define OUTPUT_MAX (64u * 1024 * 1024)

/* ---- a client with bundles ---- */

struct work {
    int (*fn)(struct conv_cli *x, int argc, char **argv);
};

static int with_bundles(struct conv_cli *x, const void *work, int argc, char **argv)
{
    struct err e = {0};
    if (client_open_bundles(x->loop, &x->config, &x->client, &e) < 0)
        return cli_fail(&e);
    return ((const struct work *)work)->fn(x, argc, argv);
}

/* ---- list ---- */

static const struct table_column COLUMNS[] = {{"TOOL", false, STYLE_BOLD}, {"", false, 0}};

static int do_mcp_list(struct conv_cli *x, int argc, char **argv)
{
    struct json *answer;
    struct table t;
    str path = STR("/v1/tools");
    if (argc > 0)
        path = arena_printf(&x->arena, "/v1/tools?server=%.*s",
                            STR_ARG(client_encode(&x->arena, str_from(argv[0]))));
    int code = bundle_cli_ask(x, NULL, path, NULL, NULL, &answer);
    if (code != EXIT_DONE)
        return code;
    const struct json *tools = json_get(answer, "tools");
    if (x->cli->opt.is_json) {
        conv_print_json(tools);
        return EXIT_DONE;
    }
    table_init(&t, COLUMNS, ARRAY_LEN(COLUMNS));
    for (size_t i = 0; tools && i < tools->len; i++) {
        table_row(&t);
        table_cell(&t, 0, json_get_string(json_at(tools, i), "name"));
        table_cell(&t, 1, json_get_string(json_at(tools, i), "description"));
    }
    if (t.nrows > 0)
        table_print(&t, stdout, x->width, x->cli->has_color_out, true);
    else
        fputs("There are no tools.\n", stderr);
    table_done(&t);
    return EXIT_DONE;
}

static int run_mcp_list(struct cli *cli, const void *options, int argc, char **argv)
{
    static const struct work LIST = {do_mcp_list};
    if (argc > 1)
        return cli_usage_error("mcp list: name one bundle, or none for all");
    return conv_with(cli, false, with_bundles, &LIST, argc, argv);
}

const struct command CMD_MCP_LIST = {
    .name = "list",
    .usage = "mcp list [BUNDLE] [--json]",
    .summary = "list all tools, or those of one bundle",
    .help =
        "Without a running server, starts the bundles of the settings and stops them afterwards.\n",
    .run = run_mcp_list,
};

/* ---- call ---- */

/* Values on a command line: valid JSON is parsed, everything else is text. */
/* Whether the tool's schema requires a string for this argument: then 5 is the text "5". */
static bool wants_string(const struct json *schema, str key)
{
    const struct json *type = json_get(json_get_str(json_get(schema, "properties"), key), "type");
    return str_eq(json_string(type, STR_NONE), STR("string"));
}

static struct json value_of(struct conv_cli *x, const struct json *schema, str key, str text)
{
    struct json *v;
    if (wants_string(schema, key))
        return json_of_str(text);
    if (json_parse(&x->arena, text, JSON_COPY, &v, NULL) == 0)
        return *v;
    return json_of_str(text);
}

static int read_arguments(struct conv_cli *x, const struct json *schema, int argc, char **argv,
                          struct json **ret)
{
    struct err e = {0};
    struct json *args = json_new(&x->arena, JSON_OBJECT);
    if (argc == 1 && argv[0][0] == '{') {
        if (json_parse(&x->arena, str_from(argv[0]), JSON_COPY, &args, &e) < 0)
            return cli_usage_error("mcp call: the arguments are not JSON: %s", e.msg);
        *ret = args;
        return EXIT_DONE;
    }
    for (int i = 0; i < argc; i++) {
        str pair = str_from(argv[i]);
        ptrdiff_t eq = str_find_char(pair, '=');
        if (eq <= 0)
            return cli_usage_error("mcp call: '%s' is neither KEY=VALUE nor an object", argv[i]);
        str key = str_slice(pair, 0, (size_t)eq);
        json_set(&x->arena, args, key, value_of(x, schema, key, str_skip(pair, (size_t)eq + 1)));
    }
    *ret = args;
    return EXIT_DONE;
}

static void print_content(const struct json *content)
{
    for (size_t i = 0; content && i < content->len; i++) {
        const struct json *block = json_at(content, i);
        str text = json_get_string(block, "text");
        struct buf b;
        if (!str_eq(json_get_string(block, "type"), STR("text"))) {
            conv_print_json(block);
            continue;
        }
        buf_init(&b, OUTPUT_MAX);
        text_add(&b, text);
        printf("%.*s\n", STR_ARG(buf_str(&b)));
        buf_done(&b);
    }
}

/* "echo__say" is the tool say of the bundle echo: the list shows where to split. A name that is not
 * in the list is split at the first place, and the server reports what is wrong. */
static int find_tool(struct conv_cli *x, const char *name, struct json *body,
                     const struct json **ret_schema)
{
    struct json *answer;
    ptrdiff_t cut = str_find(str_from(name), STR("__"), 0);
    int code = bundle_cli_ask(x, NULL, STR("/v1/tools"), NULL, NULL, &answer);
    const struct json *tools = code == EXIT_DONE ? json_get(answer, "tools") : NULL;
    for (size_t i = 0; tools && i < tools->len; i++) {
        const struct json *t = json_at(tools, i);
        if (!str_eq(json_get_string(t, "name"), str_from(name)))
            continue;
        *ret_schema = json_get(t, "inputSchema");
        json_set(&x->arena, body, STR("server"), *json_get(t, "server"));
        json_set(&x->arena, body, STR("tool"), *json_get(t, "tool"));
        return EXIT_DONE;
    }
    if (code != EXIT_DONE)
        return code;
    if (cut <= 0) {
        fprintf(stderr, "nb: no tool '%s'; nb mcp list shows all\n", name);
        return EXIT_FAILED;
    }
    json_set(&x->arena, body, STR("server"), json_of_str((str){name, (size_t)cut}));
    json_set(&x->arena, body, STR("tool"), json_of_str(str_skip(str_from(name), (size_t)cut + 2)));
    return EXIT_DONE;
}

static int do_call(struct conv_cli *x, int argc, char **argv)
{
    struct json *args, *answer, *body = json_new(&x->arena, JSON_OBJECT);
    struct err e = {0};
    const struct json *schema = NULL;
    int code = find_tool(x, argv[0], body, &schema);
    if (code == EXIT_DONE)
        code = read_arguments(x, schema, argc - 1, argv + 1, &args);
    if (code != EXIT_DONE)
        return code;
    json_set(&x->arena, body, STR("arguments"), *args);
    session_add_directory(&x->arena, &x->config, body);
    struct client_ask q = {.method = "POST",
                           .path = STR("/v1/tools/call"),
                           .body = json_to_str(&x->arena, body),
                           .timeout_ms = CALL_MS};
    if (client_ask(x->client, &q, &x->arena, &answer, &e) < 0)
        return cli_fail(&e);
    if (x->cli->opt.is_json)
        conv_print_json(answer);
    else
        print_content(json_get(answer, "content"));
    return json_get_bool(answer, "isError", false) ? EXIT_FAILED : EXIT_DONE;
}

static int run_call(struct cli *cli, const void *options, int argc, char **argv)
{
    static const struct work CALL = {do_call};
    if (argc == 0)
        return cli_usage_error("mcp call: name a tool, then its arguments");
    return conv_with(cli, false, with_bundles, &CALL, argc, argv);
}

const struct command CMD_MCP_CALL = {
    .name = "call",
    .usage = "mcp call TOOL [KEY=VALUE... | JSON] [--json]",
    .summary = "call a tool",
    .help = "  nb mcp call echo__say text=hello times=2\n"
            "  nb mcp call echo__say '{\"text\": \"hello\"}'\n\n"
            "Values that are JSON (numbers, true, lists) are passed as such, unless the schema of\n"
            "the tool wants a string. Exits with 1 when the tool reports an error.\n",
    .run = run_call,
};
