/* /v1/users and /v1/preferences: who manages people, and what people may change themselves. */
#include "support/api_streams.h"
#include "workspace/roster/roster_lock.h"

static const struct user *user(struct api_rig *t, const char *id)
{
    return roster_user(directory_roster(t->rig->directory), str_from(id));
}

/* Dan manages the server; he does not own it. */
static int set_up(void **state)
{
    api_set_up(state);
    api_change(*state, (struct change){.kind = CHANGE_USER_SET,
                                       .user_id = STR("usr_dan"),
                                       .has_role = true,
                                       .role = ORG_ADMIN});
    return 0;
}

/* ---- reading ---- */

TEST_WITH(a_list_of_people_does_not_show_what_only_they_may_see, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "dan", "/v1/users");
    const struct json *users = json_get(a.json, "users");
    assert_int_equal(users->len, 4);
    assert_string_equal(api_part(t, a.json, "problems"), "[]");
    assert_string_equal(api_text(t, &users->items[0], "id"), "usr_ana");
    assert_string_equal(api_text(t, &users->items[0], "orgRole"), "owner");
    for (size_t i = 0; i < users->len; i++) {
        assert_null(json_get(&users->items[i], "preferences"));
        assert_null(json_get(&users->items[i], "hasPassword"));
    }
}

TEST_WITH(people_read_themselves_and_nobody_else, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer me = api_get(t, "ben", "/v1/users/me");
    assert_status(me, 200);
    assert_string_equal(api_text(t, me.json, "id"), "usr_ben");
    assert_string_equal(api_text(t, me.json, "displayName"), "Ben");
    assert_string_equal(api_part(t, me.json, "hasPassword"), "false");
    assert_string_equal(api_part(t, me.json, "preferences"), "{}");
    assert_string_equal(api_text(t, api_get(t, "ben", "/v1/users/usr_ben").json, "id"), "usr_ben");
    assert_refused(api_get(t, "ben", "/v1/users/usr_ana"), 404, "not_found", "No such user.");
    assert_refused(api_get(t, "ben", "/v1/users/usr_x"), 404, "not_found", "No such user.");
    assert_refused(api_get(t, "dan", "/v1/users/usr_x"), 404, "not_found", "No such user.");
}

/* ---- adding ---- */

TEST_WITH(an_admin_adds_a_member, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_call(t, "dan", "POST", "/v1/users",
                                   "{\"email\":\"Eva@Example.com\",\"displayName\":\" Eva \"}");
    assert_status(a, 200);
    const struct user *eva = user(t, api_text(t, a.json, "id"));
    assert_non_null(eva);
    assert_true(str_eq(eva->display_name, STR("Eva")));
    assert_int_equal(eva->role, ORG_MEMBER);
    assert_refused(api_call(t, "dan", "POST", "/v1/users", "{\"email\":\"eva@example.com\"}"), 409,
                   "already_exists", "eva@example.com is the e-mail address of another user");
}

TEST_WITH(a_bad_user_is_refused_with_the_reason, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *body, *words;
    } CASES[] = {
        {"{\"email\":\"eva\"}", "'eva' is not an e-mail address"},
        {"{\"email\":\"e@x.org\",\"orgRole\":\"boss\"}",
         "orgRole: expected owner, admin or member"},
        {"{\"email\":\"e@x.org\",\"password\":\"short\"}",
         "password: expected 8 to 1024 characters"},
        {"{\"email\":\"e@x.org\",\"displayName\":\"a\\u202eb\"}",
         "a display name must not contain control characters or bidirectional marks"},
        {"{\"email\":\"e@x.org\",\"preferences\":[]}", "preferences: expected object"},
        {"{\"mail\":\"e@x.org\"}", "mail: unknown key; did you mean 'email'?"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_refused(api_call(t, "ana", "POST", "/v1/users", CASES[i].body), 400, "bad_request",
                       CASES[i].words);
    assert_int_equal(directory_roster(t->rig->directory)->nusers, 4);
}

TEST_WITH(a_user_can_be_added_with_a_password, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_call(t, "ana", "POST", "/v1/users",
                                   "{\"email\":\"e@x.org\",\"password\":\"long enough\"}");
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "hasPassword"), "true");
    assert_true(str_starts(user(t, api_text(t, a.json, "id"))->password, STR("$argon2id$")));
}

/* ---- roles ---- */

