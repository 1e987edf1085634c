/* /v1/tools and /v1/tools/call, and passing requests on to /mcp. The fake tools of the rig belong
 * to the source "t". */
#include "support/api_rig.h"

#define CALL "/v1/tools/call"

static const char *names_of(struct api_rig *t, const struct api_answer *a)
{
    const struct json *list = json_get(a->json, "tools");
    const char *all = "";
    for (size_t i = 0; list && i < list->len; i++)
        all = api_path(t, "%s%s%s", all, i > 0 ? " " : "", api_text(t, &list->items[i], "name"));
    return all;
}

static void add_narrow_token(struct api_rig *t)
{
    static str globs[] = {STR_INIT("t__p*"), STR_INIT("t__r*")};
    api_add_token(t, "narrow",
                  (struct auth_new_token){
                      .user_id = STR("usr_ben"), .scopes = SCOPE_ALL, .tools = {globs, 2}});
}

/* ---- listing ---- */

TEST_WITH(tools_are_listed_with_both_names, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/tools");
    assert_string_equal(names_of(t, &a), "t__drop t__fail t__hang t__ping t__read t__slow");
    const struct json *drop = &json_get(a.json, "tools")->items[0];
    assert_string_equal(api_text(t, drop, "server"), "t");
    assert_string_equal(api_text(t, drop, "tool"), "drop");
    assert_string_equal(api_part(t, drop, "annotations"), "{\"destructiveHint\":true}");
    a = api_get(t, "ben", "/v1/tools?server=other");
    assert_string_equal(names_of(t, &a), "");
}

TEST_WITH(a_token_lists_only_its_tools, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    add_narrow_token(t);
    struct api_answer a = api_get(t, "narrow", "/v1/tools");
    assert_string_equal(names_of(t, &a), "t__ping t__read");
}

TEST_WITH(internal_tools_are_hidden_and_those_for_admins_from_members, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    rig_tools.tools[0].is_admin_only = true; /* ping */
    rig_tools.tools[1].is_internal = true;   /* slow */
    struct api_answer a = api_get(t, "ben", "/v1/tools");
    assert_string_equal(names_of(t, &a), "t__drop t__fail t__hang t__read");
    a = api_get(t, "ana", "/v1/tools");
    assert_string_equal(names_of(t, &a), "t__drop t__fail t__hang t__ping t__read");
    assert_refused(api_call(t, "ben", "POST", CALL, "{\"server\":\"t\",\"tool\":\"ping\"}"), 404,
                   "tool_not_found", "Unknown tool 't__ping'.");
    assert_refused(api_call(t, "ana", "POST", CALL, "{\"server\":\"t\",\"tool\":\"slow\"}"), 404,
                   "tool_not_found", "Unknown tool 't__slow'.");
    assert_int_equal(rig_tools.started, 0);
}

/* ---- calling ---- */

TEST_WITH(a_tool_is_called_by_either_name_for_its_caller, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const BODIES[] = {
        "{\"server\":\"t\",\"tool\":\"ping\",\"arguments\":{\"a\":1}}",
        "{\"server\":\"t\",\"tool\":\"t__ping\",\"arguments\":{\"a\":1}}"};
    for (size_t i = 0; i < ARRAY_LEN(BODIES); i++) {
        struct api_answer a = api_call(t, "ben", "POST", CALL, BODIES[i]);
        assert_status(a, 200);
        assert_string_equal(api_part(t, a.json, ""),
                            "{\"content\":[{\"type\":\"text\",\"text\":\"pong\"}],"
                            "\"isError\":false,\"result\":\"pong\"}");
        assert_string_equal(rig_tools.args, "{\"a\":1}");
        assert_string_equal(rig_tools.user_id, "usr_ben");
    }
    assert_int_equal(rig_tools.started, 2);
}

TEST_WITH(a_text_that_is_json_is_also_given_parsed, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    rig_tools.answer = "{\"n\":[1,2]}";
    struct api_answer a = api_call(t, "ben", "POST", CALL, "{\"server\":\"t\",\"tool\":\"ping\"}");
    assert_string_equal(api_part(t, a.json, "result"), "{\"n\":[1,2]}");
    assert_string_equal(rig_tools.args, "{}"); /* no arguments: an empty object */
}

