/* Conversations as a whole (conversations/conversations.c): lists, summaries, titles, copies,
 * deletion; and who may do what (the rules of the routes). */
#include "support/api_rig.h"

static struct api_answer on(struct api_rig *t, const char *who, const char *method, const char *id,
                            const char *more, const char *body)
{
    return api_call(t, who, method, api_path(t, "/v1/conversations/%s%s", id, more), body);
}

/* ---- rights ---- */

/* What the owner, a participant, an admin who does not take part, a stranger, and a token of the
 * owner that may only read get for each operation. */
TEST_WITH(each_operation_has_its_right, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    enum { OWNER, PARTICIPANT, ADMIN, STRANGER, READER, PEOPLE };
    static const char *const WHO[PEOPLE] = {"ben", "dan", "ana", "eve", "reader"};
    static const struct {
        const char *method, *more, *body;
        int status[PEOPLE];
    } OPERATIONS[] = {
        {"GET", "", NULL, {200, 200, 200, 404, 200}},
        {"GET", "/history", NULL, {200, 200, 200, 404, 200}},
        {"GET", "/notes", NULL, {200, 200, 200, 404, 200}},
        {"GET", "/queue", NULL, {200, 200, 200, 404, 200}},
        {"GET", "/inputs", NULL, {200, 200, 200, 404, 200}},
        {"GET", "/export", NULL, {200, 200, 200, 404, 200}},
        {"POST", "/fork", NULL, {200, 200, 200, 404, 403}},
        {"POST", "/typing", NULL, {204, 204, 403, 404, 403}},
        {"POST", "/notes", "{\"content\":\"x\"}", {200, 200, 403, 404, 403}},
        {"POST", "/cancel", NULL, {200, 200, 403, 404, 403}},
        {"POST", "/inputs/in_1", "{\"action\":\"cancel\"}", {404, 404, 403, 404, 403}},
        {"PATCH", "/queue/msg_1", "{\"message\":\"x\"}", {404, 404, 403, 404, 403}},
        {"DELETE", "/queue/msg_1", NULL, {404, 404, 404, 404, 403}},
        {"POST", "/participants", "{\"userId\":\"dan\"}", {200, 403, 200, 404, 403}},
        {"POST", "/share", NULL, {200, 403, 200, 404, 403}},
        {"PATCH", "", "{\"title\":\"x\"}", {200, 403, 403, 404, 403}},
    };
    api_change(t, (struct change){.kind = CHANGE_USER_ADD,
                                  .user_id = STR("usr_eve"),
                                  .email = STR("eve@example.com"),
                                  .has_role = true,
                                  .role = ORG_MEMBER});
    api_set_role(t, "usr_eve", WS_MEMBER);
    api_add_token(t, "eve",
                  (struct auth_new_token){.user_id = STR("usr_eve"), .scopes = SCOPE_ALL});
    api_add_token(t, "reader",
                  (struct auth_new_token){.user_id = STR("usr_ben"), .scopes = SCOPE_READ});
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    for (size_t i = 0; i < ARRAY_LEN(OPERATIONS); i++)
        for (size_t p = 0; p < PEOPLE; p++) {
            struct api_answer a =
                on(t, WHO[p], OPERATIONS[i].method, id, OPERATIONS[i].more, OPERATIONS[i].body);
            if (a.status != OPERATIONS[i].status[p])
                fail_msg("%s %s of %s: %d instead of %d: %.*s", OPERATIONS[i].method,
                         OPERATIONS[i].more, WHO[p], a.status, OPERATIONS[i].status[p],
                         STR_ARG(a.body));
        }
}

TEST_WITH(a_refusal_says_which_right_is_missing, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    assert_refused(on(t, "dan", "PATCH", id, "", "{\"title\":\"x\"}"), 403, "forbidden",
                   "Only the owner of a conversation may rename, delete or restore it.");
    assert_refused(on(t, "dan", "POST", id, "/unshare", NULL), 403, "forbidden",
                   "Only the owner of a conversation and admins of the workspace may share it.");
    assert_refused(on(t, "ana", "POST", id, "/notes", "{\"content\":\"x\"}"), 403, "forbidden",
                   "You may read this conversation, but you may not write in it.");
}

