/* Branches of a conversation, roles in it, messages for people, and notices. */
#include "api/live/notify.h"
#include "support/api_streams.h"
#include "workspace/notices.h"

static struct api_answer ask(struct api_rig *t, const char *who, const char *method, const char *id,
                             const char *more, const char *body)
{
    return api_call(t, who, method, api_path(t, "/v1/conversations/%s%s", id, more), body);
}

static const char *branch(struct api_rig *t, const char *id, int at)
{
    struct api_answer a = ask(t, "ben", "POST", id, "/fork",
                              api_path(t, "{\"kind\":\"branch\",\"atMessage\":%d}", at));
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "forkKind"), "branch");
    return api_text(t, a.json, "id");
}

static size_t count(struct api_rig *t, const char *who, const char *path, const char *list)
{
    struct api_answer a = api_get(t, who, path);
    assert_status(a, 200);
    const struct json *v = json_get(a.json, list);
    assert_non_null(v);
    return v->len;
}

TEST_WITH(a_branch_is_behind_its_conversation_until_it_is_promoted, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *root = api_conversation(t, "ben", "hello");
    const char *one = branch(t, root, 0), *two = branch(t, one, 0);
    struct api_answer a = ask(t, "ben", "GET", two, "", NULL);
    assert_string_equal(api_text(t, a.json, "branch.of"), root);
    assert_string_equal(api_text(t, a.json, "forkedFrom"), one);
    assert_int_equal(count(t, "ben", "/v1/conversations", "conversations"), 1);
    assert_int_equal(count(t, "ben", "/v1/conversations?hidden=true", "conversations"), 3);
    const char *of_two = api_path(t, "/v1/conversations/%s/branches", two);
    assert_int_equal(count(t, "ben", of_two, "branches"), 2);
    a = ask(t, "ben", "POST", one, "/promote", "{}");
    assert_status(a, 200);
    assert_null(json_get(a.json, "branch"));
    assert_int_equal(count(t, "ben", "/v1/conversations", "conversations"), 2);
    assert_int_equal(count(t, "ben", of_two, "branches"), 1);
}

TEST_WITH(only_the_owner_branches, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *body = "{\"kind\":\"branch\"}";
    api_share(t, "ben", id, "dan");
    static const char *const OTHERS[] = {"dan", "ana"};
    for (size_t i = 0; i < ARRAY_LEN(OTHERS); i++) {
        assert_status(ask(t, OTHERS[i], "POST", id, "/fork", body), 403);
        struct api_answer a = ask(t, OTHERS[i], "GET", id, "", NULL);
        assert_false(json_get_bool(json_get(a.json, "may"), "branch", true));
        a = ask(t, OTHERS[i], "POST", id, "/fork", "{}");
        assert_status(a, 200);
        assert_null(json_get(a.json, "branch"));
    }
    assert_status(ask(t, "ben", "POST", id, "/fork", "{\"kind\":\"\"}"), 400);
    const char *own = branch(t, id, 1);
    assert_status(ask(t, "dan", "GET", own, "", NULL), 404);
    assert_int_equal(count(t, "dan", api_path(t, "/v1/conversations/%s/branches", id), "branches"),
                     0);
    api_share(t, "ben", own, "dan"); /* which makes it a conversation of its own */
    struct api_answer a = ask(t, "dan", "GET", own, "", NULL);
    assert_status(a, 200);
    assert_null(json_get(a.json, "branch"));
}

TEST_WITH(branches_are_deleted_and_restored_with_their_conversation, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *root = api_conversation(t, "ben", "hello");
    const char *one = branch(t, root, 0), *two = branch(t, root, 1);
    assert_status(ask(t, "ben", "DELETE", root, "", NULL), 200);
    assert_status(ask(t, "ben", "GET", one, "", NULL), 404);
    assert_status(ask(t, "ben", "POST", root, "/restore", "{}"), 200);
    assert_status(ask(t, "ben", "GET", one, "", NULL), 200);
    assert_status(ask(t, "ben", "GET", two, "", NULL), 200);
    assert_status(ask(t, "ben", "DELETE", two, "", NULL), 200); /* one of them alone */
    assert_status(ask(t, "ben", "GET", root, "", NULL), 200);
    assert_status(ask(t, "ben", "DELETE", root, "?purge=true", NULL), 200);
    assert_status(ask(t, "ben", "POST", one, "/restore", "{}"), 404);
}

TEST_WITH(a_run_in_a_branch_ends_when_its_conversation_is_deleted, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *root = api_conversation(t, "ben", "hello");
    const char *one = branch(t, root, 2);
    api_keep_busy(t, "ben", one);
    assert_status(ask(t, "ben", "DELETE", root, "", NULL), 200);
    rig_until(t->rig, runtime_active_run(t->rig->runtime, str_from(one)).n == 0);
    assert_status(ask(t, "ben", "POST", root, "/restore", "{}"), 200);
    struct api_answer a = ask(t, "ben", "GET", one, "", NULL);
    assert_string_equal(api_text(t, a.json, "lastRun"), "cancelled"); /* its end is in the log */
}

