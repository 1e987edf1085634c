/* Streams of events (live/live.c): of one conversation, and of the workspace. */
#include "api/live/live.h"
#include "support/api_streams.h"

static void send_message(struct api_rig *t, const char *who, const char *id, const char *text)
{
    assert_status(api_call(t, who, "POST", "/v1/chat",
                           api_path(t, "{\"message\":\"%s\",\"conversationId\":\"%s\"}", text, id)),
                  200);
}

static const char *last_id(struct api_stream *s)
{
    stream_parse(s);
    for (size_t i = s->nframes; i > 0; i--)
        if (*s->frames[i - 1].id)
            return s->frames[i - 1].id;
    fail_msg("no frame has an id");
    return NULL;
}

/* ---- a conversation ---- */

TEST_WITH(a_stream_begins_with_snapshots_of_what_no_log_has, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_stream *s = api_stream(t, "ben", api_path(t, "/v1/conversations/%s/events", id));
    const struct json *text = stream_wait(s, "text.snapshot");
    assert_string_equal(api_part(t, text, "runId"), "null");
    assert_string_equal(api_part(t, text, "text"), "\"\"");
    assert_string_equal(api_part(t, text, "calls"), "[]");
    assert_string_equal(api_part(t, stream_wait(s, "presence.snapshot"), "users"),
                        "[{\"userId\":\"usr_ben\",\"displayName\":\"Ben\"}]");
    assert_string_equal(api_part(t, stream_wait(s, "queue.snapshot"), "messages"), "[]");
    assert_string_equal(stream_events(s), "text.snapshot presence.snapshot queue.snapshot");
}

TEST_WITH(a_stream_that_joins_during_an_answer_gets_the_part_before, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    MODEL(.partial = "half of ", .text = "it", .is_held = true);
    struct api_answer a =
        api_call(t, "ben", "POST", "/v1/chat/start",
                 api_path(t, "{\"message\":\"go\",\"conversationId\":\"%s\"}", id));
    assert_status(a, 202);
    const char *run_id = api_text(t, a.json, "runId");
    rig_until(t->rig, runtime_streamed(t->rig->runtime, str_from(id)).n > 0);
    struct api_stream *s = api_stream(t, "ben", api_path(t, "/v1/conversations/%s/events", id));
    const struct json *text = stream_wait(s, "text.snapshot");
    assert_string_equal(api_text(t, text, "runId"), run_id);
    assert_string_equal(api_text(t, text, "text"), "half of ");
    model_release();
    assert_string_equal(api_text(t, stream_wait(s, "text.delta"), "text"), "it");
    stream_wait(s, "run.done");
}

TEST_WITH(every_stream_gets_the_same_frames, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    struct api_stream *one = api_watch(t, "ben", id), *two = api_watch(t, "dan", id);
    send_message(t, "ben", id, "again");
    stream_wait(one, "run.done");
    stream_wait(two, "run.done");
    for (size_t i = 0; i < two->nframes; i++) {
        const struct api_frame *a = &one->frames[one->nframes - 1 - i];
        const struct api_frame *b = &two->frames[two->nframes - 1 - i];
        if (strcmp(b->event, "queue.snapshot") == 0)
            break;
        assert_string_equal(a->event, b->event);
        assert_string_equal(a->id, b->id);
        assert_string_equal(a->data, b->data);
    }
}

TEST_WITH(a_stream_continues_after_the_position_that_the_client_names, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_stream *s = api_watch(t, "ben", id);
    send_message(t, "ben", id, "seen");
    stream_wait(s, "run.done");
    const char *seen = last_id(s), *path = api_path(t, "/v1/conversations/%s/events", id);
    stream_drop(s);
    send_message(t, "ben", id, "missed");

    struct api_stream *again =
        api_stream_with(t, "ben", path, api_path(t, "Last-Event-ID: %s\r\n", seen));
    const struct json *first = stream_wait(again, "user.message");
    assert_string_equal(api_part(t, first, "content"), "[{\"type\":\"text\",\"text\":\"missed\"}]");
    assert_string_equal(api_text(t, first, "displayName"), "Ben");
    stream_wait(again, "queue.snapshot");
    assert_string_equal(
        stream_events(again),
        "user.message run.start llm.done run.done text.snapshot presence.snapshot queue.snapshot");

    /* ?after= is the same, for clients that cannot send the header. */
    struct api_stream *other = api_stream(t, "ben", api_path(t, "%s?after=%s", path, seen));
    stream_wait(other, "queue.snapshot");
    assert_string_equal(stream_events(other), stream_events(again));
}

