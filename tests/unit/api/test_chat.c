/* POST /v1/chat, /v1/chat/start and /v1/chat/stream (conversations/chat.c), and the queue of a
 * conversation (conversations/queue.c). */
#include "support/api_streams.h"

static struct api_answer chat(struct api_rig *t, const char *who, const char *body)
{
    return api_call(t, who, "POST", "/v1/chat", body);
}

/* ---- the body ---- */

TEST_WITH(a_chat_request_with_wrong_members_is_refused, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *body, *words;
    } BAD[] = {
        {"{}", "message: required but missing"},
        {"[]", "The body must be a JSON object."},
        {"{\"message\":7}", "message: expected string"},
        {"{\"message\":\"\"}", "The message is empty."},
        {"{\"message\":\" \\n\"}", "The message is empty."},
        {"{\"message\":\"a\",\"message\":\"b\"}",
         "The body is not valid JSON: line 1, column 16: duplicate key \"message\""},
        {"{\"message\":\"a\",\"whenBusy\":\"later\"}", "whenBusy: expected refuse, queue or steer"},
        {"{\"message\":\"a\",\"allowedTools\":\"x\"}", "allowedTools: expected array of strings"},
        {"{\"message\":\"a\",\"metadata\":[]}", "metadata: expected object"},
        {"{\"message\":\"a\",\"unattended\":1}", "unattended: expected boolean"},
        {"{\"answer\":{\"allow\":true}}", "answer.askId: required but missing"},
        {"{\"answer\":{\"askId\":\"ask_1\",\"always\":\"all\"}}",
         "answer.always: expected true, false, \"me\", \"conversation\" or \"workspace\""},
        {"{\"answer\":{\"askId\":\"ask_1\"}}",
         "An answer needs conversationId, the conversation of its question."},
    };
    static const char *const ROUTES[] = {"/v1/chat", "/v1/chat/start", "/v1/chat/stream"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_refused(api_call(t, "ben", "POST", ROUTES[i % ARRAY_LEN(ROUTES)], BAD[i].body), 400,
                       "bad_request", BAD[i].words);
    assert_int_equal(rig_model.nseen, 0);
}

TEST_WITH(keys_for_other_programs_are_accepted, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(chat(t, "ben", "{\"message\":\"hi\",\"traceId\":\"x\",\"metadata\":null}"), 200);
}

TEST_WITH(only_the_operator_lends_a_directory, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_refused(
        chat(t, "ana",
             "{\"message\":\"hi\",\"workingDirectory\":{\"path\":\"/tmp\",\"id\":\"1:2\"}}"),
        403, "forbidden",
        "workingDirectory: only a terminal on the server's own machine may set it, through the "
        "server's socket (nb.sock).");
}

/* ---- one answer ---- */

TEST_WITH(an_answer_reports_its_run, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_calls("t__ping", "{\"n\":1}");
    MODEL(.text = "done", .usage = {.input_tokens = 30, .output_tokens = 4});
    struct api_answer a =
        chat(t, "ben", "{\"message\":\"hi\",\"metadata\":{\"from\":\"test\"},\"channel\":\"web\"}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "response"), "done");
    assert_string_equal(api_text(t, a.json, "stopReason"), "complete");
    assert_string_equal(api_part(t, a.json, "usage.iterations"), "2");
    assert_string_equal(api_part(t, a.json, "inputTokens"), "40");
    const struct json *call = json_at(json_get(a.json, "toolCalls"), 0);
    assert_string_equal(api_text(t, call, "name"), "t__ping");
    assert_string_equal(api_part(t, call, "input"), "{\"n\":1}");
    assert_string_equal(api_text(t, call, "output"), "pong");
    const char *id = api_text(t, a.json, "conversationId");
    struct api_answer conv = api_get(t, "ben", api_path(t, "/v1/conversations/%s", id));
    assert_string_equal(api_text(t, conv.json, "channel"), "web");
    assert_string_equal(api_part(t, conv.json, "metadata"), "{\"from\":\"test\"}");
}

TEST_WITH(a_failed_run_has_the_status_of_its_reason, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        enum llm_error_kind kind;
        int status;
        const char *error;
    } KINDS[] = {
        {LLM_ERR_AUTH, 502, "provider_auth_error"},
        {LLM_ERR_TOO_LONG, 413, "context_too_long"},
    };
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        model_fails(KINDS[i].kind, "no luck");
        struct api_answer a = chat(t, "ben", "{\"message\":\"hi\"}");
        assert_status(a, KINDS[i].status);
        assert_string_equal(api_text(t, a.json, "error"), KINDS[i].error);
        assert_non_null(strstr(api_text(t, a.json, "message"), "no luck"));
        /* The message is in the log: the client can go on from there. */
        const char *id = api_text(t, a.json, "details.conversationId");
        assert_non_null(rig_last(t->rig, id, "user.message"));
    }
}

