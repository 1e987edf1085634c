/* The hub of a workspace (live/hub.c): who is there, who may not see something any more,
 * heartbeats, and watchers that are too slow. */
#include "api/live/hub.h"
#include "support/api_streams.h"
#include "support/stopped_clock.h"

static struct api_answer post(struct api_rig *t, const char *who, const char *id, const char *what,
                              const char *body)
{
    return api_call(t, who, "POST", api_path(t, "/v1/conversations/%s/%s", id, what), body);
}

/* A conversation of ben in which dan takes part. */
static const char *shared_conversation(struct api_rig *t)
{
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "usr_dan");
    return id;
}

/* Everything that was published before reaches the streams before this returns. */
static void settle(struct api_rig *t, const char *id, struct api_stream *s)
{
    assert_status(post(t, "ben", id, "typing", NULL), 204);
    stream_wait(s, "typing");
}

static unsigned count(struct api_stream *s, const char *event)
{
    unsigned n = 0;
    stream_parse(s);
    for (size_t i = 0; i < s->nframes; i++)
        n += strcmp(s->frames[i].event, event) == 0;
    return n;
}

/* ---- presence ---- */

TEST_WITH(a_join_and_a_leave_are_announced_to_the_others, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = shared_conversation(t);
    struct api_stream *ben = api_watch(t, "ben", id), *dan = api_watch(t, "dan", id);
    const struct json *joined = stream_wait(ben, "presence");
    assert_string_equal(api_part(t, joined, "userId"), "\"usr_dan\"");
    assert_string_equal(api_text(t, joined, "displayName"), "Dan");
    assert_string_equal(api_text(t, joined, "state"), "joined");
    stream_drop(dan);
    assert_string_equal(api_text(t, stream_wait(ben, "presence"), "state"), "left");
    assert_int_equal(count(ben, "presence"), 2);
}

TEST_WITH(a_second_tab_is_neither_a_join_nor_a_leave, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = shared_conversation(t);
    struct api_stream *ben = api_watch(t, "ben", id), *dan = api_watch(t, "dan", id);
    stream_wait(ben, "presence");
    struct api_stream *second = api_watch(t, "dan", id);
    second->next = 0;
    assert_string_equal(api_part(t, stream_wait(second, "presence.snapshot"), "users"),
                        "[{\"userId\":\"usr_ben\",\"displayName\":\"Ben\"},"
                        "{\"userId\":\"usr_dan\",\"displayName\":\"Dan\"}]");
    stream_drop(dan);
    settle(t, id, ben);
    assert_int_equal(count(ben, "presence"), 1);
    stream_drop(second);
    assert_string_equal(api_text(t, stream_wait(ben, "presence"), "state"), "left");
}

TEST_WITH(a_conversation_removed_from_a_stream_is_a_leave, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = shared_conversation(t);
    struct api_stream *dan = api_watch_workspace(t, "dan", api_path(t, "?watch=%s", id));
    stream_wait(dan, "queue.snapshot");
    struct api_stream *ben = api_watch(t, "ben", id);
    assert_status(
        api_call(t, "dan", "POST", "/v1/events/1/watch", api_path(t, "{\"remove\":[\"%s\"]}", id)),
        204);
    assert_string_equal(api_text(t, stream_wait(ben, "presence"), "state"), "left");
}

/* A join would cost a message to everybody. */
TEST_WITH(joins_are_not_announced_in_a_crowd, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = shared_conversation(t);
    struct api_stream *ben = api_watch(t, "ben", id);
    for (unsigned i = 1; i < HUB_PRESENCE_MAX; i++)
        api_watch(t, "ben", id);
    struct api_stream *dan = api_watch(t, "dan", id);
    settle(t, id, ben);
    assert_int_equal(count(ben, "presence"), 0);
    dan->next = 0;
    assert_int_equal(json_get(stream_wait(dan, "presence.snapshot"), "users")->len, 2);
    stream_drop(dan);
    settle(t, id, ben);
    assert_int_equal(count(ben, "presence"), 0);
}

/* ---- access that ends ---- */