TEST_WITH(the_audit_log_names_the_branches, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *root = api_conversation(t, "ben", "hello");
    const char *one = branch(t, root, 1);
    static const char *const DEEDS[] = {"conversation.delete", "conversation.restore"};
    assert_status(ask(t, "ben", "DELETE", root, "", NULL), 200);
    assert_status(ask(t, "ben", "POST", root, "/restore", "{}"), 200);
    rig_until(t->rig, audit_state(t->audit).waiting == 0);
    for (size_t i = 0; i < ARRAY_LEN(DEEDS); i++) {
        struct api_answer a =
            api_get(t, "ana", api_path(t, "/v1/audit?action=%s&after=0", DEEDS[i]));
        const struct json *list = json_get(a.json, "records"), *of_branch = json_at(list, 0);
        assert_int_equal(list->len, 2); /* the branch first */
        assert_string_equal(api_text(t, of_branch, "target"), one);
        assert_string_equal(api_text(t, of_branch, "detail"), api_path(t, "branch of %s", root));
        assert_string_equal(api_text(t, json_at(list, 1), "target"), root);
        assert_string_equal(api_part(t, of_branch, "actor"),
                            api_part(t, json_at(list, 1), "actor"));
    }
}

TEST_WITH(a_reader_does_not_write, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_answer a =
        ask(t, "ben", "POST", id, "/participants", "{\"userId\":\"dan\",\"role\":\"read\"}");
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "readers"), "[\"usr_dan\"]");
    assert_status(ask(t, "dan", "GET", id, "/history", NULL), 200);
    assert_status(ask(t, "dan", "POST", id, "/notes", "{\"content\":\"x\"}"), 403);
    assert_refused(api_call(t, "dan", "POST", "/v1/chat", api_chat_body(t, id, "x", "")), 403,
                   "forbidden", "You may read this conversation, but you may not write in it.");
    assert_status(ask(t, "ben", "POST", id, "/participants", "{\"userId\":\"dan\",\"role\":\"\"}"),
                  400);
    a = ask(t, "ben", "POST", id, "/share", "{\"participants\":[\"dan\",\"ana\"]}");
    assert_string_equal(api_part(t, a.json, "readers"), "[\"usr_dan\"]");
    a = ask(t, "ben", "POST", id, "/share", "{\"readers\":[\"ana\"]}");
    assert_string_equal(api_part(t, a.json, "readers"), "[\"usr_ana\"]");
    assert_status(ask(t, "dan", "POST", id, "/notes", "{\"content\":\"x\"}"), 200);
    a = ask(t, "ben", "POST", id, "/unshare", NULL);
    assert_null(json_get(a.json, "readers"));
}

TEST_WITH(a_message_for_people_has_no_run, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *body = api_chat_body(t, id, "to you", ",\"forPeople\":true");
    api_share(t, "ben", id, "dan");
    struct api_answer a = api_call(t, "dan", "POST", "/v1/chat/start", body);
    assert_status(a, 202);
    assert_null(json_get(a.json, "runId"));
    a = ask(t, "ben", "GET", id, "/history", NULL);
    const struct json *messages = json_get(a.json, "messages");
    const struct json *last = json_at(messages, messages->len - 1);
    assert_true(json_get_bool(last, "forPeople", false));
    assert_status(api_call(t, "dan", "POST", "/v1/chat", body), 400);
    assert_status(api_call(t, "cyd", "POST", "/v1/chat/start", body), 403);
}

struct kept_notices {
    char dir[32], path[64];
    struct pool *pool;
};

static void on_mentions(void *ctx, str conversation_id, str by, const struct json_strs *people)
{
    struct api_rig *t = ctx;
    notify_mentioned(t->api, &t->space, conversation_id, by, people);
}

static void keep_notices(struct api_rig *t, struct kept_notices *k)
{
    (void)snprintf(k->dir, sizeof k->dir, "/tmp/nb-notices-XXXXXX");
    assert_non_null(mkdtemp(k->dir));
    (void)snprintf(k->path, sizeof k->path, "%s/notices.json", k->dir);
    k->pool = pool_new(t->rig->loop, "notices", 1);
    t->space.notices = notices_new(k->pool, NULL, k->path);
    runtime_on_mentions(t->rig->runtime, on_mentions, t);
}

static void drop_notices(struct api_rig *t, struct kept_notices *k)
{
    runtime_on_mentions(t->rig->runtime, NULL, NULL);
    notices_free(t->space.notices);
    t->space.notices = NULL;
    pool_free(k->pool);
    (void)unlink(k->path);
    assert_int_equal(rmdir(k->dir), 0);
}