TEST_WITH(a_full_disk_is_said_before_anything_runs, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    store_fault(RIG_CREATE, NULL, -ENOSPC);
    struct api_answer a = chat(t, "ben", "{\"message\":\"hi\"}");
    assert_status(a, 500);
    assert_string_equal(api_text(t, a.json, "error"), "storage_error");
    assert_int_equal(rig_model.nseen, 0);
}

TEST_WITH(a_message_to_a_conversation_needs_the_right_to_send, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *body = api_chat_body(t, id, "me too", "");
    api_add_token(t, "reader",
                  (struct auth_new_token){.user_id = STR("usr_ben"), .scopes = SCOPE_READ});
    struct api_answer a = chat(t, "dan", body);
    assert_refused(a, 404, "not_found", api_path(t, "There is no conversation '%s'.", id));
    assert_status(chat(t, "reader", body), 403);
    assert_status(chat(t, "cyd", body), 403);
    assert_status(chat(t, "", body), 401);
    api_share(t, "ben", id, "dan");
    assert_status(chat(t, "dan", body), 200);
    assert_refused(chat(t, "ben", api_chat_body(t, "conv_0000000000000000", "x", "")), 404,
                   "not_found", "There is no conversation 'conv_0000000000000000'.");
}

TEST_WITH(the_run_of_a_client_that_disconnects_continues, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    MODEL(.text = "nobody waits", .is_held = true);
    struct api_client *c =
        api_begin(t, "ben", "POST", "/v1/chat", "", str_from(api_chat_body(t, id, "go", "")));
    rig_until(t->rig, model_waiting() > 0);
    api_client_close(c);
    struct api_stream *s = api_stream_chat(t, "ben", "{\"message\":\"other\"}");
    stream_end(s); /* the server has seen by now that the first client is gone */
    model_release();
    rig_until(t->rig, runtime_active_run(t->rig->runtime, str_from(id)).n == 0);
    assert_log(t->rig, id,
               "user.message run.start llm.response run.done user.message run.start llm.response "
               "run.done");
}

/* ---- questions ---- */