TEST_WITH(a_position_past_the_end_resets_the_client, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_stream *s =
        api_stream(t, "ben", api_path(t, "/v1/conversations/%s/events?after=999999", id));
    stream_wait(s, "queue.snapshot");
    assert_true(str_starts(str_from(stream_events(s)), STR("reset user.message run.start")));
    stream_drop(s);
    assert_refused(api_get(t, "ben", api_path(t, "/v1/conversations/%s/events?after=x", id)), 400,
                   "bad_request", "after: expected a position (a whole number)");
}

TEST_WITH(only_people_who_may_see_a_conversation_may_watch_it, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *path =
        api_path(t, "/v1/conversations/%s/events", api_conversation(t, "ben", "hello"));
    assert_refused(api_get(t, "dan", path), 404, "not_found", "No such conversation.");
    assert_refused(api_get(t, "cyd", path), 403, "no_workspace",
                   "You are not a member of any workspace. Ask an administrator of this server, or "
                   "an admin of a workspace, to add you to one.");
    assert_status(api_get(t, "", path), 401);
    struct api_stream *admin = api_stream(t, "ana", path);
    stream_wait(admin, "queue.snapshot");
}

TEST_WITH(a_deleted_conversation_ends_its_streams, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_stream *s = api_watch(t, "ben", id);
    struct api_stream *all = api_watch_workspace(t, "ben", api_path(t, "?watch=%s", id));
    stream_wait(all, "queue.snapshot");
    assert_status(api_call(t, "ben", "DELETE", api_path(t, "/v1/conversations/%s", id), NULL), 200);
    stream_end(s);
    assert_string_equal(stream_events(s), "text.snapshot presence.snapshot queue.snapshot");
    assert_string_equal(api_text(t, stream_wait(all, "watch.ended"), "conversationId"), id);
}

TEST_WITH(typing_is_shown_to_watchers_and_not_logged, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *path = api_path(t, "/v1/conversations/%s/typing", id);
    api_share(t, "ben", id, "dan");
    struct api_stream *s = api_watch(t, "dan", id);
    assert_status(api_call(t, "ben", "POST", path, NULL), 204);
    assert_string_equal(api_part(t, stream_wait(s, "typing"), "isTyping"), "true");
    assert_status(api_call(t, "ben", "POST", path, "{\"isTyping\":false}"), 204);
    const struct json *over = stream_wait(s, "typing");
    assert_string_equal(api_part(t, over, "isTyping"), "false");
    assert_string_equal(api_text(t, over, "userId"), "usr_ben");
    assert_string_equal(api_text(t, over, "displayName"), "Ben");
    assert_string_equal(s->frames[s->nframes - 1].id, "");
    stream_drop(s);
    assert_refused(api_call(t, "ben", "POST", path, "{\"typing\":true}"), 400, "bad_request",
                   "typing: unknown key; did you mean 'isTyping'?");
    assert_null(rig_last(t->rig, id, "typing"));
}

/* ---- the workspace ---- */

TEST_WITH(news_reach_only_people_who_may_see_the_conversation, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_stream *ben = api_watch_workspace(t, "ben", ""),
                      *dan = api_watch_workspace(t, "dan", "");
    const char *id = api_conversation(t, "ben", "hello");
    const struct json *made = stream_wait(ben, "conversation.created");
    assert_string_equal(api_text(t, made, "conversationId"), id);
    api_share(t, "ben", id, "dan");
    stream_wait(ben, "conversation.shared");
    assert_string_equal(api_text(t, stream_wait(dan, "conversation.shared"), "conversationId"), id);
    assert_true(strstr(stream_events(dan), "conversation.created") == NULL);

    /* For people who lost access the conversation looks deleted. */
    assert_status(api_call(t, "ben", "POST", api_path(t, "/v1/conversations/%s/unshare", id), NULL),
                  200);
    const struct json *hidden = stream_wait(dan, "conversation.deleted");
    assert_string_equal(api_part(t, hidden, "conversationId"), api_path(t, "\"%s\"", id));
    assert_int_equal(hidden->len, 1);
    stream_wait(ben, "conversation.shared");
    assert_null(stream_find(ben, "conversation.deleted"));
}

