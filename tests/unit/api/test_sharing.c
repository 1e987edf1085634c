/* Participants of a conversation (conversations/sharing.c). */
#include "support/api_streams.h"

static struct api_answer on(struct api_rig *t, const char *who, const char *method, const char *id,
                            const char *more, const char *body)
{
    return api_call(t, who, method, api_path(t, "/v1/conversations/%s/%s", id, more), body);
}

static void assert_sharing(struct api_rig *t, struct api_answer a, const char *visibility,
                           const char *participants)
{
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "visibility"), visibility);
    assert_string_equal(api_part(t, a.json, "participants"), participants);
}

TEST_WITH(people_are_named_by_id_address_or_name, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const NAMES[] = {"usr_dan", "DAN@example.com", "dan", "Dan"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        const char *id = api_conversation(t, "ben", "hello");
        assert_sharing(
            t,
            on(t, "ben", "POST", id, "participants", api_path(t, "{\"userId\":\"%s\"}", NAMES[i])),
            "shared", "[\"usr_ben\",\"usr_dan\"]");
        assert_sharing(t,
                       on(t, "ben", "DELETE", id, api_path(t, "participants/%s", NAMES[i]), NULL),
                       "shared", "[\"usr_ben\"]");
    }
}

TEST_WITH(a_name_of_two_members_is_refused, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_change(t, (struct change){.kind = CHANGE_USER_ADD,
                                  .user_id = STR("usr_dan2"),
                                  .display_name = STR("Dan"),
                                  .email = STR("dan2@example.com"),
                                  .has_role = true,
                                  .role = ORG_MEMBER});
    api_set_role(t, "usr_dan2", WS_MEMBER);
    assert_refused(on(t, "ben", "POST", id, "participants", "{\"userId\":\"Dan\"}"), 400,
                   "bad_request",
                   "userId: 2 members of this workspace are called 'Dan'. Use the e-mail address "
                   "or the id.");
    assert_status(on(t, "ben", "POST", id, "participants", "{\"userId\":\"usr_dan2\"}"), 200);
}

TEST_WITH(conversations_are_shared_with_members_only, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    assert_refused(on(t, "ben", "POST", id, "participants", "{\"userId\":\"usr_cyd\"}"), 400,
                   "bad_request", "userId: 'usr_cyd' is not a member of this workspace.");
    assert_refused(on(t, "ben", "POST", id, "share", "{\"participants\":[\"dan\",\"nobody\"]}"),
                   400, "bad_request", "participants: 'nobody' is not a member of this workspace.");
    /* Nothing of a refused change takes effect. */
    assert_sharing(t, api_get(t, "ben", api_path(t, "/v1/conversations/%s", id)), "private",
                   "[\"usr_ben\"]");
}

TEST_WITH(share_sets_all_participants_and_keeps_the_owner, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    assert_sharing(t, on(t, "ben", "POST", id, "share", NULL), "shared", "[\"usr_ben\"]");
    assert_sharing(t, on(t, "ben", "POST", id, "share", "{\"participants\":[\"dan\",\"ana\"]}"),
                   "shared", "[\"usr_ben\",\"usr_dan\",\"usr_ana\"]");
    assert_sharing(t, on(t, "ben", "POST", id, "share", "{\"participants\":[\"ana\"]}"), "shared",
                   "[\"usr_ben\",\"usr_ana\"]");
    assert_sharing(t, on(t, "ben", "POST", id, "share", "{\"participants\":null}"), "shared",
                   "[\"usr_ben\",\"usr_ana\"]");
    assert_sharing(t, on(t, "ben", "POST", id, "share", "{\"visibility\":\"private\"}"), "private",
                   "[\"usr_ben\"]");
}

TEST_WITH(the_end_of_sharing_takes_access_away, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    assert_status(on(t, "dan", "GET", id, "history", NULL), 200);
    assert_sharing(t, on(t, "ana", "POST", id, "unshare", NULL), "private", "[\"usr_ben\"]");
    assert_status(on(t, "dan", "GET", id, "history", NULL), 404);
}

