/* From a request to its handler: credentials, scopes, limits, the workspace. */
#include "api/admit.h"
#include "api/routes.h"
#include "support/api_rig.h"
#include "support/stopped_clock.h"

#define WRONG_TOKENS_MAX 300 /* auth/auth_impl.h */

/* ---- credentials ---- */

/* Any route that needs a caller and no workspace. */
static struct api_answer ask_with(struct api_rig *t, const char *headers)
{
    return api_call_with(t, "", "GET", "/v1/preferences", headers, STR_NONE);
}

static const char *bearer(struct api_rig *t, const char *value)
{
    return api_path(t, "Authorization: Bearer %s\r\n", value);
}

TEST_WITH(a_request_without_a_credential_is_told_which_one_to_send, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = ask_with(t, "");
    assert_refused(a, 401, "unauthorized",
                   "Log in, or send an API token: Authorization: Bearer <token>.");
    assert_string_equal(api_header(t, &a, "WWW-Authenticate"), "Bearer");
}

TEST_WITH(a_wrong_credential_is_refused_and_named_as_such, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *ben = api_find_token(t, "ben")->value;
    const char *CASES[] = {
        bearer(t, "nb_0000000000000000000000000000000000000000"),
        bearer(t, "x"),
        bearer(t, ""),
        bearer(t, api_path(t, "%sx", ben)),
        bearer(t, api_path(t, "%.*s", (int)strlen(ben) - 1, ben)),
        api_path(t, "Authorization: Basic %s\r\n", ben),
        api_path(t, "Authorization: %s\r\n", ben),
        "Cookie: nb_session=sess_1.xxxx\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct api_answer a = ask_with(t, CASES[i]);
        bool is_bearer = CASES[i][0] == 'A';
        assert_status(a, 401);
        assert_string_equal(api_header(t, &a, "WWW-Authenticate"),
                            is_bearer ? "Bearer error=\"invalid_token\"" : "Bearer");
    }
    assert_status(ask_with(t, api_path(t, "authorization:  bearer %s \r\n", ben)), 200);
}

TEST_WITH(a_token_stops_working_when_it_is_revoked_or_expires, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    api_add_token(t, "late",
                  (struct auth_new_token){.user_id = STR("usr_ben"),
                                          .scopes = SCOPE_ALL,
                                          .expires_ms = clock_now_ms() + 60000});
    assert_status(api_get(t, "late", "/v1/preferences"), 200);
    api_add_token(t, "old",
                  (struct auth_new_token){.user_id = STR("usr_ben"),
                                          .scopes = SCOPE_ALL,
                                          .expires_ms = clock_now_ms() - 1});
    assert_status(api_get(t, "old", "/v1/preferences"), 401);
    api_change(t, (struct change){.kind = CHANGE_TOKEN_REVOKE,
                                  .user_id = STR("usr_ben"),
                                  .token.id = str_from(api_find_token(t, "late")->id)});
    assert_status(api_get(t, "late", "/v1/preferences"), 401);
    assert_status(api_get(t, "ben", "/v1/preferences"), 200);
    api_change(t, (struct change){.kind = CHANGE_USER_REMOVE, .user_id = STR("usr_ben")});
    assert_status(api_get(t, "ben", "/v1/preferences"), 401);
}

TEST_WITH(guessing_is_slowed_down_but_a_valid_token_always_passes, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *guess = bearer(t, "nb_0000000000000000000000000000000000000000");
    for (int i = 0; i < WRONG_TOKENS_MAX; i++)
        assert_status(ask_with(t, guess), 401);
    struct api_answer a = ask_with(t, guess);
    assert_status(a, 429);
    assert_string_equal(api_header(t, &a, "Retry-After"), "60");
    /* an open route would reveal a correct guess as well */
    assert_status(api_call_with(t, "", "GET", "/v1/health", guess, STR_NONE), 429);
    assert_status(api_get(t, "", "/v1/health"), 200);
    assert_status(api_get(t, "ben", "/v1/preferences"), 200);
}