TEST_WITH(a_participant_who_is_removed_gets_no_further_frame, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = shared_conversation(t);
    struct api_stream *ben = api_watch(t, "ben", id), *dan = api_watch(t, "dan", id);
    struct api_stream *all = api_watch_workspace(t, "dan", api_path(t, "?watch=%s", id));
    stream_wait(all, "queue.snapshot");
    assert_status(api_call(t, "ben", "DELETE",
                           api_path(t, "/v1/conversations/%s/participants/usr_dan", id), NULL),
                  200);
    stream_end(dan);
    assert_int_equal(count(dan, "conversation.participants"), 0);
    stream_wait(all, "conversation.deleted");
    assert_int_equal(count(all, "watch.ended"), 1);
    settle(t, id, ben);
    assert_int_equal(count(ben, "conversation.participants"), 1);
    assert_int_equal(count(all, "typing"), 0);
}

TEST_WITH(a_former_member_loses_every_stream, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = shared_conversation(t);
    struct api_stream *ben = api_watch_workspace(t, "ben", "");
    struct api_stream *one = api_watch(t, "dan", id), *all = api_watch_workspace(t, "dan", "");
    MODEL(.partial = "secret", .is_held = true);
    struct api_stream *chat = api_stream_chat(t, "dan", "{\"message\":\"go\"}");
    stream_wait(chat, "text.delta");
    api_set_role(t, "usr_dan", WS_NONE);
    stream_end(one);
    stream_end(all);
    stream_end(chat);
    assert_int_equal(count(all, "member.left"), 0);
    assert_string_equal(api_text(t, stream_wait(ben, "member.left"), "userId"), "usr_dan");
    assert_status(api_get(t, "dan", "/v1/events"), 403);
}

TEST_WITH(a_revoked_token_ends_only_the_streams_that_it_opened, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = shared_conversation(t);
    api_add_token(t, "dans phone",
                  (struct auth_new_token){.user_id = STR("usr_dan"), .scopes = SCOPE_READ});
    struct api_stream *phone = api_watch(t, "dans phone", id), *desk = api_watch(t, "dan", id);
    api_change(t, (struct change){.kind = CHANGE_TOKEN_REVOKE,
                                  .user_id = STR("usr_dan"),
                                  .token.id = str_from(api_find_token(t, "dans phone")->id)});
    stream_end(phone);
    settle(t, id, desk);
    assert_status(api_get(t, "dans phone", "/v1/events"), 401);
}

TEST_WITH(an_admin_who_becomes_a_member_loses_conversations_of_others, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *of_ben = api_conversation(t, "ben", "hello");
    const char *of_dan = api_conversation(t, "dan", "hello");
    api_set_role(t, "usr_dan", WS_ADMIN);
    struct api_stream *s = api_watch(t, "dan", of_ben), *own = api_watch(t, "dan", of_dan);
    struct api_stream *all =
        api_watch_workspace(t, "dan", api_path(t, "?watch=%s,%s", of_ben, of_dan));
    stream_wait(all, "queue.snapshot");
    stream_wait(all, "queue.snapshot");
    api_set_role(t, "usr_dan", WS_MEMBER);
    stream_end(s);
    assert_string_equal(api_text(t, stream_wait(all, "watch.ended"), "conversationId"), of_ben);
    assert_status(
        api_call(t, "dan", "POST", api_path(t, "/v1/conversations/%s/typing", of_dan), ""), 204);
    stream_wait(own, "typing");
    assert_int_equal(count(all, "watch.ended"), 1);
}

static void on_created(void *ctx, const struct err *err, const struct conv *c)
{
    assert_null(err);
    *(bool *)ctx = true;
}

/* The log of a child run has the access of its parent. */
static void create_child(struct api_rig *t, const char *id, const char *parent)
{
    bool is_done = false;
    struct json *of;
    str text = str_from(api_path(t, "{\"conversationId\":\"%s\"}", parent));
    assert_int_equal(json_parse(&t->rig->arena, text, 0, &of, NULL), 0);
    struct conv_create spec = {.id = str_from(id), .owner_id = STR("usr_ben"), .parent = of};
    store_create(t->rig->store, &spec, on_created, &is_done);
    rig_until(t->rig, is_done);
}

TEST_WITH(streams_of_a_child_run_end_with_the_access_to_its_parent, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = shared_conversation(t), *child = "conv_00000000000000c1";
    create_child(t, child, id);
    struct api_stream *ben = api_watch(t, "ben", child), *dan = api_watch(t, "dan", child);
    assert_status(post(t, "ben", id, "unshare", NULL), 200);
    stream_end(dan);
    settle(t, child, ben);
}

