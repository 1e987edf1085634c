/* nb access - the tables of rights, as they are enforced: docs/access.md is made of this. */
#include "api/routes.h"
#include "builtin/builtin.h"
#include "cli/cli.h"
#include "gateway/gateway.h"

#define TABLE_MAX (1024u * 1024)

static str scope_name(unsigned scope)
{
    return scope == 0 ? STR("open") : auth_scope_name((enum auth_scope)scope);
}

static str space_name(enum ws_role role)
{
    return role == WS_NONE ? STR("") : ws_role_name(role);
}

/* ---- JSON ---- */

static void write_rule(struct json_writer *w, const struct access_rule *rule)
{
    jw_kstr(w, "scope", scope_name(rule->scope));
    jw_kstr(w, "server", org_role_name(rule->server));
    jw_kstr(w, "workspace", space_name(rule->space));
    jw_kstr(w, "conversation", rule_conv_name(rule->conv));
    jw_kstr(w, "tokens", rule_tokens_name(rule->tokens));
}

static void write_routes(struct json_writer *w)
{
    size_t n;
    const struct route *routes = api_routes(&n);
    jw_key(w, "routes");
    jw_array(w);
    for (size_t i = 0; i < n; i++) {
        const struct access_rule *rule = api_rule(&routes[i]);
        jw_object(w);
        jw_kstr(w, "method", str_from(routes[i].method));
        jw_kstr(w, "path", str_from(routes[i].pattern));
        jw_kstr(w, "target", str_from(api_route_target(&routes[i])));
        write_rule(w, rule);
        jw_kbool(w, "own", rule->is_own);
        jw_kbool(w, "local", rule->is_local);
        jw_end(w);
    }
    jw_end(w);
}

static void write_access_tools(struct json_writer *w)
{
    struct builtin_access t;
    jw_key(w, "tools");
    jw_array(w);
    for (size_t i = 0; builtin_access_at(i, &t); i++) {
        jw_object(w);
        jw_kstr(w, "source", str_from(t.source));
        jw_kstr(w, "name", str_from(t.name));
        jw_kstr(w, "action", str_from(t.action));
        jw_kstr(w, "argumentScope", str_from(t.scope));
        write_rule(w, &t.rule);
        jw_kbool(w, "readOnly", t.is_read_only);
        jw_end(w);
    }
    jw_end(w);
}

/* Tools that only exist at /mcp. */
static void write_mcp_tools(struct json_writer *w)
{
    jw_key(w, "mcpTools");
    jw_array(w);
    jw_object(w);
    jw_kstr(w, "name", STR(GATEWAY_CHAT_TOOL));
    write_rule(w, gateway_chat_rule());
    jw_end(w);
    jw_end(w);
}

static void write_methods(struct json_writer *w)
{
    struct gateway_method m;
    jw_key(w, "methods");
    jw_array(w);
    for (size_t i = 0; gateway_method_at(i, &m); i++) {
        jw_object(w);
        jw_kstr(w, "name", m.name);
        jw_kstr(w, "scope", scope_name(SCOPE_MCP));
        jw_kstr(w, "workspace", ws_role_name(WS_MEMBER));
        jw_kbool(w, "legacy", m.is_legacy);
        jw_kbool(w, "modern", m.is_modern);
        jw_kbool(w, "filtered", m.is_filtered);
        jw_end(w);
    }
    jw_end(w);
}

static void print_access_json(struct buf *out)
{
    struct json_writer w;
    jw_init(&w, out);
    jw_object(&w);
    write_routes(&w);
    write_access_tools(&w);
    write_mcp_tools(&w);
    write_methods(&w);
    jw_end(&w);
    buf_add_lit(out, "\n");
}

/* ---- Markdown ---- */

static const char INTRO[] =
    "# Who may do what\n\n"
    "Printed by `nb access`; `nb access --json` prints the same for programs. These tables are "
    "the\n"
    "ones that nb enforces.\n\n"
    "- **scope**: what an API token needs. People who have logged in have all scopes. `open`: no\n"
    "  credentials are needed.\n"
    "- **server**: the lowest role on the server. With `or self` people may do it about "
    "themselves.\n"
    "- **workspace**: the lowest role in the workspace. In rows about a workspace (`:ws`) admins "
    "of\n"
    "  the server count as admins of it.\n"
    "- **conversation**: the right in the conversation. Its owner has all; participants have "
    "`view`\n"
    "  and `send`; admins of the workspace have `view` and `share`; others have none. In the trash "
    "a\n"
    "  conversation exists only for those with `manage`.\n"
    "- **tokens**: `any`; `wide`: no limit of tools; `whole`: neither a limit of tools nor bound "
    "to\n"
    "  one workspace; `none`: only people who have logged in.\n\n"
    "How a request is refused:\n\n"
    "- 401: there are no credentials, or they are not valid.\n"
    "- 403 and the reason: the token, the role on the server or the role in the workspace is not\n"
    "  enough; or one sees the conversation and may not do this with it (a participant who wants "
    "to\n"
    "  share, an admin of the workspace who wants to write). A workspace named by `X-Workspace-Id` "
    "that\n"
    "  one is not a member of gets 403 as well, whether it exists or not.\n"
    "- 404: one may not see the conversation, the workspace of the path or the person of the path, "
    "or\n"
    "  it does not exist. Both look the same.\n\n"
    "Tools say the same in words, in a result with `isError`, over `POST /v1/tools/call`, at "
    "`/mcp` "
    "and\n"
    "in runs. A run asks nobody for permission for a call that would be refused anyway. Over "
    "`nb.sock`\n"
    "the owner of nb's files may do everything. Owners of the server are changed by owners only.\n";

