/* Which requests the audit log records, and what a record contains. */
#include "api/api_impl.h"
#include "api/identity.h"
#include "api/routes.h"
#include "api/trail.h"
#include "support/bare_request.h"
#include "support/rig.h"
#include "support/stopped_clock.h"
#include "workspace/audit_read.h"

static struct rig *rig;
static struct api api;
static struct api_space space = {.id = STR_INIT(RIG_WORKSPACE)};

static int set_up(void **state)
{
    rig_set_up(state);
    rig = *state;
    bare_begin(rig->loop);
    api = (struct api){.deps = {.directory = rig->directory,
                                .config = &rig->config,
                                .audit = audit_new(rig->loop, NULL, rig->dir.path)}};
    trail_init(&api.trail);
    return 0;
}

static int tear_down(void **state)
{
    bare_end(rig->loop);
    trail_done(&api.trail);
    audit_free(api.deps.audit);
    return rig_tear_down(state);
}

/* ---- requests and records ---- */

/* who NULL: unknown. */
static struct http_req *sent(struct actor *who, const char *method, const char *target,
                             const char *body)
{
    size_t n;
    const struct route *routes = api_routes(&n);
    struct http_req *r = bare_request(method, target, body);
    struct api_identity *id = ARENA_NEW(&r->arena, struct api_identity);
    struct buf allow;
    buf_init(&allow, 256);
    (void)route_find(routes, n, r, &allow);
    buf_done(&allow);
    id->actor = who;
    r->caller = id;
    snprintf(r->peer_addr, sizeof r->peer_addr, "192.0.2.7");
    return r;
}

static void answered(struct actor *who, const char *method, const char *target, const char *body,
                     int status)
{
    trail_answered(&api, sent(who, method, target, body), status);
    bare_end_request();
}

static struct audit_page records(void)
{
    struct audit_page page = {0};
    struct err e = {0};
    rig_until(rig, audit_state(api.deps.audit).waiting == 0);
    if (audit_read(&rig->arena, rig->dir.path, &(struct audit_query){0}, &page, &e) < 0)
        fail_msg("%s", e.msg);
    return page;
}

