/* /v1/permissions: the rules of a workspace, and permissions that people have given. */
#include "support/api_rig.h"

static const char *decision(struct api_rig *t, const struct api_answer *a, const char *tool)
{
    const struct json *list = json_get(a->json, "tools");
    for (size_t i = 0; list && i < list->len; i++)
        if (str_eq(json_get_string(&list->items[i], "name"), str_from(tool)))
            return api_text(t, &list->items[i], "decision");
    return "hidden";
}

TEST_WITH(members_see_what_the_agent_may_do, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/permissions");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "default"), "allow");
    assert_string_equal(api_part(t, a.json, "mayChange"), "false");
    assert_string_equal(decision(t, &a, "t__ping"), "allow");
    assert_string_equal(decision(t, &a, "t__drop"), "ask"); /* it destroys */
    a = api_get(t, "ana", "/v1/permissions");
    assert_string_equal(api_part(t, a.json, "mayChange"), "true");
}

TEST_WITH(a_token_for_some_tools_sees_only_those, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    str globs[] = {STR("t__p*")};
    api_add_token(t, "narrow",
                  (struct auth_new_token){
                      .user_id = STR("usr_ben"), .scopes = SCOPE_ALL, .tools = {globs, 1}});
    struct api_answer a = api_get(t, "narrow", "/v1/permissions");
    assert_string_equal(decision(t, &a, "t__ping"), "allow");
    assert_string_equal(decision(t, &a, "t__drop"), "hidden");
}

TEST_WITH(an_admin_sets_rules_that_take_effect_immediately, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *body = "{\"default\":\"ask\",\"allow\":[\"t__r*\"],\"deny\":[\"t__drop\"]}";
    struct api_answer a = api_call(t, "ana", "PUT", "/v1/permissions", body);
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "default"), "ask");
    assert_string_equal(api_part(t, a.json, "allow"), "[\"t__r*\"]");
    assert_string_equal(decision(t, &a, "t__ping"), "ask");
    assert_string_equal(decision(t, &a, "t__read"), "allow");
    assert_string_equal(decision(t, &a, "t__drop"), "deny");
    a = api_call(t, "ana", "PUT", "/v1/permissions", "{}"); /* nothing given: the defaults */
    assert_string_equal(decision(t, &a, "t__ping"), "allow");
    assert_string_equal(decision(t, &a, "t__drop"), "ask");
}

TEST_WITH(bad_rules_change_nothing, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const CASES[] = {"{\"default\":\"maybe\"}", "{\"allow\":\"t__ping\"}",
                                        "{\"allow\":[1]}", "{\"allow\":[\"\"]}",
                                        "{\"forbid\":[\"t__ping\"]}"};
    assert_status(api_call(t, "ana", "PUT", "/v1/permissions", "{\"deny\":[\"t__ping\"]}"), 200);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct api_answer a = api_call(t, "ana", "PUT", "/v1/permissions", CASES[i]);
        if (a.status != 400)
            fail_msg("%s: %d", CASES[i], a.status);
    }
    struct api_answer a = api_get(t, "ana", "/v1/permissions");
    assert_string_equal(api_part(t, a.json, "deny"), "[\"t__ping\"]");
    assert_refused(api_call(t, "ben", "PUT", "/v1/permissions", "{}"), 403, "forbidden",
                   "Only admins of the workspace may do this.");
}

/* ---- permissions that were given in a conversation ---- */

/* The agent asks before t__drop; the person answers. */
static void give(struct api_rig *t, const char *who, const char *always)
{
    model_calls("t__drop", "{}");
    struct api_answer a = api_call(t, who, "POST", "/v1/chat", "{\"message\":\"drop it\"}");
    assert_status(a, 200);
    const char *ask_id = api_text(t, a.json, "ask.askId");
    const char *id = api_text(t, a.json, "conversationId");
    model_says("done");
    a = api_call(t, who, "POST", "/v1/chat",
                 api_path(t,
                          "{\"conversationId\":\"%s\",\"answer\":{\"askId\":\"%s\",\"allow\":true,"
                          "\"always\":\"%s\"}}",
                          id, ask_id, always));
    assert_status(a, 200);
}

TEST_WITH(a_person_takes_a_stored_permission_back, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    give(t, "ben", "me");
    struct api_answer a = api_get(t, "ben", "/v1/permissions");
    assert_string_equal(api_part(t, a.json, "consents"), "[\"t__drop\"]");
    assert_string_equal(decision(t, &a, "t__drop"), "allow");
    a = api_get(t, "dan", "/v1/permissions");
    assert_string_equal(decision(t, &a, "t__drop"), "ask"); /* it was Ben's */
    assert_refused(api_call(t, "dan", "DELETE", "/v1/permissions/consents/t__drop", NULL), 404,
                   "not_found", "No stored permission for that tool.");
    a = api_call(t, "ben", "DELETE", "/v1/permissions/consents/t__drop", NULL);
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "consents"), "[]");
    assert_string_equal(decision(t, &a, "t__drop"), "ask");
}

TEST_WITH(only_an_admin_takes_a_permission_of_the_workspace_back, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *path = "/v1/permissions/workspace-consents/t__drop";
    give(t, "ana", "workspace");
    struct api_answer a = api_get(t, "ben", "/v1/permissions");
    assert_string_equal(api_part(t, a.json, "workspaceConsents"), "[\"t__drop\"]");
    assert_string_equal(decision(t, &a, "t__drop"), "allow");
    assert_status(api_call(t, "ben", "DELETE", path, NULL), 403);
    assert_status(api_call(t, "ana", "DELETE", path, NULL), 200);
    assert_status(api_call(t, "ana", "DELETE", path, NULL), 404);
}