TEST_WITH(an_error_of_the_tool_is_a_result, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_call(t, "ben", "POST", CALL, "{\"server\":\"t\",\"tool\":\"fail\"}");
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "isError"), "true");
    assert_string_equal(api_text(t, a.json, "result"), "it failed");
}

TEST_WITH(a_bad_call_is_refused_with_the_reason, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *body;
        int status;
        const char *error, *words;
    } CASES[] = {
        {"{\"tool\":\"ping\"}", 400, "bad_request", "server: required but missing"},
        {"{\"server\":\"t\",\"tool\":\"ping\",\"arguments\":[]}", 400, "bad_request",
         "arguments: expected object"},
        {"{\"server\":\"t\",\"tool\":\"pong\"}", 404, "tool_not_found", "Unknown tool 't__pong'."},
        {"{\"server\":\"x\",\"tool\":\"ping\"}", 404, "tool_not_found", "Unknown tool 'x__ping'."},
        {"{\"server\":\"t\",\"tool\":\"ping\",\"workingDirectory\":{\"path\":\"/\",\"id\":\"x\"}}",
         403, "forbidden",
         "workingDirectory: only a terminal on the server's own machine may set it, through the "
         "server's socket (nb.sock)."},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_refused(api_call(t, "ben", "POST", CALL, CASES[i].body), CASES[i].status,
                       CASES[i].error, CASES[i].words);
    assert_int_equal(rig_tools.started, 0);
}

TEST_WITH(arguments_that_do_not_match_the_schema_never_reach_the_tool, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct json *schema;
    json_parse(&t->rig->arena,
               STR("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
                   "\"required\":[\"n\"]}"),
               0, &schema, NULL);
    rig_tools.tools[0].input_schema = schema;
    struct api_answer a = api_call(
        t, "ben", "POST", CALL, "{\"server\":\"t\",\"tool\":\"ping\",\"arguments\":{\"n\":\"x\"}}");
    assert_status(a, 400);
    assert_string_equal(api_text(t, a.json, "error"), "invalid_input");
    assert_string_equal(api_text(t, a.json, "details.tool"), "t__ping");
    assert_int_equal(rig_tools.started, 0);
    assert_status(api_call(t, "ben", "POST", CALL,
                           "{\"server\":\"t\",\"tool\":\"ping\",\"arguments\":{\"n\":3}}"),
                  200);
}

TEST_WITH(a_token_calls_only_its_tools_and_scopes, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    rig_tools.tools[0].scope = SCOPE_ADMIN; /* ping */
    add_narrow_token(t);
    assert_refused(api_call(t, "narrow", "POST", CALL, "{\"server\":\"t\",\"tool\":\"drop\"}"), 403,
                   "forbidden", "This token does not allow that tool.");
    assert_status(api_call(t, "narrow", "POST", CALL, "{\"server\":\"t\",\"tool\":\"ping\"}"), 200);
    api_add_token(t, "writer",
                  (struct auth_new_token){.user_id = STR("usr_ana"), .scopes = SCOPES_DEFAULT});
    assert_refused(api_call(t, "writer", "POST", CALL, "{\"server\":\"t\",\"tool\":\"ping\"}"), 403,
                   "forbidden", "This token's scopes do not cover that tool.");
}

/* Who calls a tool has consented to it; a rule of the workspace is not overruled. */
TEST_WITH(a_denied_tool_stays_denied, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(api_call(t, "ben", "POST", CALL, "{\"server\":\"t\",\"tool\":\"drop\"}"), 200);
    rig_use_permissions(t->rig, "{\"deny\":[\"t__drop\"]}");
    assert_refused(api_call(t, "ana", "POST", CALL, "{\"server\":\"t\",\"tool\":\"drop\"}"), 403,
                   "forbidden", "The workspace's permissions deny this tool.");
}