/* The operator stands above all conversations, and has no part in them that could end. */
TEST_WITH(those_who_take_part_can_leave, api_set_up, api_tear_down)
{
    static const char *const STAYING[] = {"ben", "ana", "operator"};
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    for (size_t i = 0; i < ARRAY_LEN(STAYING); i++) {
        assert_status(on(t, STAYING[i], "POST", id, "leave", NULL), 403);
        struct api_answer a =
            api_call(t, STAYING[i], "GET", api_path(t, "/v1/conversations/%s", id), NULL);
        assert_string_equal(api_part(t, json_get(a.json, "may"), "leave"), "false");
    }
    assert_status(on(t, "dan", "POST", id, "leave", NULL), 200);
    assert_status(on(t, "dan", "GET", id, "history", NULL), 404);
    assert_sharing(t, on(t, "ben", "POST", id, "share", "{}"), "shared", "[\"usr_ben\"]");
}

TEST_WITH(wrong_bodies_of_sharing_are_refused, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *const LIST =
        "participants: expected an array of ids, e-mail addresses or names of members";
    const struct {
        const char *what, *body, *words;
    } BAD[] = {
        {"share", "{\"visibility\":\"public\"}", "visibility: expected shared or private"},
        {"share", "{\"participants\":\"dan\"}", LIST},
        {"share", "{\"participants\":[7]}", LIST},
        {"share", "{\"participants\":[\"\"]}", LIST},
        {"share", "{\"people\":[]}", "people: unknown key"},
        {"participants", "{}", "userId: required but missing"},
        {"participants", "{\"userId\":[]}", "userId: expected string"},
        {"participants", "{\"userId\":\"\"}", "userId: '' is not a member of this workspace."},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_refused(on(t, "ben", "POST", id, BAD[i].what, BAD[i].body), 400, "bad_request",
                       BAD[i].words);
}

TEST_WITH(no_more_than_1000_participants_are_named, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct buf body;
    buf_init(&body, 1u << 20);
    buf_add_lit(&body, "{\"participants\":[\"dan\"");
    for (unsigned i = 1; i < 1000; i++)
        buf_add_lit(&body, ",\"dan\"");
    buf_add_lit(&body, "]}");
    assert_sharing(t,
                   api_call_with(t, "ben", "POST", api_path(t, "/v1/conversations/%s/share", id),
                                 "", buf_str(&body)),
                   "shared", "[\"usr_ben\",\"usr_dan\"]");
    body.n -= 2;
    buf_add_lit(&body, ",\"dan\"]}");
    assert_status(api_call_with(t, "ben", "POST", api_path(t, "/v1/conversations/%s/share", id), "",
                                buf_str(&body)),
                  400);
    buf_done(&body);
}

TEST_WITH(a_participant_who_left_the_workspace_is_removed_by_id, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    api_set_role(t, "usr_dan", WS_NONE);
    assert_refused(on(t, "ben", "DELETE", id, "participants/Dan", NULL), 404, "not_found",
                   "No such participant.");
    assert_sharing(t, on(t, "ben", "DELETE", id, "participants/usr_dan", NULL), "shared",
                   "[\"usr_ben\"]");
    assert_refused(on(t, "ben", "DELETE", id, "participants/usr_dan", NULL), 404, "not_found",
                   "No such participant.");
    assert_refused(on(t, "ben", "DELETE", id, "participants/usr_ben", NULL), 400, "bad_request",
                   "The owner cannot be removed.");
}

/* Both are applied to what the store reads for them. */
TEST_WITH(two_changes_at_the_same_time_both_take_effect, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *path = api_path(t, "/v1/conversations/%s/participants", id);
    store_hold(RIG_APPEND);
    struct api_client *a = api_begin(t, "ben", "POST", path, "", STR("{\"userId\":\"dan\"}"));
    struct api_client *b = api_begin(t, "ben", "POST", path, "", STR("{\"userId\":\"ana\"}"));
    rig_until(t->rig, rig_store.nheld > 0);
    store_go();
    assert_status(api_finish(a), 200);
    assert_status(api_finish(b), 200);
    struct api_answer now = api_get(t, "ben", api_path(t, "/v1/conversations/%s", id));
    assert_int_equal(json_get(now.json, "participants")->len, 3);
}

TEST_WITH(changes_of_sharing_are_in_the_log, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_stream *s = api_watch(t, "ben", id);
    api_share(t, "ben", id, "dan");
    assert_string_equal(api_text(t, stream_wait(s, "conversation.visibility"), "visibility"),
                        "shared");
    stream_wait(s, "conversation.participants");
    assert_non_null(rig_last(t->rig, id, "metadata.participants"));
}