TEST_WITH(an_open_route_answers_with_any_credential, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer known = api_get(t, "ben", "/v1/health");
    struct api_answer unknown =
        api_call_with(t, "", "GET", "/v1/health", bearer(t, "nb_wrong"), STR_NONE);
    assert_status(known, 200);
    assert_status(unknown, 200);
    assert_non_null(json_get(known.json, "bundles")); /* details only for people */
    assert_null(json_get(unknown.json, "bundles"));
}

TEST_WITH(the_socket_of_the_machine_needs_no_credential, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "operator", "/v1/auth/session");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "userId"), "usr_ana"); /* the first owner */
    assert_status(api_get(t, "operator", "/v1/auth/link"), 200);
    assert_refused(api_get(t, "ana", "/v1/auth/link"), 404, "not_found", "No such address.");
}

/* ---- paths and methods ---- */

TEST_WITH(an_unknown_path_or_method_needs_no_credential_to_be_refused, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_refused(api_get(t, "", "/v1/nothing"), 404, "not_found",
                   "There is nothing at this path.");
    struct api_answer a = api_call(t, "", "PUT", "/v1/users", "{}");
    assert_refused(a, 405, "method_not_allowed", "This path does not support that method.");
    assert_string_equal(api_header(t, &a, "Allow"), "GET, HEAD, POST");
}

TEST_WITH(a_body_beyond_the_limit_of_its_route_is_refused, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    char *text = arena_alloc(&t->rig->arena, 5001);
    memset(text, ' ', 5000);
    text[5000] = '\0';
    assert_refused(api_call(t, "", "POST", "/v1/auth/login", text), 413, "payload_too_large",
                   "The body is larger than 4096 bytes, the limit of this path.");
    assert_status(api_call(t, "ben", "POST", "/v1/tools/call", text), 400);
}

/* ---- scopes and rates ---- */

TEST_WITH(a_scope_that_is_missing_is_refused_before_the_body_is_read, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    api_add_token(t, "reader",
                  (struct auth_new_token){.user_id = STR("usr_ana"), .scopes = SCOPE_READ});
    assert_status(api_get(t, "reader", "/v1/tools"), 200);
    struct api_answer a = api_call(t, "reader", "POST", "/v1/tools/call", "not json");
    assert_refused(a, 403, "forbidden",
                   "This token does not have the scope write. Use a token with it.");
    assert_string_equal(api_header(t, &a, "WWW-Authenticate"),
                        "Bearer error=\"insufficient_scope\"");
}

TEST_WITH(a_person_has_one_rate_whatever_the_token, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *call = "{\"server\":\"t\",\"tool\":\"ping\"}";
    t->rig->config.http.rates.tools = 2;
    api_add_token(t, "other",
                  (struct auth_new_token){.user_id = STR("usr_ben"), .scopes = SCOPE_ALL});
    clock_stop(); /* the limit is one of a minute */
    assert_status(api_call(t, "ben", "POST", "/v1/tools/call", call), 200);
    assert_status(api_call(t, "other", "POST", "/v1/tools/call", call), 200);
    struct api_answer a = api_call(t, "ben", "POST", "/v1/tools/call", call);
    assert_status(a, 429);
    assert_string_equal(api_text(t, a.json, "error"), "rate_limited");
    uint64_t wait_s;
    assert_int_equal(parse_u64(str_from(api_header(t, &a, "Retry-After")), &wait_s), 0);
    assert_in_range(wait_s, 1, 60);
    assert_status(api_get(t, "ben", "/v1/tools"), 200); /* only calls count */
    assert_status(api_call(t, "dan", "POST", "/v1/tools/call", call), 200);
    for (int i = 0; i < 3; i++)
        assert_status(api_call(t, "operator", "POST", "/v1/tools/call", call), 200);
    clock_continue();
}

/* ---- other origins ---- */

TEST_WITH(a_page_of_a_listed_origin_may_read_responses, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    str listed[] = {STR("https://app.example.org")};
    const char *origin = "Origin: https://app.example.org\r\n";
    t->rig->config.http.allowed_origins = (struct json_strs){listed, 1};
    struct api_answer a = api_call_with(t, "ben", "GET", "/v1/preferences", origin, STR_NONE);
    assert_status(a, 200);
    assert_string_equal(api_header(t, &a, "Access-Control-Allow-Origin"),
                        "https://app.example.org");
    assert_string_equal(api_header(t, &a, "Vary"), "Origin");
    a = api_get(t, "ben", "/v1/preferences");
    assert_string_equal(api_header(t, &a, "Access-Control-Allow-Origin"), "");
    assert_string_equal(api_header(t, &a, "Vary"), "Origin"); /* caches must not mix them up */
    a = api_call_with(t, "ben", "GET", "/v1/preferences", "Origin: https://evil.example\r\n",
                      STR_NONE);
    assert_refused(a, 403, "origin_not_allowed",
                   "Requests from pages of other origins are refused.");
    assert_string_equal(api_header(t, &a, "Access-Control-Allow-Origin"), "");
}

