/* /v1/workspaces and their members. Ana owns the server and is the admin of ws_a. */
#include "support/api_streams.h"

#define MEMBERS "/v1/workspaces/ws_a/members"

static enum ws_role role_of(struct api_rig *t, const char *user_id)
{
    return directory_role(t->rig->directory, STR(RIG_WORKSPACE), str_from(user_id));
}

/* ---- reading ---- */

TEST_WITH(people_see_their_workspaces_and_their_role, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/workspaces");
    const struct json *list = json_get(a.json, "workspaces");
    assert_int_equal(list->len, 1);
    assert_string_equal(api_text(t, &list->items[0], "id"), "ws_a");
    assert_string_equal(api_text(t, &list->items[0], "role"), "member");
    assert_string_equal(api_part(t, &list->items[0], "memberCount"), "3");
    assert_string_equal(api_part(t, api_get(t, "cyd", "/v1/workspaces").json, "workspaces"), "[]");
    assert_string_equal(api_text(t, api_get(t, "ben", "/v1/workspaces/ws_a").json, "name"), "A");
    assert_refused(api_get(t, "cyd", "/v1/workspaces/ws_a"), 404, "not_found",
                   "No such workspace.");
}

TEST_WITH(only_admins_of_the_server_see_all_workspaces, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    api_change(t, (struct change){.kind = CHANGE_WORKSPACE_ADD,
                                  .workspace_id = STR("ws_c"),
                                  .name = STR("C"),
                                  .user_id = STR("usr_cyd")});
    struct api_answer a = api_get(t, "ana", "/v1/workspaces");
    assert_int_equal(json_get(a.json, "workspaces")->len, 1);
    a = api_get(t, "ana", "/v1/workspaces?all=true");
    const struct json *list = json_get(a.json, "workspaces");
    assert_int_equal(list->len, 2);
    assert_string_equal(api_part(t, &list->items[1], "role"), "null"); /* not a member of C */
    a = api_get(t, "ben", "/v1/workspaces?all=true");
    assert_int_equal(json_get(a.json, "workspaces")->len, 1);
    api_add_token(t, "bound",
                  (struct auth_new_token){
                      .user_id = STR("usr_ana"), .scopes = SCOPE_ALL, .workspace_id = STR("ws_a")});
    a = api_get(t, "bound", "/v1/workspaces?all=true");
    assert_int_equal(json_get(a.json, "workspaces")->len, 1);
}

/* ---- creating, renaming, deleting ---- */

TEST_WITH(the_creator_is_the_first_admin, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_call(t, "ana", "POST", "/v1/workspaces", "{\"name\":\"New Team\"}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "name"), "New Team");
    assert_string_equal(api_text(t, a.json, "role"), "admin");
    assert_string_equal(api_part(t, a.json, "memberCount"), "1");
    assert_refused(api_call(t, "ben", "POST", "/v1/workspaces", "{\"name\":\"Mine\"}"), 403,
                   "forbidden", "Only administrators of the server may do this.");
}

TEST_WITH(a_bad_workspace_is_refused_with_the_reason, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_refused(api_call(t, "ana", "POST", "/v1/workspaces", "{}"), 400, "bad_request",
                   "name: required but missing");
    assert_refused(api_call(t, "ana", "POST", "/v1/workspaces", "{\"name\":\" \"}"), 400,
                   "bad_request", "a workspace name must have 1 to 200 bytes");
    assert_refused(api_call(t, "ana", "POST", "/v1/workspaces", "{\"name\":\"B\",\"id\":\"ws_a\"}"),
                   409, "already_exists", "the workspace ws_a already exists");
    assert_status(api_call(t, "ana", "POST", "/v1/workspaces", "{\"name\":\"B\",\"id\":\"../x\"}"),
                  400);
    assert_int_equal(directory_roster(t->rig->directory)->nworkspaces, 1);
}

TEST_WITH(an_admin_of_the_workspace_renames_it, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *path = "/v1/workspaces/ws_a", *body = "{\"name\":\"Alpha\"}";
    assert_refused(api_call(t, "ben", "PATCH", path, body), 403, "forbidden",
                   "Only admins of the workspace may do this.");
    api_set_role(t, "usr_ben", WS_ADMIN);
    struct api_answer a = api_call(t, "ben", "PATCH", path, body);
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "name"), "Alpha");
}

TEST_WITH(a_deleted_workspace_ends_its_streams_and_is_closed, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_stream *s = api_watch_workspace(t, "ben", "");
    struct api_answer a = api_call(t, "ana", "DELETE", "/v1/workspaces/ws_a", NULL);
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "id"), "ws_a");
    stream_end(s);
    assert_int_equal(t->nclosed, 1);
    assert_status(api_get(t, "ben", "/v1/tools"), 403);
}