/* "action target outcome detail" of a record; parts that are missing are left out. */
static const char *text_of(str line)
{
    static const char *const PARTS[] = {"action", "target", "outcome", "detail"};
    struct json *v;
    str text = STR_NONE;
    assert_int_equal(json_parse(&rig->arena, line, 0, &v, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++) {
        str part = json_get_string(v, PARTS[i]);
        if (part.n > 0)
            text = arena_printf(&rig->arena, "%.*s%s%.*s", STR_ARG(text), text.n > 0 ? " " : "",
                                STR_ARG(part));
    }
    return arena_cstr(&rig->arena, text);
}

static const char *last_record(void)
{
    struct audit_page page = records();
    return page.n > 0 ? text_of(page.lines[page.n - 1]) : "";
}

static const struct json *last_actor(void)
{
    struct audit_page page = records();
    struct json *v;
    assert_true(page.n > 0);
    assert_int_equal(json_parse(&rig->arena, page.lines[page.n - 1], 0, &v, NULL), 0);
    return json_get(v, "actor");
}

/* ---- the table ---- */

static bool is_unrecorded(const struct route *row)
{
    /* Reading, and what is recorded elsewhere: chat (only answers to questions), tools (the audit
     * of the tool), MCP; changes that concern only the own view of a conversation. */
    static const char *const FREE[] = {
        "/v1/auth/refresh",
        "/v1/preferences",
        "/v1/apps/import",
        "/v1/tools/call",
        "/v1/chat",
        "/v1/chat/start",
        "/v1/chat/stream",
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1/conversations/:id",
        "/v1/conversations/:id/fork",
        "/v1/conversations/:id/marks",
        "/v1/conversations/:id/promote",
        "/v1/conversations/:id/notes",
        "/v1/conversations/:id/typing",
        "/v1/conversations/:id/cancel",
        "/v1/conversations/:id/inputs/:input",
        "/v1/conversations/:id/queue/:message",
        "/v1/events/:stream/watch",
        "/v1/notices/seen",
        "/v1/shared",
        "/v1/files/uploads/:upload", /* its beginning is recorded */
        "/v1/models/look",
        "/v1/prompt",
        "/v1/resources/read",
        "/v1/skills/match",
        "/v1/views/:view",
        "/v1/views/:view/rpc", /* calls of tools record themselves */
        "/v1/views/:view/asks/:ask",
        "/v1/views/:view/tools",
        "/v1/views/:view/calls/:call", /* the log of the conversation has the call */
        "/mcp",
        "/mcp/:source",
        "/sse/message",
    };
    for (size_t i = 0; i < ARRAY_LEN(FREE); i++)
        if (strcmp(row->pattern, FREE[i]) == 0)
            return true;
    return false;
}

TEST_WITH(every_route_that_changes_something_is_recorded_or_known_not_to_be, set_up, tear_down)
{
    size_t n;
    const struct route *routes = api_routes(&n);
    for (size_t i = 0; i < n; i++) {
        bool is_read = strcmp(routes[i].method, "GET") == 0;
        if (!is_read && !api.trail.rows[i] && !is_unrecorded(&routes[i]))
            fail_msg("%s %s changes something without a record", routes[i].method,
                     routes[i].pattern);
    }
}

TEST_WITH(reading_is_not_recorded_except_in_bulk, set_up, tear_down)
{
    answered(rig->ana, "GET", "/v1/users", "", 200);
    answered(rig->ben, "GET", "/v1/users", "", 403);
    answered(rig->ana, "GET", "/v1/audit", "", 200);
    answered(rig->ana, "GET", "/nowhere", "", 404);
    assert_string_equal(last_record(), "");
    answered(rig->ben, "GET", "/v1/audit", "", 403);
    assert_string_equal(last_record(), "audit.read denied");
    answered(rig->ben, "GET", "/v1/conversations/conv_1/export", "", 200);
    assert_string_equal(last_record(), "conversation.export conv_1 ok");
    assert_int_equal(records().n, 2);
}

TEST_WITH(a_record_has_the_target_and_the_named_members_of_the_body, set_up, tear_down)
{
    static const struct {
        const char *method, *target, *body, *record;
    } CASES[] = {
        {"POST", "/v1/users",
         "{\"email\":\"e@x.org\",\"orgRole\":\"admin\",\"password\":\"geheim\"}",
         "user.add e@x.org ok orgRole=admin"},
        {"PATCH", "/v1/users/usr_ben", "{\"displayName\":\"B\",\"orgRole\":null}",
         "user.change usr_ben ok"},
        {"POST", "/v1/users/usr_ben/password", "{\"password\":\"geheim\"}",
         "user.password usr_ben ok"},
        {"POST", "/v1/tokens", "{\"name\":\"ci\",\"scopes\":[\"read\"],\"workspaceId\":\"ws_a\"}",
         "token.add ci ok scopes=[\"read\"] workspaceId=ws_a"},
        {"POST", "/v1/workspaces/ws_a/members", "{\"userId\":\"usr_cyd\",\"role\":\"admin\"}",
         "member.add ws_a ok userId=usr_cyd role=admin"},
        {"PATCH", "/v1/workspaces/ws_a/members/usr_ben", "{\"role\":\"admin\"}",
         "member.change usr_ben ok in=ws_a role=admin"},
        {"DELETE", "/v1/workspaces/ws_a/members/usr_ben", "", "member.remove usr_ben ok in=ws_a"},
        {"DELETE", "/v1/conversations/c1", "", "conversation.delete c1 ok"},
        {"DELETE", "/v1/conversations/c1?purge=true", "", "conversation.delete c1 ok purge"},
        {"DELETE", "/v1/conversations/c1?a=1&purge=true", "", "conversation.delete c1 ok purge"},
        {"PUT", "/v1/providers/openai/key", "{\"key\":\"geheim\"}",
         "settings.provider_key openai ok"},
        {"DELETE", "/v1/providers/openai/key", "", "settings.provider_key_remove openai ok"},
        {"PUT", "/v1/skills/workspace/mail", "{\"content\":\"geheim\"}", "skill.write mail ok"},
        {"POST", "/v1/auth/link/rotate", "", "settings.link_rotate ok"},
        {"PUT", "/v1/permissions", "{\"default\":\"ask\",\"deny\":[\"a__*\"]}",
         "permissions.set ok default=ask deny=[\"a__*\"]"},
        /* a body that is not an object is recorded without members */
        {"POST", "/v1/users", "[\"e@x.org\"]", "user.add ok"},
        {"POST", "/v1/users", "{\"email\":", "user.add ok"},
        {"POST", "/v1/users", "{\"email\":5}", "user.add ok email=5"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        answered(rig->ana, CASES[i].method, CASES[i].target, CASES[i].body, 200);
        assert_string_equal(last_record(), CASES[i].record);
    }
    struct audit_page page = records();
    for (size_t i = 0; i < page.n; i++)
        assert_true(str_find(page.lines[i], STR("geheim"), 0) < 0);
}

TEST_WITH(secrets_in_an_address_are_left_out, set_up, tear_down)
{
    static const struct {
        const char *url, *record;
    } CASES[] = {
        {"https://mcp.example.org/sse", "bundle.install https://mcp.example.org/sse ok"},
        {"https://me:geheim@mcp.example.org/sse", "bundle.install mcp.example.org/sse ok"},
        {"https://mcp.example.org/sse?key=geheim", "bundle.install https://mcp.example.org/sse ok"},
        {"https://a@mcp.example.org/?mail=b@c", "bundle.install mcp.example.org/ ok"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char body[128];
        snprintf(body, sizeof body, "{\"url\":\"%s\"}", CASES[i].url);
        answered(rig->ana, "POST", "/v1/apps/install", body, 200);
        assert_string_equal(last_record(), CASES[i].record);
    }
}

TEST_WITH(a_long_detail_is_cut, set_up, tear_down)
{
    char body[2048], glob[1024];
    memset(glob, 'g', sizeof glob - 1);
    glob[sizeof glob - 1] = '\0';
    snprintf(body, sizeof body, "{\"deny\":[\"%s\"]}", glob);
    answered(rig->ana, "PUT", "/v1/permissions", body, 200);
    assert_in_range(strlen(last_record()), 480, 520);
}

/* ---- outcome and sender ---- */

TEST_WITH(the_status_is_the_outcome, set_up, tear_down)
{
    static const struct {
        int status;
        const char *outcome;
    } CASES[] = {{200, "ok"},     {204, "ok"},     {302, "ok"},           {401, "denied"},
                 {403, "denied"}, {404, "denied"}, {429, "rate_limited"}, {400, "failed"},
                 {409, "failed"}, {500, "failed"}, {503, "failed"}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char record[64];
        answered(rig->ana, "DELETE", "/v1/apps/mail", "", CASES[i].status);
        snprintf(record, sizeof record, "bundle.remove mail %s", CASES[i].outcome);
        assert_string_equal(last_record(), record);
    }
}

TEST_WITH(a_record_names_the_sender_and_the_way_in, set_up, tear_down)
{
    struct principal token = {.user_id = STR("usr_ben"),
                              .how = AUTH_BY_TOKEN,
                              .scopes = SCOPE_ALL,
                              .token_id = STR("tok_1")};
    struct actor *by_token = actor_new(rig->directory, STR_NONE, &token, (struct json_strs){0});
    answered(by_token, "DELETE", "/v1/apps/mail", "", 403);
    const struct json *who = last_actor();
    assert_true(str_eq(json_get_string(who, "user"), STR("usr_ben")));
    assert_true(str_eq(json_get_string(who, "token"), STR("tok_1")));
    assert_true(str_eq(json_get_string(who, "how"), STR("token")));
    assert_true(str_eq(json_get_string(who, "address"), STR("192.0.2.7")));
    actor_unref(by_token);

    struct actor *op = actor_new_operator(rig->directory, STR_NONE, STR("usr_ana"));
    struct http_req *r = sent(op, "DELETE", "/v1/apps/mail", "");
    r->peer_addr[0] = '\0';
    struct api_identity *id = r->caller;
    id->space = &space;
    trail_answered(&api, r, 200);
    bare_end_request();
    assert_true(str_eq(json_get_string(last_actor(), "how"), STR("terminal")));
    assert_true(json_get_string(last_actor(), "address").n == 0);
    struct audit_page page = records();
    assert_true(str_find(page.lines[page.n - 1], STR("\"workspace\":\"ws_a\""), 0) > 0);
    assert_true(str_find(page.lines[page.n - 1], STR("\"via\":\"cli\""), 0) > 0);
    actor_unref(op);
}

TEST_WITH(a_login_is_recorded_for_the_user_it_turned_out_to_be, set_up, tear_down)
{
    struct http_req *r = sent(NULL, "POST", "/v1/auth/login", "{\"email\":\"ben@x.org\"}");
    trail_user(r, STR("usr_ben"));
    trail_answered(&api, r, 200);
    bare_end_request();
    assert_string_equal(last_record(), "login ben@x.org ok");
    assert_true(str_eq(json_get_string(last_actor(), "user"), STR("usr_ben")));
    answered(NULL, "POST", "/v1/auth/login", "{\"email\":\"ben@x.org\"}", 401);
    assert_string_equal(last_record(), "login ben@x.org denied");
    assert_true(json_get_string(last_actor(), "user").n == 0);

    r = sent(NULL, "GET", "/v1/auth/callback", ""); /* not in the table: it records itself */
    trail_login(&api, r, STR("usr_cyd"), NULL);
    trail_answered(&api, r, 302);
    bare_end_request();
    assert_string_equal(last_record(), "login ok");
    assert_true(str_eq(json_get_string(last_actor(), "how"), STR("oidc")));
    assert_int_equal(records().n, 3);
}

/* ---- records that other code makes, and requests without an answer ---- */

TEST_WITH(an_operation_that_records_itself_is_not_recorded_twice, set_up, tear_down)
{
    struct http_req *r = sent(rig->ana, "DELETE", "/v1/conversations/c1", "");
    const struct doer *by = trail_doer(&api, r);
    assert_ptr_equal(by->actor, rig->ana);
    assert_true(str_eq(by->via, STR("api")) && str_eq(by->address, STR("192.0.2.7")));
    trail_answered(&api, r, 200);
    trail_released(&api, r);
    bare_end_request();
    assert_int_equal(records().n, 0);
}

TEST_WITH(a_note_of_the_handler_is_part_of_the_record, set_up, tear_down)
{
    struct http_req *r = sent(rig->ana, "DELETE", "/v1/users/usr_ben", "");
    trail_note(r, "email=%s", "ben@x.org");
    trail_answered(&api, r, 200);
    bare_end_request();
    assert_string_equal(last_record(), "user.remove usr_ben ok email=ben@x.org");
}

TEST_WITH(a_client_that_leaves_before_the_answer_is_recorded_once, set_up, tear_down)
{
    struct http_req *r = sent(rig->ana, "DELETE", "/v1/users/usr_ben", "");
    struct api_identity *id = r->caller;
    trail_released(&api, r); /* the handler was never called: nothing was done */
    assert_int_equal(records().n, 0);
    id->is_dispatched = true;
    trail_released(&api, r);
    trail_released(&api, r);
    bare_end_request();
    assert_string_equal(last_record(), "user.remove usr_ben unanswered");
    assert_int_equal(records().n, 1);
}

/* ---- answers to permission questions ---- */

TEST_WITH(an_answer_to_a_permission_question_is_recorded_without_the_message, set_up, tear_down)
{
    answered(rig->ben, "POST", "/v1/chat", "{\"message\":\"geheim\"}", 200);
    answered(rig->ben, "POST", "/v1/chat", "{\"message\":\"\\\"askId\\\"\"}", 200);
    answered(rig->ben, "POST", "/v1/chat", "{\"answer\":\"askId\",\"x\":{\"askId\":1}}", 200);
    assert_int_equal(records().n, 0);
    answered(rig->ben, "POST", "/v1/chat/stream",
             "{\"conversationId\":\"c1\",\"message\":\"geheim\","
             "\"answer\":{\"askId\":\"ask_1\",\"allow\":true,\"always\":\"me\"}}",
             200);
    assert_string_equal(last_record(), "permission.answer c1 ok allow=true always=me ask=ask_1");
    answered(rig->ben, "POST", "/v1/chat", "{\"answer\":{\"askId\":\"ask_2\"}}", 409);
    assert_string_equal(last_record(), "permission.answer failed ask=ask_2");
}

/* ---- strangers ---- */

static void knock(void)
{
    struct http_req *r = sent(NULL, "GET", "/v1/tools", "");
    bare_header(r, "authorization", "Bearer geheim");
    trail_answered(&api, r, 401);
    bare_end_request();
}

TEST_WITH(a_wrong_credential_is_recorded_on_any_route, set_up, tear_down)
{
    knock();
    assert_string_equal(last_record(), "auth.failed /v1/tools denied");
    answered(NULL, "GET", "/v1/tools", "", 401); /* no credential: a browser without a login */
    struct http_req *r = sent(NULL, "GET", "/nowhere", "");
    bare_header(r, "authorization", "Bearer x");
    trail_answered(&api, r, 401);
    bare_end_request();
    assert_int_equal(records().n, 1);
}

TEST_WITH(strangers_cannot_fill_the_log, set_up, tear_down)
{
    clock_stop(); /* all of it within one minute */
    for (int i = 0; i < 5; i++)
        knock();
    assert_int_equal(api.trail.n, 5);
    api.trail.n = TRAIL_UNKNOWN_MAX - 1;
    for (int i = 0; i < 10; i++)
        knock();
    assert_int_equal(records().n, 5 + 1);
    /* people that are known are always recorded, and so is a success */
    answered(rig->ben, "DELETE", "/v1/apps/mail", "", 403);
    answered(NULL, "POST", "/v1/auth/logout", "", 200);
    assert_int_equal(records().n, 5 + 1 + 2);

    api.trail.window--; /* the next minute: first the number of those that were left out */
    knock();
    struct audit_page page = records();
    assert_int_equal(page.n, 5 + 1 + 2 + 2);
    assert_string_equal(text_of(page.lines[page.n - 2]), "auth.failed denied 9 more attempts");
    clock_continue();
}

TEST_WITH(without_an_audit_log_nothing_is_recorded, set_up, tear_down)
{
    struct audit *audit = api.deps.audit;
    api.deps.audit = NULL;
    struct http_req *r = sent(rig->ana, "DELETE", "/v1/users/usr_ben", "");
    trail_login(&api, r, STR("usr_ana"), NULL);
    trail_answered(&api, r, 200);
    bare_end_request();
    api.deps.audit = audit;
    assert_int_equal(records().n, 0);
}