TEST_WITH(only_owners_make_owners, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *body = "{\"orgRole\":\"owner\"}", *words = "Only administrators may do this.";
    assert_refused(
        api_call(t, "dan", "POST", "/v1/users", "{\"email\":\"e@x.org\",\"orgRole\":\"owner\"}"),
        403, "forbidden", words);
    assert_refused(api_call(t, "dan", "PATCH", "/v1/users/usr_ben", body), 403, "forbidden", words);
    assert_refused(api_call(t, "dan", "PATCH", "/v1/users/me", body), 403, "forbidden", words);
    assert_status(api_call(t, "dan", "PATCH", "/v1/users/usr_ben", "{\"orgRole\":\"admin\"}"), 200);
    assert_status(api_call(t, "ana", "PATCH", "/v1/users/usr_ben", body), 200);
    assert_int_equal(user(t, "usr_ben")->role, ORG_OWNER);
}

TEST_WITH(the_last_owner_stays, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *words = "ana@example.com is the only owner; make another user an owner first";
    assert_refused(api_call(t, "ana", "PATCH", "/v1/users/me", "{\"orgRole\":\"member\"}"), 409,
                   "conflict", words);
    assert_status(api_call(t, "ana", "DELETE", "/v1/users/usr_ana", NULL), 409);
    assert_int_equal(user(t, "usr_ana")->role, ORG_OWNER);
}

TEST_WITH(people_change_their_name_but_not_their_address_or_role, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *words = "Only administrators may do this.";
    assert_status(api_call(t, "ben", "PATCH", "/v1/users/me", "{\"displayName\":\"Benno\"}"), 200);
    assert_true(str_eq(user(t, "usr_ben")->display_name, STR("Benno")));
    assert_refused(api_call(t, "ben", "PATCH", "/v1/users/me", "{\"email\":\"x@y.org\"}"), 403,
                   "forbidden", words);
    assert_refused(api_call(t, "ben", "PATCH", "/v1/users/usr_ben", "{\"orgRole\":\"member\"}"),
                   403, "forbidden", words);
    assert_refused(api_call(t, "ben", "PATCH", "/v1/users/me", "{\"password\":\"long enough\"}"),
                   400, "bad_request", "password: use /v1/users/:id/password");
    assert_refused(api_call(t, "ben", "PATCH", "/v1/users/usr_cyd", "{\"displayName\":\"C\"}"), 404,
                   "not_found", "No such user.");
}

/* ---- removing ---- */

TEST_WITH(a_person_who_is_removed_loses_everything_immediately, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_stream *s = api_watch_workspace(t, "ben", "");
    struct api_answer a = api_call(t, "dan", "DELETE", "/v1/users/usr_ben", NULL);
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "deleted"), "true");
    assert_null(user(t, "usr_ben"));
    stream_end(s);
    assert_status(api_get(t, "ben", "/v1/users/me"), 401);
    assert_refused(api_call(t, "dan", "DELETE", "/v1/users/usr_ben", NULL), 404, "not_found",
                   "no user usr_ben");
}

/* ---- passwords and sign-out ---- */

TEST_WITH(a_password_is_set_by_an_admin_or_with_the_current_one, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *path = "/v1/users/usr_ben/password";
    assert_refused(api_call(t, "ben", "POST", path, "{\"password\":\"long enough\"}"), 403,
                   "forbidden", "A token cannot change a password.");
    assert_refused(api_call(t, "dan", "POST", path, "{\"password\":\"short\"}"), 400, "bad_request",
                   "password: expected 8 to 1024 characters");
    assert_refused(api_call(t, "dan", "POST", path, "{}"), 400, "bad_request",
                   "password: required but missing");
    assert_status(api_call(t, "dan", "POST", path, "{\"password\":\"long enough\"}"), 200);
    assert_true(user(t, "usr_ben")->password.n > 0);
    assert_refused(
        api_call(t, "dan", "POST", "/v1/users/usr_ana/password", "{\"password\":\"long enough\"}"),
        403, "forbidden", "Only owners of the server may change owners.");
}

TEST_WITH(signing_out_leaves_tokens_alone, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(api_call(t, "ben", "POST", "/v1/users/me/sign-out", NULL), 200);
    assert_status(api_get(t, "ben", "/v1/users/me"), 200);
    assert_status(api_call(t, "ben", "POST", "/v1/users/usr_cyd/sign-out", NULL), 404);
}

/* ---- preferences ---- */

TEST_WITH(preferences_are_merged_and_null_removes, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a =
        api_call(t, "ben", "PATCH", "/v1/preferences", "{\"theme\":\"dark\",\"size\":3}");
    assert_status(a, 200);
    a = api_call(t, "ben", "PATCH", "/v1/preferences", "{\"theme\":null,\"font\":{\"a\":[1]}}");
    assert_string_equal(api_part(t, a.json, ""), "{\"size\":3,\"font\":{\"a\":[1]}}");
    assert_string_equal(api_part(t, api_get(t, "ben", "/v1/preferences").json, ""),
                        "{\"size\":3,\"font\":{\"a\":[1]}}");
    assert_string_equal(api_part(t, api_get(t, "ana", "/v1/preferences").json, ""), "{}");
    assert_refused(api_call(t, "ben", "PATCH", "/v1/preferences", "[1]"), 400, "bad_request",
                   "The body must be a JSON object.");
    assert_refused(api_call(t, "ben", "PATCH", "/v1/preferences", "{"), 400, "bad_request",
                   "The body must be a JSON object.");
}