TEST_WITH(a_token_for_some_tools_manages_no_conversations, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct json_strs tools = {&STR("t__*"), 1};
    api_add_token(
        t, "narrow",
        (struct auth_new_token){.user_id = STR("usr_ben"), .scopes = SCOPE_ALL, .tools = tools});
    assert_status(on(t, "narrow", "GET", id, "", NULL), 200);
    assert_status(on(t, "narrow", "PATCH", id, "", "{\"title\":\"x\"}"), 403);
    assert_status(on(t, "narrow", "POST", id, "/share", NULL), 403);
    assert_status(on(t, "narrow", "DELETE", id, "", NULL), 403);
}

/* ---- one ---- */

TEST_WITH(a_summary_has_everything_that_a_list_shows, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "the answer", .usage = {.input_tokens = 12, .output_tokens = 3});
    const char *id = api_conversation(t, "ben", "what is it");
    rig_until(t->rig, rig_last(t->rig, id, "metadata.title"));
    struct api_answer a = on(t, "ben", "GET", id, "", NULL);
    assert_status(a, 200);
    static const struct {
        const char *key, *value;
    } MEMBERS[] = {
        {"title", "\"A title\""},
        {"messageCount", "2"},
        {"totalInputTokens", "22"},
        {"totalOutputTokens", "8"},
        {"workspaceId", "\"ws_a\""},
        {"ownerId", "\"usr_ben\""},
        {"visibility", "\"private\""},
        {"participants", "[\"usr_ben\"]"},
        {"channel", "\"api\""},
        {"isRunning", "false"},
        {"lastRun", "\"complete\""},
        {"lastModel", "\"demo:demo\""},
        {"forkedFrom", ""},
        {"badLines", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++) /* the tokens of the title are counted too */
        assert_string_equal(api_part(t, a.json, MEMBERS[i].key), MEMBERS[i].value);
    assert_non_null(strstr(api_text(t, a.json, "preview"), "what is it"));
}

TEST_WITH(a_run_without_an_end_was_interrupted, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_keep_busy(t, "ben", id);
    struct api_answer a = on(t, "ben", "GET", id, "", NULL);
    assert_string_equal(api_part(t, a.json, "isRunning"), "true");
    assert_string_equal(api_text(t, a.json, "lastRun"), "running");
    store_fault(RIG_APPEND, "run.done", -EIO); /* as if the server had ended here */
    assert_status(on(t, "ben", "POST", id, "/cancel", NULL), 200);
    rig_until(t->rig, runtime_active_run(t->rig->runtime, str_from(id)).n == 0);
    a = on(t, "ben", "GET", id, "", NULL);
    assert_string_equal(api_part(t, a.json, "isRunning"), "false");
    assert_string_equal(api_text(t, a.json, "lastRun"), "interrupted");
}

TEST_WITH(ids_that_cannot_exist_are_not_found, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const IDS[] = {"conv_0000000000000000", "x", "..%2f..", "a%00b",
                                      "%F0%9F%98%80"};
    for (size_t i = 0; i < ARRAY_LEN(IDS); i++) {
        struct api_answer a = on(t, "ben", "GET", IDS[i], "", NULL);
        if (a.status != 404 && a.status != 400)
            fail_msg("%s: %d %.*s", IDS[i], a.status, STR_ARG(a.body));
    }
}

/* A full disk and a lock of another process have statuses of their own. */
TEST_WITH(errors_of_the_store_have_their_statuses, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    rig_until(t->rig, rig_last(t->rig, id, "metadata.title"));
    static const struct {
        int code, status;
        const char *error;
    } ERRORS[] = {
        {-ENOSPC, 507, "storage_full"},
        {-EBUSY, 409, "conversation_busy"},
        {-EIO, 500, "storage_error"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ERRORS); i++) {
        store_fault(RIG_APPEND, NULL, ERRORS[i].code);
        struct api_answer a = on(t, "ben", "PATCH", id, "", "{\"title\":\"x\"}");
        assert_status(a, ERRORS[i].status);
        assert_string_equal(api_text(t, a.json, "error"), ERRORS[i].error);
    }
    store_fault(RIG_APPEND, NULL, 0);
    store_fault(RIG_GET, NULL, -EIO);
    assert_status(on(t, "ben", "GET", id, "", NULL), 500);
    store_fault(RIG_GET, NULL, 0);
}

/* The rights are read again when the answer is sent. */
TEST_WITH(a_member_who_leaves_during_a_request_gets_no_answer, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    unsigned before = rig_store.kinds[RIG_GET].made;
    store_hold(RIG_GET);
    struct api_client *c =
        api_begin(t, "ben", "GET", api_path(t, "/v1/conversations/%s", id), "", STR_NONE);
    rig_until(t->rig, rig_store.kinds[RIG_GET].made > before);
    api_set_role(t, "usr_ben", WS_NONE);
    store_go();
    struct api_answer a = api_finish(c);
    assert_status(a, 404);
    assert_null(json_get(a.json, "title"));
}