TEST_WITH(a_question_is_answered_with_the_next_request, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_calls("t__drop", "{}");
    struct api_answer a = chat(t, "ben", "{\"message\":\"drop it\"}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "stopReason"), "waiting");
    const char *id = api_text(t, a.json, "conversationId");
    const char *ask = api_text(t, a.json, "ask.askId");
    const char *answer = api_path(
        t, "{\"conversationId\":\"%s\",\"answer\":{\"askId\":\"%s\",\"allow\":true}}", id, ask);
    assert_int_equal(rig_tools.started, 0);
    assert_status(chat(t, "dan", answer), 404);
    assert_status(chat(t, "ben", answer), 200);
    assert_int_equal(rig_tools.started, 1);
    assert_refused(chat(t, "ben", answer), 409, "no_open_question",
                   "This question is not open. It may have been answered already.");
}

TEST_WITH(an_answer_for_everybody_needs_an_admin, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_calls("t__drop", "{}");
    struct api_answer a = chat(t, "ben", "{\"message\":\"drop it\"}");
    const char *answer =
        api_path(t,
                 "{\"conversationId\":\"%s\",\"answer\":{\"askId\":\"%s\","
                 "\"allow\":true,\"always\":\"workspace\"}}",
                 api_text(t, a.json, "conversationId"), api_text(t, a.json, "ask.askId"));
    assert_refused(chat(t, "ben", answer), 403, "forbidden",
                   "Only admins of the workspace may allow a tool for everybody.");
    assert_int_equal(rig_tools.started, 0);
    api_set_role(t, "usr_ben", WS_ADMIN);
    assert_status(chat(t, "ben", answer), 200);
    assert_int_equal(rig_tools.started, 1);
}

/* ---- busy conversations ---- */

TEST_WITH(a_busy_conversation_refuses_queues_or_steers, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_keep_busy(t, "ben", id);
    struct api_answer busy = chat(t, "ben", api_chat_body(t, id, "now", ""));
    assert_status(busy, 409);
    assert_string_equal(api_text(t, busy.json, "error"), "run_in_progress");
    struct api_answer queued = api_call(t, "ben", "POST", "/v1/chat/start",
                                        api_chat_body(t, id, "next", ",\"whenBusy\":\"queue\""));
    assert_status(queued, 202);
    assert_string_equal(api_text(t, queued.json, "conversationId"), id);
    assert_true(str_starts(str_from(api_text(t, queued.json, "queuedId")), STR("msg_")));
    assert_int_equal(queued.json->len, 2);
    model_release();
    rig_until(t->rig,
              rig_model.nseen == 3 && runtime_active_run(t->rig->runtime, str_from(id)).n == 0);
}

/* The id of a message of `who` that waits in the conversation. */
static const char *queue_message(struct api_rig *t, const char *who, const char *id,
                                 const char *text)
{
    struct api_answer a = api_call(t, who, "POST", "/v1/chat/start",
                                   api_chat_body(t, id, text, ",\"whenBusy\":\"queue\""));
    assert_status(a, 202);
    return api_text(t, a.json, "queuedId");
}

static const char *queue_path(struct api_rig *t, const char *id, const char *queued)
{
    return api_path(t, "/v1/conversations/%s/queue%s%s", id, *queued ? "/" : "", queued);
}

static const char *queued_texts(struct api_rig *t, const char *who, const char *id)
{
    struct api_answer a = api_get(t, who, queue_path(t, id, ""));
    assert_status(a, 200);
    const struct json *list = json_get(a.json, "messages");
    const char *all = "";
    for (size_t i = 0; i < list->len; i++)
        all =
            api_path(t, "%s%s%s", all, i > 0 ? "," : "", api_text(t, json_at(list, i), "message"));
    return all;
}

TEST_WITH(the_queue_is_shown_to_everybody_who_may_see_the_conversation, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    struct api_stream *s = api_watch(t, "dan", id);
    api_keep_busy(t, "ben", id);
    const char *first = queue_message(t, "ben", id, "one");
    queue_message(t, "dan", id, "two");
    assert_string_equal(queued_texts(t, "dan", id), "one,two");
    const struct json *added = stream_wait(s, "queue.added");
    assert_string_equal(api_text(t, added, "queuedId"), first);
    assert_string_equal(api_text(t, added, "message"), "one");
    assert_string_equal(api_text(t, added, "displayName"), "Ben");

    /* A stream that comes later gets all of it. */
    struct api_stream *late = api_watch(t, "ben", id);
    late->next = 0;
    assert_int_equal(json_get(stream_wait(late, "queue.snapshot"), "messages")->len, 2);
    assert_status(api_get(t, "cyd", queue_path(t, id, "")), 403);
    api_add_token(t, "writer",
                  (struct auth_new_token){.user_id = STR("usr_ben"), .scopes = SCOPE_WRITE});
    assert_status(api_get(t, "writer", queue_path(t, id, "")), 403);
}

TEST_WITH(only_its_sender_edits_a_queued_message, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    api_keep_busy(t, "ben", id);
    const char *path = queue_path(t, id, queue_message(t, "dan", id, "one"));
    const char *const NOT_FOUND = "No queued message has this id in this conversation.";
    assert_refused(api_call(t, "ben", "PATCH", path, "{\"message\":\"forged\"}"), 404, "not_found",
                   NOT_FOUND);
    assert_refused(api_call(t, "dan", "PATCH", queue_path(t, id, "msg_0"), "{\"message\":\"x\"}"),
                   404, "not_found", NOT_FOUND);
    assert_refused(api_call(t, "dan", "PATCH", path, "{\"message\":\"\"}"), 400, "bad_request",
                   "The message is empty.");
    assert_refused(api_call(t, "dan", "PATCH", path, "{}"), 400, "bad_request",
                   "message: required but missing");
    struct api_answer a = api_call(t, "dan", "PATCH", path, "{\"message\":\"better\"}");
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "withdrawn"), "false");
    assert_string_equal(queued_texts(t, "ben", id), "better");
}

TEST_WITH(the_owner_of_a_conversation_withdraws_messages_of_others, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    api_keep_busy(t, "ben", id);
    const char *of_ben = queue_message(t, "ben", id, "of ben");
    const char *of_dan = queue_message(t, "dan", id, "of dan");
    assert_status(api_call(t, "dan", "DELETE", queue_path(t, id, of_ben), NULL), 404);
    struct api_answer a = api_call(t, "ben", "DELETE", queue_path(t, id, of_dan), NULL);
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "withdrawn"), "true");
    assert_string_equal(queued_texts(t, "ben", id), "of ben");

    /* A message that the agent has taken is too late. */
    model_release();
    rig_until(t->rig, rig_model.nseen == 3);
    assert_refused(api_call(t, "ben", "DELETE", queue_path(t, id, of_ben), NULL), 409,
                   "already_taken",
                   "This message is not queued any more: it was already sent to the agent.");
}