TEST_WITH(preferences_have_a_ceiling, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct buf b;
    buf_init(&b, 64 * 1024);
    buf_add_lit(&b, "{\"k\":\"");
    while (b.n < 20 * 1024)
        buf_add_lit(&b, "0123456789");
    buf_add_lit(&b, "\"}");
    assert_status(api_call_with(t, "ben", "PATCH", "/v1/preferences", "", buf_str(&b)), 400);
    while (b.n < 40 * 1024)
        buf_add_lit(&b, "0123456789");
    assert_status(api_call_with(t, "ben", "PATCH", "/v1/preferences", "", buf_str(&b)), 413);
    buf_done(&b);
}

/* ---- several changes of one person ---- */

/* While another process holds the lock of the files, changes wait. */
TEST_WITH(a_member_has_one_change_in_progress, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct roster_lock l;
    struct err e = {0};
    assert_int_equal(roster_lock_take(&l, t->rig->dir.path, true, &e), 0);
    struct api_client *c = api_begin(t, "ben", "PATCH", "/v1/preferences", "", STR("{\"a\":1}"));
    rig_until(t->rig, t->api->changing.total == 1);
    struct api_answer a = api_call(t, "ben", "PATCH", "/v1/preferences", "{\"a\":2}");
    assert_refused(a, 429, "rate_limited",
                   "Your earlier changes are still being saved. Wait for their responses.");
    assert_string_equal(api_header(t, &a, "Retry-After"), "1");
    roster_lock_drop(&l);
    assert_string_equal(api_part(t, api_finish(c).json, ""), "{\"a\":1}");
    assert_int_equal(t->api->changing.total, 0);
    assert_status(api_call(t, "ben", "PATCH", "/v1/preferences", "{\"a\":2}"), 200);
}

TEST_WITH(changes_of_the_operator_do_not_use_up_those_of_the_owner, set_up, api_tear_down)
{
    enum { ADMIN_MAX = 16 };
    struct api_rig *t = *state;
    struct roster_lock l;
    struct err e = {0};
    assert_int_equal(roster_lock_take(&l, t->rig->dir.path, true, &e), 0);
    for (size_t i = 1; i <= ADMIN_MAX; i++) {
        (void)api_begin(t, "operator", "PATCH", "/v1/preferences", "", STR("{\"a\":1}"));
        rig_until(t->rig, t->api->changing.total == i);
    }
    struct api_client *c = api_begin(t, "ana", "PATCH", "/v1/preferences", "", STR("{\"a\":2}"));
    rig_until(t->rig, t->api->changing.total == ADMIN_MAX + 1);
    roster_lock_drop(&l);
    assert_int_equal(api_finish(c).status, 200);
    rig_until(t->rig, t->api->changing.total == 0);
}

/* The change has waited, and the right to it was taken away before its turn. */
TEST_WITH(a_change_that_waited_is_refused_when_the_right_to_it_is_gone, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct roster_lock l;
    struct err e = {0};
    struct api_changed demoted = {0};
    assert_int_equal(roster_lock_take(&l, t->rig->dir.path, true, &e), 0);
    struct api_client *first =
        api_begin(t, "ana", "PATCH", "/v1/users/usr_cyd", "", STR("{\"displayName\":\"C\"}"));
    rig_until(t->rig, t->api->changing.total == 1);
    struct api_client *second =
        api_begin(t, "dan", "POST", "/v1/users", "", STR("{\"email\":\"e@x.org\"}"));
    rig_until(t->rig, t->api->changing.total == 2);
    struct change demote = {
        .kind = CHANGE_USER_SET, .user_id = STR("usr_dan"), .has_role = true, .role = ORG_MEMBER};
    directory_change(t->rig->directory, &demote, on_api_changed, &demoted);
    roster_lock_drop(&l);
    assert_status(api_finish(first), 200);
    struct api_answer a = api_finish(second);
    assert_true(demoted.is_done && demoted.code == 0);
    assert_status(a, 403);
    assert_string_equal(api_text(t, a.json, "error"), "forbidden");
    assert_int_equal(directory_roster(t->rig->directory)->nusers, 4);
}