TEST_WITH(a_preflight_is_answered_without_a_credential, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    str listed[] = {STR("https://app.example.org")};
    const char *head = "Origin: https://app.example.org\r\n"
                       "Access-Control-Request-Method: DELETE\r\n";
    assert_status(api_call_with(t, "", "OPTIONS", "/v1/tokens/x", head, STR_NONE), 403);
    t->rig->config.http.allowed_origins = (struct json_strs){listed, 1};
    struct api_answer a = api_call_with(t, "", "OPTIONS", "/v1/tokens/x", head, STR_NONE);
    assert_status(a, 204);
    assert_non_null(strstr(api_header(t, &a, "Access-Control-Allow-Methods"), "DELETE"));
    assert_non_null(strstr(api_header(t, &a, "Access-Control-Allow-Headers"), "Authorization"));
}

/* ---- the workspace ---- */

static struct api_answer ask_in(struct api_rig *t, const char *who, const char *workspace)
{
    return api_call_with(t, who, "GET", "/v1/tools",
                         api_path(t, "X-Workspace-Id: %s\r\n", workspace), STR_NONE);
}

static void add_workspace(struct api_rig *t, const char *id, const char *name, const char *admin)
{
    api_change(t, (struct change){.kind = CHANGE_WORKSPACE_ADD,
                                  .workspace_id = str_from(id),
                                  .name = str_from(name),
                                  .user_id = str_from(admin)});
}

TEST_WITH(the_only_workspace_of_a_person_needs_no_name, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(api_get(t, "ben", "/v1/tools"), 200);
    assert_status(ask_in(t, "ben", "ws_a"), 200);
    assert_status(ask_in(t, "ben", "WS_A"), 200);
    assert_status(api_get(t, "ben", "/v1/tools?workspace=ws_a"), 200); /* for EventSource */
    assert_refused(ask_in(t, "ben", "no id"), 400, "workspace_error",
                   "X-Workspace-Id: not a valid workspace id.");
}

TEST_WITH(a_refusal_does_not_reveal_whether_a_workspace_exists, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *words = "No such workspace, or you are not a member of it.";
    add_workspace(t, "ws_other", "Other", "usr_ana");
    assert_refused(ask_in(t, "ben", "ws_other"), 403, "workspace_error", words);
    assert_refused(ask_in(t, "ben", "ws_none"), 403, "workspace_error", words);
    api_add_token(t, "bound",
                  (struct auth_new_token){
                      .user_id = STR("usr_ana"), .scopes = SCOPE_ALL, .workspace_id = STR("ws_a")});
    assert_refused(ask_in(t, "bound", "ws_other"), 403, "workspace_error", words);
    assert_status(api_get(t, "bound", "/v1/tools"), 200); /* its own, though Ana has two */
}

TEST_WITH(a_person_with_several_workspaces_has_to_choose, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    add_workspace(t, "ws_b", "Second", "usr_ben");
    struct api_answer a = api_get(t, "ben", "/v1/tools");
    assert_refused(a, 400, "workspace_error",
                   "There are several workspaces (A, Second): choose one with the header "
                   "X-Workspace-Id, or with ?workspace=ID.");
    assert_string_equal(api_part(t, a.json, "details"),
                        "{\"workspaces\":[{\"id\":\"ws_a\",\"name\":\"A\"},"
                        "{\"id\":\"ws_b\",\"name\":\"Second\"}]}");
    assert_status(ask_in(t, "ben", "ws_a"), 200);
    a = api_get(t, "operator", "/v1/tools");
    assert_refused(a, 400, "workspace_error",
                   "There are several workspaces (A, Second): choose one with --workspace NAME.");
    assert_status(api_get(t, "dan", "/v1/tools"), 200); /* has one */
}