/* ---- the answer as a stream ---- */

TEST_WITH(a_stream_shows_the_run_and_ends_with_its_report, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_calls("t__ping", "{}");
    model_says("done");
    struct api_stream *s = api_stream_chat(t, "ben", "{\"message\":\"hi\"}");
    stream_end(s);
    s->next = 0;
    const struct json *start = stream_wait(s, "chat.start");
    assert_string_equal(api_part(t, start, "isNew"), "true");
    assert_string_equal(s->frames[1].event, "data.changed");
    assert_true(str_starts(str_from(s->frames[1].data),
                           STR("{\"server\":\"conversations\",\"tool\":\"list\",\"timestamp\":")));
    const struct json *done = stream_wait(s, "done");
    assert_string_equal(api_text(t, done, "response"), "done");
    assert_string_equal(api_text(t, done, "runId"), api_text(t, start, "runId"));
    const char *events = stream_events(s);
    assert_non_null(strstr(events, "tool.start"));
    assert_non_null(strstr(events, "tool.done"));
    /* `done` says what these would say. */
    static const char *const HIDDEN[] = {"user.message", "run.start", "run.done", "snapshot"};
    for (size_t i = 0; i < ARRAY_LEN(HIDDEN); i++)
        assert_null(strstr(events, HIDDEN[i]));
}

TEST_WITH(frames_of_a_chat_stream_are_those_of_the_conversation, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_stream *all = api_watch(t, "ben", id);
    model_calls("t__ping", "{}");
    struct api_stream *s = api_stream_chat(t, "ben", api_chat_body(t, id, "again", ""));
    stream_end(s);
    stream_wait(all, "run.done");
    size_t same = 0;
    for (size_t i = 0; i < s->nframes; i++)
        for (size_t j = 0; j < all->nframes; j++)
            same += *s->frames[i].id && strcmp(s->frames[i].id, all->frames[j].id) == 0 &&
                    strcmp(s->frames[i].event, all->frames[j].event) == 0 &&
                    strcmp(s->frames[i].data, all->frames[j].data) == 0;
    assert_string_equal(stream_events(s),
                        "chat.start tool.preparing llm.done tool.start tool.settled "
                        "tool.done text.delta llm.done done");
    assert_int_equal(same, 4);
}

TEST_WITH(a_stream_ends_with_the_error_of_its_run, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_fails(LLM_ERR_AUTH, "no luck");
    struct api_stream *s = api_stream_chat(t, "ben", "{\"message\":\"hi\"}");
    stream_end(s);
    s->next = 0;
    const char *id = api_text(t, stream_wait(s, "chat.start"), "conversationId");
    const struct json *error = stream_wait(s, "error");
    assert_string_equal(api_text(t, error, "error"), "provider_auth_error");
    assert_string_equal(api_text(t, error, "conversationId"), id);
    assert_non_null(strstr(api_text(t, error, "message"), "no luck"));
    assert_int_equal(s->next, s->nframes);
    assert_null(strstr(stream_events(s), "run.error"));
}

TEST_WITH(a_stream_that_is_refused_before_it_opens_has_a_status, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    assert_status(api_call(t, "dan", "POST", "/v1/chat/stream", api_chat_body(t, id, "x", "")),
                  404);
    assert_int_equal(t->api->nstreams, 0);
}

TEST_WITH(a_queued_stream_does_not_see_the_run_before_its_own, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_keep_busy(t, "ben", id);
    struct api_stream *s =
        api_stream_chat(t, "ben", api_chat_body(t, id, "next", ",\"whenBusy\":\"queue\""));
    const struct json *queued = stream_wait(s, "chat.queued");
    assert_string_equal(api_text(t, queued, "conversationId"), id);
    model_says("mine");
    model_release();
    stream_end(s);
    s->next = 0;
    assert_string_equal(api_part(t, stream_wait(s, "chat.start"), "isNew"), "false");
    assert_string_equal(api_text(t, stream_wait(s, "text.delta"), "text"), "mine");
    assert_string_equal(api_text(t, stream_wait(s, "done"), "response"), "mine");
    assert_null(strstr(stream_events(s), "queue.added"));
    assert_string_equal(s->frames[0].event, "chat.queued");
    assert_string_equal(s->frames[1].event, "chat.start");
}

