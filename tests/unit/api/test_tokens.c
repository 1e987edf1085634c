/* /v1/tokens. Making a token needs a login, which the operator stands for here; the requests of
 * people in the rig carry tokens. */
#include "base/clock.h"
#include "support/api_streams.h"

#define DAY_MS (24LL * 3600 * 1000)

static struct api_answer make(struct api_rig *t, const char *body)
{
    return api_call(t, "operator", "POST", "/v1/tokens", body);
}

/* The token with this id, as its owner sees it. */
static const struct json *find(struct api_rig *t, const char *who, const char *id)
{
    struct api_answer a = api_get(t, who, "/v1/tokens");
    assert_status(a, 200);
    const struct json *list = json_get(a.json, "tokens");
    for (size_t i = 0; i < list->len; i++)
        if (str_eq(json_get_string(&list->items[i], "id"), str_from(id)))
            return &list->items[i];
    return NULL;
}

TEST_WITH(a_new_token_works_and_is_never_shown_again, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = make(t, "{\"name\":\"ci\"}");
    assert_status(a, 200);
    const char *value = api_text(t, a.json, "token");
    assert_int_equal(strncmp(value, "nb_", 3), 0);
    const char *head = api_path(t, "Authorization: Bearer %s\r\n", value);
    struct api_answer me = api_call_with(t, "", "GET", "/v1/auth/session", head, STR_NONE);
    assert_string_equal(api_text(t, me.json, "userId"), "usr_ana");

    const struct json *shown = find(t, "ana", api_text(t, a.json, "id"));
    assert_string_equal(api_text(t, shown, "name"), "ci");
    assert_string_equal(api_part(t, shown, "scopes"), "[\"read\",\"write\",\"mcp\"]");
    assert_string_equal(api_part(t, shown, "tools"), "[]");
    assert_string_equal(api_part(t, shown, "workspaceId"), "null");
    assert_string_equal(api_part(t, shown, "expiresAt"), "null");
    assert_null(json_get(shown, "token"));
    assert_null(json_get(shown, "hash"));
}

TEST_WITH(a_token_is_as_narrow_as_it_was_made, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = make(t, "{\"name\":\"n\",\"scopes\":[\"read\",\"admin\"],\"tools\":"
                                  "[\"t__p*\"],\"workspaceId\":\"ws_a\",\"expiresInDays\":2}");
    assert_status(a, 200);
    const struct json *shown = find(t, "ana", api_text(t, a.json, "id"));
    assert_string_equal(api_part(t, shown, "scopes"), "[\"read\",\"admin\"]");
    assert_string_equal(api_part(t, shown, "tools"), "[\"t__p*\"]");
    assert_string_equal(api_text(t, shown, "workspaceId"), "ws_a");
    int64_t until;
    assert_int_equal(clock_parse_iso(str_from(api_text(t, shown, "expiresAt")), &until), 0);
    assert_in_range(until - clock_now_ms(), 2 * DAY_MS - 60000, 2 * DAY_MS);
}

TEST_WITH(a_bad_token_is_refused_with_the_reason, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *body;
        int status;
        const char *error, *words;
    } CASES[] = {
        {"{}", 400, "bad_request", "name: required but missing"},
        {"{\"name\":\"\"}", 400, "bad_request", "a token name must have 1 to 200 bytes"},
        {"{\"name\":\"x\",\"scopes\":[\"read\",\"root\"]}", 400, "bad_request",
         "scopes: expected read, write, mcp, admin or all"},
        {"{\"name\":\"x\",\"expiresInDays\":0}", 400, "bad_request",
         "expiresInDays: expected a whole number from 1 to 3650"},
        {"{\"name\":\"x\",\"expiresInDays\":3651}", 400, "bad_request",
         "expiresInDays: expected a whole number from 1 to 3650"},
        {"{\"name\":\"x\",\"expiresInDays\":1.5}", 400, "bad_request",
         "expiresInDays: expected a whole number from 1 to 3650"},
        {"{\"name\":\"x\",\"workspaceId\":\"ws_none\"}", 404, "not_found", "No such workspace."},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_refused(make(t, CASES[i].body), CASES[i].status, CASES[i].error, CASES[i].words);
}

TEST_WITH(a_token_is_only_for_a_workspace_of_its_user, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    api_change(t, (struct change){.kind = CHANGE_WORKSPACE_ADD,
                                  .workspace_id = STR("ws_c"),
                                  .name = STR("C"),
                                  .user_id = STR("usr_cyd")});
    assert_status(make(t, "{\"name\":\"x\",\"workspaceId\":\"ws_c\"}"), 404);
}

TEST_WITH(a_token_cannot_make_another, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_refused(api_call(t, "ana", "POST", "/v1/tokens", "{\"name\":\"x\"}"), 403, "forbidden",
                   "Tokens cannot do this. Log in instead.");
}

TEST_WITH(people_see_their_own_tokens_and_admins_see_all, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *of_ben = "/v1/tokens?userId=usr_ben";
    assert_non_null(find(t, "ben", api_find_token(t, "ben")->id));
    assert_null(find(t, "ben", api_find_token(t, "ana")->id));
    assert_int_equal(json_get(api_get(t, "ben", of_ben).json, "tokens")->len, 1);
    assert_int_equal(json_get(api_get(t, "ana", of_ben).json, "tokens")->len, 1);
    assert_refused(api_get(t, "ben", "/v1/tokens?userId=usr_ana"), 404, "not_found",
                   "No such user.");
    assert_refused(api_get(t, "ana", "/v1/tokens?userId=usr_x"), 404, "not_found", "No such user.");
}

TEST_WITH(the_last_use_of_a_token_is_shown, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const struct json *unused = find(t, "ana", api_find_token(t, "ana")->id);
    assert_non_null(unused); /* this request was its first use */
    const struct json *used = find(t, "ana", api_find_token(t, "ana")->id);
    assert_string_not_equal(api_part(t, used, "lastUsedAt"), "null");
    struct api_answer a = make(t, "{\"name\":\"idle\"}");
    const struct json *idle = find(t, "ana", api_text(t, a.json, "id"));
    assert_string_equal(api_part(t, idle, "lastUsedAt"), "null");
}

TEST_WITH(a_revoked_token_ends_its_streams_immediately, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_stream *s = api_watch_workspace(t, "ben", "");
    struct api_stream *other = api_watch_workspace(t, "dan", "");
    const char *id = api_find_token(t, "ben")->id;
    struct api_answer a =
        api_call(t, "ana", "DELETE", api_path(t, "/v1/tokens/%s?userId=usr_ben", id), NULL);
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "id"), id);
    stream_end(s);
    assert_status(api_get(t, "ben", "/v1/users/me"), 401);
    stream_drop(other); /* is still open */
}

TEST_WITH(a_token_of_somebody_else_is_not_found, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_find_token(t, "ana")->id;
    assert_status(api_call(t, "ben", "DELETE", api_path(t, "/v1/tokens/%s", id), NULL), 404);
    assert_refused(
        api_call(t, "ben", "DELETE", api_path(t, "/v1/tokens/%s?userId=usr_ana", id), NULL), 404,
        "not_found", "No such token.");
    assert_non_null(find(t, "ana", id));
}