TEST_WITH(a_workspace_that_cannot_be_opened_is_an_error_of_the_server, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    t->space.is_closing = true;
    assert_refused(ask_in(t, "ben", "ws_a"), 500, "workspace_error",
                   "The workspace could not be opened.");
    t->space.is_closing = false;
}

/* Two workspaces over the store of the rig, whose conversations are in ws_a. */
static struct api_space first;

static struct api_space *open_either(void *ctx, str id, struct err *e)
{
    return str_eq(id, first.id) ? &first : api_rig_open(ctx, id, e);
}

static void add_first_workspace(struct api_rig *t)
{
    add_workspace(t, "ws_0", "First", "usr_ben");
    first = t->space;
    first.id = STR("ws_0");
    t->api->deps.open_space = open_either;
}

TEST_WITH(a_conversation_determines_its_workspace, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    add_first_workspace(t);
    struct api_answer a = api_get(t, "ben", api_path(t, "/v1/conversations/%s", id));
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "id"), id);
    a = api_call(t, "ben", "POST", "/v1/chat",
                 api_path(t, "{\"conversationId\":\"%s\",\"message\":\"again\"}", id));
    assert_status(a, 200);
    assert_refused(api_get(t, "ben", "/v1/conversations/conv_0000000000000000"), 404, "not_found",
                   "No such conversation.");
    /* a new one does not have a workspace yet */
    assert_status(api_call(t, "ben", "POST", "/v1/chat", "{\"message\":\"new\"}"), 400);
}

TEST_WITH(a_client_that_leaves_while_its_workspace_is_looked_for_is_forgotten, api_set_up,
          api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct http_stats http;
    add_first_workspace(t);
    store_hold(RIG_GET);
    struct api_client *c =
        api_begin(t, "ben", "GET", api_path(t, "/v1/conversations/%s", id), "", STR_NONE);
    rig_until(t->rig, rig_store.nheld == 1);
    api_client_close(c);
    rig_until(t->rig, (http_server_stats(t->http, &http), http.conns == 0));
    store_go();
    assert_status(api_get(t, "ben", api_path(t, "/v1/conversations/%s", id)), 200);
    assert_int_equal(t->space.users + first.users, 0);
}

/* ---- people without a workspace ---- */

TEST_WITH(a_person_without_a_workspace_is_told_whom_to_ask, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *words = "You are not a member of any workspace. Ask an administrator of this "
                        "server, or an admin of a workspace, to add you to one.";
    assert_refused(api_get(t, "cyd", "/v1/tools"), 403, "no_workspace", words);
    assert_refused(ask_in(t, "cyd", "ws_a"), 403, "no_workspace", words);
    assert_refused(api_get(t, "cyd", "/v1/bootstrap"), 403, "no_workspace", words);
    assert_status(api_get(t, "cyd", "/v1/preferences"), 200);
}

TEST_WITH(the_first_request_of_a_person_can_make_their_workspace, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    t->rig->config.people.own_workspace = true;
    struct api_answer a = api_get(t, "cyd", "/v1/bootstrap");
    assert_status(a, 200);
    const char *id = api_text(t, a.json, "activeWorkspace");
    const struct workspace *ws =
        roster_workspace(directory_roster(t->rig->directory), str_from(id));
    assert_non_null(ws);
    assert_true(str_eq(ws->name, STR("Cyd")));
    assert_int_equal(workspace_role(ws, STR("usr_cyd")), WS_ADMIN);
    a = api_get(t, "cyd", "/v1/bootstrap"); /* only the first */
    assert_string_equal(api_text(t, a.json, "activeWorkspace"), id);
    assert_int_equal(directory_roster(t->rig->directory)->nworkspaces, 2);
}

TEST_WITH(requests_of_one_person_wait_for_the_same_workspace, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_client *c[4];
    const char *id = NULL;
    t->rig->config.people.own_workspace = true;
    for (size_t i = 0; i < ARRAY_LEN(c); i++)
        c[i] = api_begin(t, "cyd", "GET", "/v1/bootstrap", "", STR_NONE);
    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        struct api_answer a = api_finish(c[i]);
        assert_status(a, 200);
        if (id)
            assert_string_equal(api_text(t, a.json, "activeWorkspace"), id);
        id = api_text(t, a.json, "activeWorkspace");
    }
    assert_int_equal(directory_roster(t->rig->directory)->nworkspaces, 2);
}