TEST_WITH(a_withdrawn_message_ends_its_stream_with_an_error, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_keep_busy(t, "ben", id);
    struct api_stream *s =
        api_stream_chat(t, "ben", api_chat_body(t, id, "next", ",\"whenBusy\":\"queue\""));
    const char *queued = api_text(t, stream_wait(s, "chat.queued"), "queuedId");
    assert_status(api_call(t, "ben", "DELETE", queue_path(t, id, queued), NULL), 200);
    const struct json *error = stream_wait(s, "error");
    assert_string_equal(api_text(t, error, "error"), "withdrawn");
    assert_string_equal(api_text(t, error, "conversationId"), id);
    stream_end(s);
}

TEST_WITH(a_stream_whose_reader_lost_access_ends_with_not_found, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    MODEL(.partial = "begun", .text = " and never seen", .is_held = true);
    struct api_stream *running = api_stream_chat(t, "dan", api_chat_body(t, id, "go", ""));
    stream_wait(running, "text.delta");
    struct api_stream *waiting =
        api_stream_chat(t, "dan", api_chat_body(t, id, "next", ",\"whenBusy\":\"queue\""));
    stream_wait(waiting, "chat.queued");
    assert_status(api_call(t, "ben", "DELETE",
                           api_path(t, "/v1/conversations/%s/participants/usr_dan", id), NULL),
                  200);
    struct api_stream *const BOTH[] = {running, waiting};
    for (size_t i = 0; i < ARRAY_LEN(BOTH); i++) {
        const struct json *error = stream_wait(BOTH[i], "error");
        assert_string_equal(api_text(t, error, "error"), "not_found");
        assert_string_equal(api_text(t, error, "message"),
                            "The conversation was deleted, or you may not see it any more.");
        assert_string_equal(api_text(t, error, "conversationId"), id);
        stream_end(BOTH[i]);
        assert_int_equal(BOTH[i]->next, BOTH[i]->nframes);
    }
}

TEST_WITH(the_run_of_a_stream_that_disconnects_continues, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.partial = "begun", .is_held = true);
    struct api_stream *s = api_stream_chat(t, "ben", "{\"message\":\"go\"}");
    const char *id = api_text(t, stream_wait(s, "chat.start"), "conversationId");
    stream_wait(s, "text.delta");
    stream_drop(s);
    assert_int_equal(t->space.users, 0);
    model_release();
    rig_until(t->rig, runtime_active_run(t->rig->runtime, str_from(id)).n == 0);
    assert_log(t->rig, id, "user.message run.start llm.response run.done");
}

TEST_WITH(a_client_that_leaves_before_the_turn_began_leaves_nothing, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    unsigned reads = rig_store.kinds[RIG_GET].made;
    store_hold(RIG_GET);
    struct api_client *c = api_begin(t, "ben", "POST", "/v1/chat/stream", "",
                                     str_from(api_chat_body(t, id, "go", "")));
    rig_until(t->rig, rig_store.kinds[RIG_GET].made > reads);
    api_client_close(c);
    rig_until(t->rig, t->space.users == 0);
    store_go();
    rig_until(t->rig, rig_model.nseen == 2); /* the message is sent; nobody waits for the answer */
    assert_int_equal(t->api->nstreams, 0);
}

/* ---- cancelling ---- */

TEST_WITH(a_run_is_cancelled_by_people_who_may_send, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *path = api_path(t, "/v1/conversations/%s/cancel", id);
    struct api_answer a = api_call(t, "ben", "POST", path, NULL);
    assert_string_equal(api_part(t, a.json, "cancelled"), "false");
    api_keep_busy(t, "ben", id);
    assert_status(api_call(t, "dan", "POST", path, NULL), 404);
    a = api_call(t, "ben", "POST", path, NULL);
    assert_string_equal(api_part(t, a.json, "cancelled"), "true");
    rig_until(t->rig, runtime_active_run(t->rig->runtime, str_from(id)).n == 0);
    struct api_answer conv = api_get(t, "ben", api_path(t, "/v1/conversations/%s", id));
    assert_string_equal(api_text(t, conv.json, "lastRun"), "cancelled");
}

/* Its rights cannot be read any more. */
TEST_WITH(a_person_cancels_a_run_of_their_own_without_its_log, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *path = api_path(t, "/v1/conversations/%s/cancel", id);
    api_keep_busy(t, "ben", id);
    store_fault(RIG_GET, NULL, -ENOENT);
    assert_refused(api_call(t, "ana", "POST", path, NULL), 404, "not_found",
                   "No such conversation.");
    assert_status(api_call(t, "ben", "POST", path, NULL), 200);
    store_fault(RIG_GET, NULL, 0);
    rig_until(t->rig, runtime_active_run(t->rig->runtime, str_from(id)).n == 0);
}