/* ---- titles ---- */

TEST_WITH(a_title_is_one_line_of_text, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_answer a = on(t, "ben", "PATCH", id, "", "{\"title\":\" A\\nB \\u001b[2J\"}");
    assert_status(a, 200);
    const char *title = api_text(t, a.json, "title");
    assert_null(strchr(title, '\n'));
    assert_null(strchr(title, 0x1b));
    assert_non_null(strstr(title, "A"));
    static const struct {
        const char *body, *words;
    } BAD[] = {
        {"{}", "title: required but missing"},
        {"{\"title\":\"\"}", "title: must not be empty"},
        {"{\"title\":\" \\t\"}", "title: must not be empty"},
        {"{\"title\":null}", "title: expected string"},
        {"{\"title\":\"a\",\"titel\":\"b\"}", "titel: unknown key; did you mean 'title'?"},
        {"", "The body is not valid JSON: line 1, column 1: unexpected end"},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_refused(on(t, "ben", "PATCH", id, "", BAD[i].body), 400, "bad_request",
                       BAD[i].words);
}

/* ---- copies ---- */

TEST_WITH(a_copy_ends_at_the_message_that_is_named, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "one");
    assert_status(api_call(t, "ben", "POST", "/v1/chat", api_chat_body(t, id, "two", "")), 200);
    api_share(t, "ben", id, "dan");
    static const struct {
        const char *query, *body, *count;
    } COPIES[] = {
        {"", NULL, "4"},
        {"", "{}", "4"},
        {"", "{\"atMessage\":null}", "4"},
        {"", "{\"atMessage\":2}", "2"},
        {"?atMessage=3", NULL, "3"},
        {"?atMessage=3", "{\"atMessage\":1}", "1"},
        {"?atMessage=0", NULL, "0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(COPIES); i++) {
        struct api_answer a =
            on(t, "dan", "POST", id, api_path(t, "/fork%s", COPIES[i].query), COPIES[i].body);
        assert_status(a, 200);
        assert_string_equal(api_part(t, a.json, "messageCount"), COPIES[i].count);
        assert_string_equal(api_text(t, a.json, "forkedFrom"), id);
        /* It belongs to the person who made it, and nobody else sees it. */
        assert_string_equal(api_text(t, a.json, "ownerId"), "usr_dan");
        assert_status(on(t, "ben", "GET", api_text(t, a.json, "id"), "", NULL), 404);
    }
}

TEST_WITH(a_copy_needs_a_message_that_exists, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "one");
    const char *const NOT_A_NUMBER = "atMessage: expected a whole number, 0 or more";
    assert_refused(on(t, "ben", "POST", id, "/fork?atMessage=3", NULL), 400, "bad_request",
                   "atMessage: there are only 2 messages");
    assert_refused(on(t, "ben", "POST", id, "/fork?atMessage=-1", NULL), 400, "bad_request",
                   NOT_A_NUMBER);
    assert_refused(on(t, "ben", "POST", id, "/fork", "{\"atMessage\":\"2\"}"), 400, "bad_request",
                   NOT_A_NUMBER);
    assert_refused(on(t, "ben", "POST", id, "/fork", "{\"atMessage\":1.5}"), 400, "bad_request",
                   NOT_A_NUMBER);
}

/* ---- deletion ---- */

TEST_WITH(a_deleted_conversation_is_restored_by_its_owner, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    struct api_answer a = on(t, "ben", "DELETE", id, "", NULL);
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "deleted"), "true");
    assert_string_equal(api_part(t, a.json, "purged"), "false");
    assert_status(on(t, "ben", "GET", id, "", NULL), 404);
    assert_refused(on(t, "dan", "POST", id, "/restore", NULL), 404, "not_found",
                   "No such conversation.");
    assert_status(on(t, "ben", "POST", id, "/restore", NULL), 200);
    assert_status(on(t, "dan", "GET", id, "", NULL), 200);
}