TEST_WITH(a_call_is_cancelled_when_its_client_leaves, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_client *c =
        api_begin(t, "ben", "POST", CALL, "", STR("{\"server\":\"t\",\"tool\":\"hang\"}"));
    rig_until(t->rig, rig_tools.started == 1);
    api_client_close(c);
    rig_until(t->rig, rig_tools.cancelled == 1);
    assert_int_equal(t->space.users, 0);
}

TEST_WITH(the_workspace_sees_that_a_tool_is_called, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    rig_watch(t->rig, "");
    assert_status(api_call(t, "ben", "POST", CALL, "{\"server\":\"t\",\"tool\":\"fail\"}"), 200);
    const struct json *call = rig_seen(t->rig, "bridge.tool.call");
    const struct json *done = rig_seen(t->rig, "bridge.tool.done");
    assert_string_equal(api_text(t, call, "name"), "t__fail");
    assert_string_equal(api_text(t, call, "userId"), "usr_ben");
    assert_string_equal(api_text(t, done, "id"), api_text(t, call, "id"));
    assert_string_equal(api_part(t, done, "ok"), "false");
}

/* ---- /mcp ---- */

static char mcp_seen[128];

static void note(struct http_req *r, const struct api_caller *who, str source)
{
    snprintf(mcp_seen, sizeof mcp_seen, "%.*s %.*s '%.*s'", STR_ARG(actor_user(who->actor)),
             STR_ARG(who->space->id), STR_ARG(source));
    http_reply(r, 200, "application/json", STR("{}"));
}

static void handle_mcp(void *ctx, struct http_req *r, const struct api_caller *who, str source)
{
    note(r, who, source);
}

static void open_sse(void *ctx, struct http_req *r, const struct api_caller *who)
{
    note(r, who, STR("sse"));
}

TEST_WITH(mcp_gets_the_caller_and_the_workspace, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *off = "The MCP server is switched off: features.mcpServer in the settings.";
    assert_refused(api_call(t, "ben", "POST", "/mcp", "{}"), 403, "feature_disabled", off);
    t->api->deps.mcp.handle = handle_mcp;
    t->api->deps.mcp.sse_open = t->api->deps.mcp.sse_post = open_sse;
    assert_status(api_call(t, "ben", "POST", "/mcp", "{}"), 200);
    assert_string_equal(mcp_seen, "usr_ben ws_a ''");
    assert_status(api_call(t, "dan", "GET", "/mcp/mail", NULL), 200);
    assert_string_equal(mcp_seen, "usr_dan ws_a 'mail'");
    assert_status(api_get(t, "ben", "/sse"), 200);
    assert_string_equal(mcp_seen, "usr_ben ws_a 'sse'");
    t->rig->config.features.mcp_server = false;
    assert_refused(api_call(t, "ben", "POST", "/sse/message", "{}"), 403, "feature_disabled", off);
}

TEST_WITH(a_client_of_mcp_learns_where_to_get_a_token, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *path = "/.well-known/oauth-protected-resource/mcp";
    assert_refused(api_get(t, "", path), 404, "not_found",
                   "This server issues its tokens itself and has no authorization server.");
    struct api_answer a = api_call(t, "", "POST", "/mcp", "{}");
    assert_string_equal(api_header(t, &a, "WWW-Authenticate"), "Bearer");
    t->api->deps.issuer = STR("https://id.example.org");
    a = api_get(t, "", path);
    assert_string_equal(api_part(t, a.json, ""),
                        "{\"resource\":\"http://127.0.0.1/mcp\",\"authorization_servers\":"
                        "[\"https://id.example.org\"],\"bearer_methods_supported\":[\"header\"]}");
    a = api_call(t, "", "POST", "/mcp", "{}");
    assert_status(a, 401);
    assert_string_equal(api_header(t, &a, "WWW-Authenticate"),
                        "Bearer resource_metadata=\"http://127.0.0.1/.well-known/"
                        "oauth-protected-resource/mcp\"");
    a = api_call(t, "", "GET", "/v1/tools", NULL); /* only clients of MCP look for it */
    assert_string_equal(api_header(t, &a, "WWW-Authenticate"), "Bearer");
}
