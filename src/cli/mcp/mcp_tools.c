/* nb mcp list|call|bash - lists and calls the tools of all bundles; the server of bash. */
#include <unistd.h>

#include "bundle/bash/bash_server.h"
#include "cli/command.h"
#include "cli/session/client.h"
#include "cli/session/session.h"
#include "cli/term/styled.h"
#include "store/event/parts.h"

#define CALL_MS (16 * 60 * 1000) /* longer than any tool may take */

/* ---- list ---- */

static int mcp_list(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {{"TOOL", "name", .style = STYLE_BOLD},
                                                {"", "description"}};
    str path = STR("/v1/tools");
    if (x->argc > 0)
        path = arena_printf(&x->arena, "/v1/tools?server=%.*s",
                            STR_ARG(client_encode(&x->arena, str_from(x->argv[0]))));
    const struct json *answer = cmd_ask(x, NULL, path, NULL, NULL);
    const struct json *tools = json_get(answer, "tools");
    if (!tools)
        return EXIT_FAILED;
    if (!x->cli->opt.is_json)
        return cmd_list(x, tools, COLUMNS, ARRAY_LEN(COLUMNS), "There are no tools.");
    cmd_print_json(tools);
    return EXIT_DONE;
}

static const struct command MCP_LIST = {
    .name = "list",
    .operands = "[BUNDLE]",
    .summary = "list all tools, or those of one bundle",
    .help =
        "Without a running server, starts the bundles of the settings and stops them afterwards.\n",
    .needs = NEEDS_BUNDLES | WORKS_ELSEWHERE,
    .run = mcp_list,
};

/* ---- call ---- */

/* Whether the tool's schema requires a string for this argument: then 5 is the text "5". */
static bool wants_string(const struct json *schema, str key)
{
    const struct json *type = json_get(json_get_str(json_get(schema, "properties"), key), "type");
    return str_eq(json_string(type, STR_NONE), STR("string"));
}

/* Values on a command line: valid JSON is parsed, everything else is text. */
static struct json value_of(struct cmd *x, const struct json *schema, str key, str text)
{
    struct json *v;
    if (wants_string(schema, key))
        return json_of_str(text);
    if (json_parse(&x->arena, text, JSON_COPY, &v, NULL) == 0)
        return *v;
    return json_of_str(text);
}

static int read_arguments(struct cmd *x, const struct json *schema, int argc, char **argv,
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

/* Bytes are named with type and size: a terminal cannot show them, and --json prints them. */
static bool has_bytes(const struct json *block)
{
    return json_get_string(block, "data").n > 0 ||
           json_get_string(json_get(block, "resource"), "blob").n > 0;
}

/* As text: a server may write what a terminal would obey into its JSON. */
static void print_block(const struct json *block)
{
    struct buf b;
    buf_init(&b, 2 * CLIENT_BODY_MAX);
    json_write(&b, block);
    cmd_print_text(buf_str(&b));
    putchar('\n');
    buf_done(&b);
}

static void print_content(struct cmd *x, const struct json *content)
{
    for (size_t i = 0; content && i < content->len; i++) {
        const struct json *block = json_at(content, i);
        str text = json_get_string(block, "text");
        if (!str_eq(json_get_string(block, "type"), STR("text"))) {
            str label = has_bytes(block) ? parts_label(&x->arena, block) : STR_NONE;
            if (label.n > 0)
                printf("%.*s (--json prints its bytes)\n", STR_ARG(cmd_line(x, label)));
            else
                print_block(block);
            continue;
        }
        cmd_print_text(text);
        putchar('\n');
    }
}

/* "echo__say" is the tool say of the bundle echo: the list shows where to split. A name that is not
 * in the list is split at the first place, and the server reports what is wrong. */
static int find_tool(struct cmd *x, const char *name, struct json *body,
                     const struct json **ret_schema)
{
    ptrdiff_t cut = str_find(str_from(name), STR("__"), 0);
    const struct json *answer = cmd_ask(x, NULL, STR("/v1/tools"), NULL, NULL);
    const struct json *tools = json_get(answer, "tools");
    for (size_t i = 0; tools && i < tools->len; i++) {
        const struct json *t = json_at(tools, i);
        if (!str_eq(json_get_string(t, "name"), str_from(name)))
            continue;
        *ret_schema = json_get(t, "inputSchema");
        json_set(&x->arena, body, STR("server"), *json_get(t, "server"));
        json_set(&x->arena, body, STR("tool"), *json_get(t, "tool"));
        return EXIT_DONE;
    }
    if (!answer)
        return EXIT_FAILED;
    if (cut <= 0)
        return cli_failed("no tool '%s'; nb mcp list shows all", name);
    json_set(&x->arena, body, STR("server"), json_of_str((str){name, (size_t)cut}));
    json_set(&x->arena, body, STR("tool"), json_of_str(str_skip(str_from(name), (size_t)cut + 2)));
    return EXIT_DONE;
}

static int mcp_call(struct cmd *x)
{
    struct json *args = NULL, *answer, *body = json_new(&x->arena, JSON_OBJECT);
    struct err e = {0};
    const struct json *schema = NULL;
    int code = find_tool(x, x->argv[0], body, &schema);
    if (code == EXIT_DONE)
        code = read_arguments(x, schema, x->argc - 1, x->argv + 1, &args);
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
    if (!cmd_json(x, answer))
        print_content(x, json_get(answer, "content"));
    return json_get_bool(answer, "isError", false) ? EXIT_FAILED : EXIT_DONE;
}

static const struct command MCP_CALL = {
    .name = "call",
    .operands = "TOOL [KEY=VALUE...|JSON]",
    .summary = "call a tool",
    .help = "  nb mcp call echo__say text=hello times=2\n"
            "  nb mcp call echo__say '{\"text\": \"hello\"}'\n\n"
            "Values that are JSON (numbers, true, lists) are passed as such, unless the schema of\n"
            "the tool wants a string. Exits with 1 when the tool reports an error.\n",
    .needs = NEEDS_BUNDLES | WORKS_ELSEWHERE,
    .run = mcp_call,
};

static int mcp_bash(struct cmd *x)
{
    return bash_serve(STDIN_FILENO, STDOUT_FILENO) == 0 ? EXIT_DONE : EXIT_FAILED;
}

static const struct command MCP_BASH = {
    .name = "bash",
    .summary = "serve the tool bash_exec over stdin and stdout",
    .help = "This is the default bundle. nb starts it in a sandbox; a command that you start "
            "yourself has no sandbox.\n",
    .needs = WRITES_PROTOCOL,
    .run = mcp_bash,
};

static const struct command *const SUBS[] = {&MCP_LIST, &MCP_CALL, &CMD_MCP_SERVE, &MCP_BASH, NULL};

const struct command CMD_MCP = {
    .name = "mcp",
    .summary = "list, call and serve tools",
    .subs = SUBS,
};