TEST_WITH(a_purged_conversation_is_gone, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    assert_refused(on(t, "ben", "DELETE", id, "?purge=yes", NULL), 400, "bad_request",
                   "purge: expected true or false");
    assert_status(on(t, "ben", "DELETE", id, "?purge=false", NULL), 200);
    /* From the trash: the store reads the owner, because the route cannot. */
    assert_status(on(t, "dan", "DELETE", id, "?purge=true", NULL), 404);
    struct api_answer a = on(t, "ben", "DELETE", id, "?purge=true", NULL);
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "purged"), "true");
    assert_status(on(t, "ben", "POST", id, "/restore", NULL), 404);
    assert_status(on(t, "ben", "DELETE", id, "", NULL), 404);
}

TEST_WITH(deleting_a_conversation_cancels_its_run, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_keep_busy(t, "ben", id);
    assert_status(on(t, "ben", "DELETE", id, "", NULL), 200);
    rig_until(t->rig, runtime_active_run(t->rig->runtime, str_from(id)).n == 0);
    assert_int_equal(rig_model.ncancelled, 1);
    assert_int_equal(model_waiting(), 0);
}

/* ---- lists ---- */

static const char *listed(struct api_rig *t, const char *who, const char *query)
{
    struct api_answer a = api_get(t, who, api_path(t, "/v1/conversations%s", query));
    assert_status(a, 200);
    const struct json *list = json_get(a.json, "conversations");
    const char *all = "";
    for (size_t i = 0; i < list->len; i++)
        all =
            api_path(t, "%s%s%s", all, i > 0 ? "," : "", api_text(t, json_at(list, i), "preview"));
    return all;
}

TEST_WITH(a_list_has_the_conversations_that_the_caller_may_see, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "of ben");
    api_conversation(t, "dan", "of dan");
    assert_string_equal(listed(t, "ben", ""), "of ben");
    assert_string_equal(listed(t, "dan", ""), "of dan");
    assert_string_equal(listed(t, "ana", "?sortBy=createdAt"), "of dan,of ben");
    assert_string_equal(listed(t, "operator", "?sortBy=createdAt"), "of dan,of ben");
    api_share(t, "ben", id, "dan");
    assert_string_equal(listed(t, "dan", ""), "of ben,of dan"); /* the newest change first */
    assert_string_equal(listed(t, "dan", "?sortBy=createdAt"), "of dan,of ben");
    assert_status(api_get(t, "cyd", "/v1/conversations"), 403);
}

TEST_WITH(a_list_has_pages, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const TEXTS[] = {"a", "b", "c", "d", "e"};
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++)
        api_conversation(t, "ben", TEXTS[i]);
    struct api_answer a = api_get(t, "ben", "/v1/conversations?limit=2&sortBy=createdAt");
    assert_string_equal(api_part(t, a.json, "totalCount"), "5");
    assert_int_equal(json_get(a.json, "conversations")->len, 2);
    const char *seen = "";
    for (unsigned page = 0; page < 3; page++) {
        const struct json *list = json_get(a.json, "conversations");
        for (size_t i = 0; i < list->len; i++)
            seen = api_path(t, "%s%s", seen, api_text(t, json_at(list, i), "preview"));
        const char *cursor = api_text(t, a.json, "nextCursor");
        assert_int_equal(*cursor != 0, page < 2);
        a = api_get(t, "ben",
                    api_path(t, "/v1/conversations?limit=2&sortBy=createdAt&cursor=%s", cursor));
    }
    assert_string_equal(seen, "edcba");
}

TEST_WITH(a_list_is_checked_for_wrong_parameters, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *query, *words;
    } BAD[] = {
        {"limit=0", "limit: expected a whole number from 1 to 1000"},
        {"limit=1001", "limit: expected a whole number from 1 to 1000"},
        {"limit=-1", "limit: expected a whole number from 1 to 1000"},
        {"limit=1e3", "limit: expected a whole number from 1 to 1000"},
        {"sortBy=title", "sortBy: expected createdAt or updatedAt"},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_refused(api_get(t, "ben", api_path(t, "/v1/conversations?%s", BAD[i].query)), 400,
                       "bad_request", BAD[i].words);
    assert_status(api_get(t, "ben", "/v1/conversations?limit=1000&sortBy=updatedAt"), 200);
}

TEST_WITH(a_list_can_be_filtered_by_words, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    api_conversation(t, "ben", "about pangolins");
    api_conversation(t, "ben", "about otters");
    api_conversation(t, "dan", "about pangolins too");
    assert_string_equal(listed(t, "ben", "?search=pangolins"), "about pangolins");
    assert_string_equal(listed(t, "ben", "?search=badgers"), "");
}