TEST_WITH(a_person_who_deletes_workspaces_does_not_get_new_ones_without_end, api_set_up,
          api_tear_down)
{
    struct api_rig *t = *state;
    t->rig->config.people.own_workspace = true;
    clock_stop(); /* the limit is one of a minute */
    for (int i = 0; i < 2; i++) {
        struct api_answer a = api_get(t, "cyd", "/v1/bootstrap");
        assert_status(a, 200);
        const char *id = api_text(t, a.json, "activeWorkspace");
        assert_status(api_call(t, "cyd", "DELETE", api_path(t, "/v1/workspaces/%s", id), NULL),
                      200);
    }
    struct api_answer a = api_get(t, "cyd", "/v1/bootstrap");
    assert_status(a, 503);
    assert_non_null(strstr(api_text(t, a.json, "message"), "Too many new workspaces."));
    clock_continue();
}

/* ---- between the head and the end of the body ---- */

/* Sends the head of a request of Ben with a body of two bytes, which are not sent yet. */
static struct api_client *begin_late(struct api_rig *t, const char *method, const char *path)
{
    struct http_stats before, now;
    http_server_stats(t->http, &before);
    struct api_client *c = api_begin(t, "ben", method, path, "Content-Length: 2\r\n", STR_NONE);
    rig_until(t->rig, (http_server_stats(t->http, &now), now.requests > before.requests));
    rig_spin(t->rig);
    assert_int_equal(c->in.n, 0);
    return c;
}

static struct api_answer finish_late(struct api_client *c)
{
    assert_int_equal(send(c->fd, "{}", 2, MSG_NOSIGNAL), 2);
    return api_finish(c);
}

TEST_WITH(a_late_body_does_not_bring_lost_rights_back, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = finish_late(begin_late(t, "PUT", "/v1/permissions"));
    assert_refused(a, 403, "forbidden", "Only admins of the workspace may do this.");

    api_set_role(t, "usr_ben", WS_ADMIN);
    struct api_client *c = begin_late(t, "PUT", "/v1/permissions");
    api_set_role(t, "usr_ben", WS_MEMBER);
    assert_refused(finish_late(c), 403, "forbidden", "Only admins of the workspace may do this.");

    c = begin_late(t, "POST", "/v1/tools/call");
    api_set_role(t, "usr_ben", WS_NONE);
    assert_status(finish_late(c), 403);
}

TEST_WITH(a_token_that_is_revoked_before_the_body_is_complete_is_refused, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_client *c = begin_late(t, "POST", "/v1/tools/call");
    api_change(t, (struct change){.kind = CHANGE_TOKEN_REVOKE,
                                  .user_id = STR("usr_ben"),
                                  .token.id = str_from(api_find_token(t, "ben")->id)});
    assert_status(finish_late(c), 401);
    assert_int_equal(rig_tools.started, 0);
}

/* ---- the query ---- */

TEST_WITH(a_query_that_cannot_be_decoded_is_refused_on_every_route, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    size_t n;
    const struct route *routes = api_routes(&n);
    for (size_t i = 0; i < n; i++) {
        const char *target = api_path(t, "%s?conversation=%%FF", routes[i].pattern);
        struct api_answer a = api_call(t, "ana", routes[i].method, target, NULL);
        if (a.status != 400)
            fail_msg("%s %s: %d", routes[i].method, target, a.status);
    }
}

TEST_WITH(a_filter_that_cannot_be_decoded_does_not_widen_the_answer, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    api_conversation(t, "ben", "hello");
    assert_refused(api_get(t, "ben", "/v1/search?q=hello&conversation=%FF"), 400, "bad_request",
                   "conversation: the value cannot be decoded as UTF-8");
    assert_refused(api_get(t, "ben", "/v1/search?q=hello&%FF=1"), 400, "bad_request",
                   "The query of the address cannot be decoded as UTF-8.");
    assert_status(api_get(t, "ben", "/v1/search?q=hello&conversation=conv_none"), 200);
}