/* ---- members ---- */

TEST_WITH(members_see_each_other, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", MEMBERS);
    const struct json *list = json_get(a.json, "members");
    assert_int_equal(list->len, 3);
    assert_string_equal(api_part(t, &list->items[0], ""),
                        "{\"userId\":\"usr_ana\",\"displayName\":\"Ana\","
                        "\"email\":\"ana@example.com\",\"role\":\"admin\"}");
    assert_status(api_get(t, "cyd", MEMBERS), 404);
}

TEST_WITH(a_member_is_added_by_id_or_by_address, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *body;
        int status;
        const char *error, *words;
    } BAD[] = {
        {"{}", 400, "bad_request", "userId or email is required."},
        {"{\"userId\":\"usr_x\"}", 404, "not_found", "No such user."},
        {"{\"email\":\"x@example.com\"}", 404, "not_found", "No such user."},
        {"{\"userId\":\"usr_cyd\",\"role\":\"boss\"}", 400, "bad_request",
         "role: expected admin or member"},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_refused(api_call(t, "ana", "POST", MEMBERS, BAD[i].body), BAD[i].status,
                       BAD[i].error, BAD[i].words);
    assert_status(api_call(t, "ben", "POST", MEMBERS, "{\"userId\":\"usr_cyd\"}"), 403);
    struct api_answer a = api_call(t, "ana", "POST", MEMBERS, "{\"email\":\"CYD@example.com\"}");
    assert_status(a, 200);
    assert_int_equal(json_get(a.json, "members")->len, 4);
    assert_int_equal(role_of(t, "usr_cyd"), WS_MEMBER);
    assert_status(api_get(t, "cyd", "/v1/tools"), 200);
}

TEST_WITH(a_role_is_changed_only_for_members, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(api_call(t, "ana", "PATCH", MEMBERS "/usr_ben", "{\"role\":\"admin\"}"), 200);
    assert_int_equal(role_of(t, "usr_ben"), WS_ADMIN);
    assert_refused(api_call(t, "ana", "PATCH", MEMBERS "/usr_cyd", "{\"role\":\"admin\"}"), 404,
                   "not_found", "No such member.");
    assert_int_equal(role_of(t, "usr_cyd"), WS_NONE);
    assert_status(api_call(t, "ana", "PATCH", MEMBERS "/usr_ben", "{}"), 400);
}

TEST_WITH(the_last_admin_of_a_workspace_stays, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_call(t, "ana", "PATCH", MEMBERS "/usr_ana", "{\"role\":\"member\"}");
    assert_status(a, 409);
    assert_string_equal(api_text(t, a.json, "error"), "conflict");
    assert_status(api_call(t, "ana", "DELETE", MEMBERS "/usr_ana", NULL), 409);
    assert_int_equal(role_of(t, "usr_ana"), WS_ADMIN);
}

TEST_WITH(members_may_leave_but_not_remove_others, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_refused(api_call(t, "ben", "DELETE", MEMBERS "/usr_dan", NULL), 403, "forbidden",
                   "Only admins of the workspace may do this.");
    assert_status(api_call(t, "ben", "DELETE", MEMBERS "/usr_ben", NULL), 200);
    assert_int_equal(role_of(t, "usr_ben"), WS_NONE);
    assert_status(api_get(t, "ben", "/v1/tools"), 403);
    assert_refused(api_call(t, "ana", "DELETE", MEMBERS "/usr_ben", NULL), 404, "not_found",
                   "No such member.");
}

TEST_WITH(a_change_of_members_is_told_to_the_workspace, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_stream *s = api_watch_workspace(t, "dan", "");
    assert_status(api_call(t, "ana", "POST", MEMBERS, "{\"userId\":\"usr_cyd\"}"), 200);
    assert_string_equal(api_text(t, stream_wait(s, "member.joined"), "userId"), "usr_cyd");
    assert_status(api_call(t, "ana", "PATCH", MEMBERS "/usr_cyd", "{\"role\":\"admin\"}"), 200);
    assert_string_equal(api_text(t, stream_wait(s, "member.changed"), "userId"), "usr_cyd");
    assert_status(api_call(t, "ana", "DELETE", MEMBERS "/usr_cyd", NULL), 200);
    assert_string_equal(api_text(t, stream_wait(s, "member.left"), "userId"), "usr_cyd");
    stream_drop(s);
}