TEST_WITH(notices_are_for_those_who_take_part, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct kept_notices kept;
    keep_notices(t, &kept);
    const char *id = api_conversation(t, "ben", "hello");
    assert_status(ask(t, "ben", "POST", id, "/participants", "{\"userId\":\"dan\"}"), 200);
    struct api_answer a = api_get(t, "dan", "/v1/notices");
    const struct json *first = json_at(json_get(a.json, "notices"), 0);
    assert_string_equal(api_text(t, first, "kind"), "added");
    assert_string_equal(api_text(t, first, "by"), "usr_ben");
    a = api_call(t, "dan", "POST", "/v1/notices/seen", "{}");
    assert_true(json_get_bool(json_at(json_get(a.json, "notices"), 0), "seen", false));
    const char *more = ",\"forPeople\":true,\"mentions\":[\"usr_ben\",\"usr_ana\",\"usr_cyd\"]";
    assert_status(api_call(t, "dan", "POST", "/v1/chat/start", api_chat_body(t, id, "@Ben", more)),
                  202);
    while (count(t, "ben", "/v1/notices", "notices") == 0) /* behind the answer */
        continue;
    assert_int_equal(count(t, "ana", "/v1/notices", "notices"), 0);
    drop_notices(t, &kept);
}

/* A queued message tells nobody until it is in the log. */
TEST_WITH(a_withdrawn_message_mentions_nobody, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct kept_notices kept;
    keep_notices(t, &kept);
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    assert_status(api_call(t, "dan", "POST", "/v1/notices/seen", "{}"), 200);
    size_t before = count(t, "dan", "/v1/notices", "notices");
    api_keep_busy(t, "ben", id);
    const char *more = ",\"whenBusy\":\"queue\",\"mentions\":[\"usr_dan\"]";
    struct api_answer a[2];
    for (size_t i = 0; i < ARRAY_LEN(a); i++) {
        a[i] = api_call(t, "ben", "POST", "/v1/chat/start", api_chat_body(t, id, "@Dan", more));
        assert_status(a[i], 202);
    }
    const char *first = api_path(t, "/queue/%s", api_text(t, a[0].json, "queuedId"));
    assert_status(ask(t, "ben", "DELETE", id, first, NULL), 200);
    assert_int_equal(count(t, "dan", "/v1/notices", "notices"), before);
    model_release(); /* the second one is taken */
    while (count(t, "dan", "/v1/notices", "notices") == before)
        continue;
    drop_notices(t, &kept);
}

/* The agent is at work, and another step follows. */
static void begin_work(struct api_rig *t, const char *who, const char *id)
{
    MODEL(.calls = {{"t__ping", "{}"}}, .is_held = true);
    assert_status(api_call(t, who, "POST", "/v1/chat/start", api_chat_body(t, id, "go", "")), 202);
    rig_until(t->rig, model_waiting() > 0);
}

static void queue_as_dan(struct api_rig *t, const char *id, const char *how)
{
    const char *more = api_path(t, ",\"whenBusy\":\"%s\"", how);
    assert_status(api_call(t, "dan", "POST", "/v1/chat/start", api_chat_body(t, id, "late", more)),
                  202);
}

/* The role of the moment in which a message is taken decides. */
TEST_WITH(a_waiting_message_of_somebody_who_only_reads_now_is_not_taken, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const HOW[] = {"queue", "steer"};
    for (size_t i = 0; i < ARRAY_LEN(HOW); i++) {
        const char *id = api_conversation(t, "ben", "hello");
        api_share(t, "ben", id, "dan");
        begin_work(t, "ben", id);
        queue_as_dan(t, id, HOW[i]);
        assert_status(ask(t, "ben", "POST", id, "/share", "{\"readers\":[\"dan\"]}"), 200);
        model_release();
        rig_until(t->rig, runtime_runs(t->rig->runtime) == 0);
        struct api_answer a = ask(t, "ben", "GET", id, "/history", NULL);
        str all = json_to_str(&t->rig->arena, a.json);
        if (str_find(all, STR("late"), 0) >= 0)
            fail_msg("%s: %.*s", HOW[i], STR_ARG(all));
    }
}

TEST_WITH(a_run_of_somebody_who_only_reads_now_is_cancelled, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    begin_work(t, "dan", id);
    assert_status(ask(t, "ben", "POST", id, "/share", "{\"readers\":[\"dan\"]}"), 200);
    rig_until(t->rig, runtime_runs(t->rig->runtime) == 0); /* although the model does not answer */
    struct api_answer a = ask(t, "ben", "GET", id, "", NULL);
    assert_string_equal(api_text(t, a.json, "lastRun"), "cancelled");
}