TEST_WITH(a_deleted_workspace_ends_its_streams, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_stream *ana = api_watch_workspace(t, "ana", ""),
                      *ben = api_watch_workspace(t, "ben", "");
    api_change(
        t, (struct change){.kind = CHANGE_WORKSPACE_REMOVE, .workspace_id = STR(RIG_WORKSPACE)});
    stream_end(ana);
    stream_end(ben);
    assert_int_equal(t->nclosed, 1);
}

/* ---- time ---- */

/* One second of the hub passes. */
static void beat(struct api_rig *t)
{
    unsigned before = t->api->heartbeats;
    timer_start(&t->api->heartbeat, 0);
    rig_until(t->rig, t->api->heartbeats > before);
}

TEST_WITH(a_stream_gets_a_heartbeat_every_30_seconds, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_stream *all = api_watch_workspace(t, "ben", "");
    beat(t);
    struct api_stream *one = api_watch(t, "ben", id);
    for (unsigned i = 1; i < HUB_HEARTBEAT_S; i++)
        beat(t);
    const struct json *at = stream_wait(all, "heartbeat");
    int64_t ms;
    assert_int_equal(clock_parse_iso(json_get_string(at, "timestamp"), &ms), 0);
    settle(t, id, one);
    assert_int_equal(count(one, "heartbeat"), 0); /* 29 seconds for this one */
    beat(t);
    stream_wait(one, "heartbeat");
    assert_int_equal(count(all, "heartbeat"), 1);
}

/* The clients of these wait for an answer, and pings keep their connections open. */
TEST_WITH(the_answer_to_a_chat_message_has_no_heartbeats, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.partial = "a", .text = "b", .is_held = true);
    struct api_stream *s = api_stream_chat(t, "ben", "{\"message\":\"go\"}");
    stream_wait(s, "text.delta");
    for (unsigned i = 0; i < HUB_HEARTBEAT_S; i++)
        beat(t);
    model_release();
    stream_end(s);
    assert_int_equal(count(s, "heartbeat"), 0);
}

TEST_WITH(a_stream_ends_when_its_token_expires, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    clock_stop();
    int64_t expires_ms = clock_now_ms() + 4000;
    api_add_token(t, "short",
                  (struct auth_new_token){
                      .user_id = STR("usr_ben"), .scopes = SCOPE_READ, .expires_ms = expires_ms});
    struct api_stream *brief = api_watch_workspace(t, "short", ""),
                      *ben = api_watch_workspace(t, "ben", "");
    stopped_clock_ms = expires_ms;
    beat(t);
    stream_end(brief);
    api_conversation(t, "ben", "hello");
    stream_wait(ben, "conversation.created");
    assert_status(api_get(t, "short", "/v1/events"), 401);
    clock_continue();
}

/* ---- slow watchers ---- */

static void publish_bytes(struct api_rig *t, const char *id, size_t n)
{
    char *text = xcalloc(1, n + 16);
    memset(text, 'x', n);
    memcpy(text, "{\"text\":\"", 9);
    memcpy(text + n, "\"}", 2);
    struct bus_msg msg = {.topic = store_topic(&t->rig->arena, t->rig->store, str_from(id)),
                          .type = STR("text.delta"),
                          .data = str_from(text)};
    bus_publish(t->rig->bus, &msg);
    free(text);
}

TEST_WITH(a_watcher_that_does_not_read_is_dropped_and_others_miss_nothing, api_set_up,
          api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = shared_conversation(t);
    struct api_stream *slow = api_watch(t, "dan", id), *ben = api_watch(t, "ben", id);
    struct http_stats now;
    unsigned sent = 0;
    uv_poll_stop(&slow->client->poll);
    do {
        publish_bytes(t, id, 256 * 1024);
        sent++;
        for (unsigned i = 0; i < 4; i++)
            rig_spin(t->rig);
        http_server_stats(t->http, &now);
    } while (now.streams == 2 && sent < 200);
    assert_int_equal(now.streams, 1);
    assert_string_equal(api_text(t, stream_wait(ben, "presence"), "state"), "left");
    settle(t, id, ben);
    assert_int_equal(count(ben, "text.delta"), sent);
}