TEST_WITH(frames_in_a_stream_of_the_workspace_name_their_conversation, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_stream *own = api_watch(t, "ben", id);
    struct api_stream *all = api_watch_workspace(t, "ben", api_path(t, "?watch=%s", id));
    stream_wait(all, "queue.snapshot");
    send_message(t, "ben", id, "again");
    stream_wait(own, "user.message");
    const struct json *mixed = stream_wait(all, "user.message");
    assert_string_equal(api_text(t, mixed, "conversationId"), id);
    assert_string_equal(api_part(t, mixed, "position"), own->frames[own->next - 1].id);
    assert_string_equal(all->frames[all->next - 1].id, "");
}

TEST_WITH(a_stream_of_the_workspace_continues_where_it_broke_off, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_stream *s = api_watch_workspace(t, "ben", "");
    const char *seen = last_id(s);
    stream_drop(s);
    const char *mine = api_conversation(t, "ben", "mine");
    api_conversation(t, "dan", "not mine");

    s = api_watch_workspace(t, "ben", api_path(t, "?after=%s", seen));
    assert_string_equal(s->frames[0].event, "conversation.created");
    assert_non_null(strstr(s->frames[0].data, mine));
    for (size_t i = 0; i < s->nframes; i++)
        if (strcmp(s->frames[i].event, "subscribed") != 0)
            assert_non_null(strstr(s->frames[i].data, mine));
    stream_drop(s);

    /* The header wins; nothing was missed since the last id. */
    const char *now = last_id(s);
    s = api_stream_with(t, "ben", api_path(t, "/v1/events?after=%s", seen),
                        api_path(t, "Last-Event-ID: %s\r\n", now));
    stream_wait(s, "subscribed");
    assert_string_equal(stream_events(s), "subscribed");
}

/* The replay asks for the rights of now, not for those at the time of the message. */
TEST_WITH(a_replay_leaves_out_what_may_not_be_seen_any_more, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    api_set_role(t, "usr_dan", WS_ADMIN);
    struct api_stream *s = api_watch_workspace(t, "dan", "");
    const char *seen = last_id(s);
    api_conversation(t, "ben", "hello");
    stream_wait(s, "conversation.created");
    stream_drop(s);
    api_set_role(t, "usr_dan", WS_MEMBER);
    s = api_watch_workspace(t, "dan", api_path(t, "?after=%s", seen));
    assert_string_equal(stream_events(s), "member.changed subscribed");
}

static void publish_news(struct api_rig *t, unsigned n)
{
    str topic = store_space_topic(&t->rig->arena, t->rig->store);
    for (unsigned i = 0; i < n; i++) {
        struct bus_msg msg = {.topic = topic, .type = STR("bundle.ready"), .data = STR("{}")};
        bus_publish(t->rig->bus, &msg);
    }
}

TEST_WITH(a_client_that_missed_more_than_the_ring_holds_loads_everything_again, api_set_up,
          api_tear_down)
{
    struct api_rig *t = *state;
    struct api_stream *s = api_watch_workspace(t, "ben", "");
    const char *seen = last_id(s);
    stream_drop(s);
    publish_news(t, HUB_RING);
    s = api_watch_workspace(t, "ben", api_path(t, "?after=%s", seen));
    assert_int_equal(s->nframes, HUB_RING + 1);
    stream_drop(s);
    publish_news(t, 1);
    const char *const UNKNOWN[] = {seen, "b_0-1", "nonsense", last_id(s)};
    for (size_t i = 0; i < ARRAY_LEN(UNKNOWN); i++) {
        s = api_watch_workspace(t, "ben", api_path(t, "?after=%s", UNKNOWN[i]));
        assert_string_equal(stream_events(s),
                            i < 3 ? "reset subscribed" : "bundle.ready subscribed");
        stream_drop(s);
    }
}

TEST_WITH(conversations_are_added_to_an_open_stream_and_removed_from_it, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *a = api_conversation(t, "ben", "a"), *b = api_conversation(t, "ben", "b");
    struct api_stream *s = api_watch_workspace(t, "ben", api_path(t, "?watch=%s", a));
    stream_wait(s, "queue.snapshot");
    assert_string_equal(s->frames[0].data, "{\"streamId\":\"1\"}");
    assert_status(api_call(t, "ben", "POST", "/v1/events/1/watch",
                           api_path(t, "{\"add\":[\"%s@0\"],\"remove\":[\"%s\"]}", b, a)),
                  204);
    /* From its beginning on, because of the position 0. */
    assert_string_equal(api_text(t, stream_wait(s, "user.message"), "conversationId"), b);
    stream_wait(s, "queue.snapshot");
    size_t before = s->nframes;
    send_message(t, "ben", a, "not watched");
    send_message(t, "ben", b, "watched");
    stream_wait(s, "run.done");
    for (size_t i = before; i < s->nframes; i++)
        if (strcmp(s->frames[i].event, "user.message") == 0)
            assert_non_null(strstr(s->frames[i].data, b));
}