static void add_row(struct buf *out, str what, const char *about, const struct access_rule *rule)
{
    str server = rule->server > ORG_MEMBER ? org_role_name(rule->server) : STR("");
    buf_printf(out, "| `%.*s` | %s | %.*s | %.*s%s | %.*s | %.*s | %.*s |\n", STR_ARG(what), about,
               STR_ARG(scope_name(rule->scope)), STR_ARG(server),
               rule->is_local ? "nb.sock only" : (rule->is_own ? " or self" : ""),
               STR_ARG(space_name(rule->space)), STR_ARG(rule_conv_name(rule->conv)),
               STR_ARG(rule_tokens_name(rule->tokens)));
}

static void print_routes(struct buf *out, struct arena *a)
{
    size_t n;
    const struct route *routes = api_routes(&n);
    buf_add_lit(out, "\n## Routes\n\n"
                     "| route | about | scope | server | workspace | conversation | tokens |\n"
                     "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++)
        add_row(out, arena_printf(a, "%s %s", routes[i].method, routes[i].pattern),
                api_route_target(&routes[i]), api_rule(&routes[i]));
}

/* "nb__manage_skill create scope=personal" */
static str tool_label(struct arena *a, const struct builtin_access *t)
{
    return arena_printf(a, "%s__%s%s%s%s%s", t->source, t->name, t->action ? " " : "",
                        t->action ? t->action : "", t->scope ? " scope=" : "",
                        t->scope ? t->scope : "");
}

static void print_access_tools(struct buf *out, struct arena *a)
{
    struct builtin_access t;
    buf_add_lit(
        out,
        "\n## Built-in tools\n\n"
        "`POST /v1/tools/call` asks for the scope `write` besides the scope of the tool; at\n"
        "`/mcp` the scope `mcp` covers tools that read and tools that write. What asks for "
        "`admin`\n"
        "asks for it on both ways, and inside runs. Tools of bundles are for members. A token's\n"
        "limit of tools holds everywhere: what it leaves out is neither listed nor callable.\n\n"
        "| tool | about | scope | server | workspace | conversation | tokens |\n"
        "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; builtin_access_at(i, &t); i++)
        add_row(out, tool_label(a, &t), t.is_read_only ? "reads" : "changes", &t.rule);
    add_row(out, STR(GATEWAY_CHAT_TOOL), "changes, at `/mcp` only", gateway_chat_rule());
}

static void print_methods(struct buf *out)
{
    struct gateway_method m;
    buf_add_lit(out, "\n## MCP methods\n\n"
                     "All are for members of the workspace and ask for the scope `mcp`.\n\n"
                     "| method | eras | limit of tools |\n|---|---|---|\n");
    for (size_t i = 0; gateway_method_at(i, &m); i++)
        buf_printf(out, "| `%.*s` | %s | %s |\n", STR_ARG(m.name),
                   m.is_legacy && m.is_modern ? "both" : (m.is_modern ? "modern" : "legacy"),
                   m.is_filtered ? "holds" : "does not matter");
}

static int run_access(struct cli *cli, const void *options, int argc, char **argv)
{
    struct arena a;
    struct buf out;
    if (argc > 0)
        return cli_usage_error("access: unexpected '%s'", argv[0]);
    arena_init(&a);
    buf_init(&out, TABLE_MAX);
    if (cli->opt.is_json) {
        print_access_json(&out);
    } else {
        buf_add_lit(&out, INTRO);
        print_routes(&out, &a);
        print_access_tools(&out, &a);
        print_methods(&out);
    }
    fwrite(out.p, 1, out.n, stdout);
    buf_done(&out);
    arena_done(&a);
    return EXIT_DONE;
}

const struct command CMD_ACCESS = {
    .name = "access",
    .usage = "access [--json]",
    .summary = "print who may use which routes, tools, methods",
    .help = "Prints the tables that nb enforces, as Markdown or as JSON.\n",
    .run = run_access,
};