#define WATCH_HINT                                                                                 \
    "watch: expected conversation ids, each with @ and a position or without, separated by "       \
    "commas; at most 50"

TEST_WITH(a_list_of_conversations_is_checked_before_the_stream_opens, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const BAD[] = {"a/b", "conv_1@", "conv_1@x", "conv_1,,conv_2", "@1"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_refused(api_get(t, "ben", api_path(t, "/v1/events?watch=%s", BAD[i])), 400,
                       "bad_request", WATCH_HINT);
    char list[2048] = "";
    for (unsigned i = 0; i <= LIVE_WATCHES_MAX; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%sconv_%u", i > 0 ? "," : "", i);
    assert_refused(api_get(t, "ben", api_path(t, "/v1/events?watch=%s", list)), 400, "bad_request",
                   WATCH_HINT);
    *strrchr(list, ',') = 0; /* exactly as many as are allowed: none exists, each ends */
    struct api_stream *s = api_watch_workspace(t, "ben", api_path(t, "?watch=%s", list));
    for (unsigned i = 0; i < LIVE_WATCHES_MAX; i++)
        stream_wait(s, "watch.ended");
}

TEST_WITH(a_stream_watches_no_more_than_50_conversations, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_stream *s = api_watch_workspace(t, "ben", "");
    store_hold(RIG_GET); /* so that none of them ends */
    for (unsigned i = 0; i < LIVE_WATCHES_MAX; i++)
        assert_status(api_call(t, "ben", "POST", "/v1/events/1/watch",
                               api_path(t, "{\"add\":[\"conv_%u\"]}", i)),
                      204);
    assert_refused(api_call(t, "ben", "POST", "/v1/events/1/watch", "{\"add\":[\"conv_50\"]}"), 400,
                   "bad_request", WATCH_HINT);
    /* one that is watched already is not an error */
    assert_status(api_call(t, "ben", "POST", "/v1/events/1/watch", "{\"add\":[\"conv_7\"]}"), 204);
    store_go();
    for (unsigned i = 0; i < LIVE_WATCHES_MAX; i++)
        stream_wait(s, "watch.ended");
}

TEST_WITH(only_the_person_who_opened_a_stream_changes_it, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    api_watch_workspace(t, "ben", "");
    api_watch(t, "ben", api_conversation(t, "ben", "hello"));
    static const struct {
        const char *who, *stream;
    } WRONG[] = {{"dan", "1"}, {"ana", "1"}, {"ben", "2"}, {"ben", "77"}, {"ben", "x"}};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++)
        assert_refused(api_call(t, WRONG[i].who, "POST",
                                api_path(t, "/v1/events/%s/watch", WRONG[i].stream), "{}"),
                       404, "not_found", "No such stream.");
    assert_refused(api_call(t, "ben", "POST", "/v1/events/1/watch", "{\"add\":[\"a/b\"]}"), 400,
                   "bad_request", WATCH_HINT);
    assert_refused(api_call(t, "ben", "POST", "/v1/events/1/watch", "{\"watch\":[]}"), 400,
                   "bad_request", "watch: unknown key");
    assert_status(api_call(t, "ben", "POST", "/v1/events/1/watch", "{}"), 204);
}

TEST_WITH(a_conversation_that_may_not_be_seen_looks_like_one_that_does_not_exist, api_set_up,
          api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_stream *s =
        api_watch_workspace(t, "dan", api_path(t, "?watch=%s,conv_0000000000000000", id));
    const char *data[2];
    for (size_t i = 0; i < 2; i++) {
        stream_wait(s, "watch.ended");
        data[i] = s->frames[s->next - 1].data;
    }
    bool is_first = strstr(data[0], id) != NULL;
    assert_string_equal(data[!is_first], api_path(t, "{\"conversationId\":\"%s\"}", id));
    assert_string_equal(data[is_first], "{\"conversationId\":\"conv_0000000000000000\"}");
}
