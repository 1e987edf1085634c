/* Views over the rig, which has tools (source "t") but no bundles: their interfaces cannot be read,
 * everything else is there. */
#include "api/views/views.h"
#include "support/api_streams.h"

enum { PING, SLOW, HANG, FAIL, READ, DROP };

#define CALL        "\"runId\":\"run_1\",\"id\":\"c1\",\"name\":\"t__ping\""
#define START(more) "{\"type\":\"tool.start\"," CALL more "}"
#define DONE(more)  "{\"type\":\"tool.done\"," CALL ",\"ok\":true,\"ms\":1" more "}"
#define RESULT      ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"isError\":false}"

static void let_interfaces_call(void)
{
    for (size_t i = 0; i < ARRAY_LEN(rig_tools.tools); i++)
        rig_tools.tools[i].is_for_apps = i != READ;
}

/* A conversation of ben's in which t__ping was called and has answered. */
static const char *make_call(struct api_rig *t)
{
    const char *id = api_conversation(t, "ben", "hello");
    rig_append(t->rig, id, START(",\"input\":{\"a\":1}"));
    rig_append(t->rig, id, DONE(RESULT));
    return id;
}

static struct api_answer open_call(struct api_rig *t, const char *who, const char *id)
{
    return api_call(t, who, "POST", "/v1/views",
                    api_path(t, "{\"conversationId\":\"%s\",\"callId\":\"c1\"}", id));
}

static const char *open_view(struct api_rig *t, const char *who, const char *id)
{
    struct api_answer a = open_call(t, who, id);
    assert_status(a, 200);
    return api_text(t, a.json, "viewId");
}

static struct api_answer rpc(struct api_rig *t, const char *who, const char *view, const char *body)
{
    return api_call(t, who, "POST", api_path(t, "/v1/views/%s/rpc", view), body);
}

static struct api_answer call_tool(struct api_rig *t, const char *view, const char *name)
{
    return rpc(t, "ben", view,
               api_path(t, "{\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}", name));
}

static struct api_stream *stream_call(struct api_rig *t, const char *who, const char *view,
                                      const char *name)
{
    const char *body =
        api_path(t, "{\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}", name);
    return api_stream_of(api_begin(t, who, "POST", api_path(t, "/v1/views/%s/rpc", view),
                                   "Accept: text/event-stream\r\n", str_from(body)));
}

static const char *error_of(struct api_rig *t, struct api_answer a)
{
    assert_status(a, 200);
    return api_part(t, a.json, "error.code");
}

static struct api_answer decide(struct api_rig *t, const char *view, const char *ask,
                                const char *decision)
{
    return api_call(t, "ben", "POST", api_path(t, "/v1/views/%s/asks/%s", view, ask),
                    api_path(t, "{\"decision\":\"%s\"}", decision));
}

static size_t live_views(const struct api_rig *t)
{
    return map_len(&t->api->views->by_id);
}

static void assert_gone(struct api_rig *t, const char *who, const char *view)
{
    assert_refused(api_get(t, who, api_path(t, "/v1/views/%s", view)), 404, "view_not_found",
                   "No such view; it may have ended.");
}

/* ---- the call ---- */

static void assert_state(struct api_rig *t, const char *id, const char *state, const char *input,
                         const char *result)
{
    struct api_answer a = open_call(t, "ben", id);
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "state"), state);
    assert_string_equal(api_part(t, a.json, "arguments"), input);
    assert_string_equal(api_part(t, a.json, "result"), result);
    assert_string_equal(api_text(t, a.json, "problem.code"), "app_unavailable");
    assert_string_equal(api_text(t, a.json, "app"), "t");
}

TEST_WITH(the_state_of_a_call_is_what_the_log_says, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    assert_refused(open_call(t, "ben", id), 404, "call_not_found",
                   "The conversation has no such tool call.");
    rig_append(t->rig, id,
               "{\"type\":\"llm.response\",\"content\":[{\"type\":\"tool-call\",\"toolCallId\":"
               "\"c1\",\"toolName\":\"t__ping\",\"input\":{\"a\":1}}]}");
    assert_state(t, id, "cancelled", "{\"a\":1}", "null"); /* the run ended before it */
    rig_append(t->rig, id, "{\"type\":\"ask.opened\",\"askId\":\"k\",\"calls\":[{\"id\":\"c1\"}]}");
    assert_state(t, id, "preparing", "{\"a\":1}", "null");
    rig_append(t->rig, id, "{\"type\":\"ask.answered\",\"askId\":\"k\",\"decision\":\"allow\"}");
    rig_append(t->rig, id, START(",\"input\":\"not JSON\""));
    assert_state(t, id, "cancelled", "{}", "null");
    rig_append(t->rig, id, DONE(RESULT));
    assert_state(t, id, "done", "{}",
                 "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"isError\":false}");
}

TEST_WITH(a_call_that_was_stopped_has_a_reason_and_no_result, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    rig_append(t->rig, id, START(",\"input\":{}"));
    rig_append(t->rig, id, DONE(",\"cancelled\":true" RESULT));
    struct api_answer a = open_call(t, "ben", id);
    assert_string_equal(api_text(t, a.json, "state"), "cancelled");
    assert_string_equal(api_text(t, a.json, "reason"), "hi");
    assert_string_equal(api_part(t, a.json, "result"), "null");
}

/* A conversation of ben's whose run waits for the result of t__slow to be stored. */
static const char *make_unstored_call(struct api_rig *t)
{
    const char *id = api_conversation(t, "ben", "hello");
    model_calls("t__slow", "{\"a\":1}");
    MODEL(.text = "later", .is_held = true);
    assert_status(api_call(t, "ben", "POST", "/v1/chat/start", api_chat_body(t, id, "go", "")),
                  202);
    rig_until(t->rig, rig_tools.started == 1);
    store_hold(RIG_APPEND);
    tools_release();
    rig_until(t->rig, rig_store.nheld == 1);
    return id;
}

static struct api_client *begin_open(struct api_rig *t, const char *id)
{
    const char *body = api_path(t, "{\"conversationId\":\"%s\",\"callId\":\"c1\"}", id);
    return api_begin(t, "ben", "POST", "/v1/views", "", str_from(body));
}

TEST_WITH(a_result_that_is_being_stored_is_awaited, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_unstored_call(t);
    struct api_answer a = open_call(t, "ben", id);
    assert_string_equal(api_text(t, a.json, "state"), "running");
    const char *view = api_text(t, a.json, "viewId");
    store_go();
    rig_until(t->rig, model_waiting() > 0);
    a = api_get(t, "ben", api_path(t, "/v1/views/%s", view));
    assert_string_equal(api_text(t, a.json, "state"), "done");
    model_release();
}

/* The log was read before the result was in it, and the run goes on before that is looked at. */
TEST_WITH(a_result_that_is_stored_while_the_log_is_read_is_not_a_cancellation, api_set_up,
          api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_unstored_call(t);
    store_delay(RIG_READ);
    struct api_client *c = begin_open(t, id);
    rig_until(t->rig, rig_store.ndelayed == 1);
    store_go();
    rig_until(t->rig, model_waiting() > 0);
    store_deliver();
    struct api_answer a = api_finish(c);
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "state"), "done");
    assert_string_equal(api_part(t, a.json, "arguments"), "{\"a\":1}");
    assert_string_equal(api_part(t, a.json, "result.isError"), "false");
    model_release();
}

TEST_WITH(a_log_that_cannot_be_read_is_not_an_absent_call, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_call(t), *view = open_view(t, "ben", id);
    store_fault_once(RIG_READ, NULL, -EIO);
    assert_refused(open_call(t, "ben", id), 500, "storage_error",
                   "The conversation could not be read.");
    store_fault_once(RIG_READ, NULL, -EIO);
    assert_status(api_get(t, "ben", api_path(t, "/v1/views/%s", view)), 500);
    assert_status(api_get(t, "ben", api_path(t, "/v1/views/%s", view)),
                  200); /* it is still there */
    assert_int_equal(live_views(t), 1);
}

TEST_WITH(a_tool_whose_source_is_starting_is_waited_for, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_call(t);
    rig_tools.absence = "it starts";
    rig_tools.is_coming = true;
    registry_changed(t->rig->tools, &rig_tools.source);
    const char *body = api_path(t, "{\"conversationId\":\"%s\",\"callId\":\"c1\"}", id);
    struct api_client *c = api_begin(t, "ben", "POST", "/v1/views", "", str_from(body));
    rig_until(t->rig, live_views(t) == 1);
    rig_spin(t->rig);
    rig_tools.absence = NULL;
    rig_tools.is_coming = false;
    registry_changed(t->rig->tools, &rig_tools.source);
    struct api_answer a = api_finish(c);
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "app"), "t");
}

/* ---- ends ---- */

TEST_WITH(a_client_that_does_not_wait_leaves_no_view, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_call(t);
    const char *body = api_path(t, "{\"conversationId\":\"%s\",\"callId\":\"c1\"}", id);
    store_hold(RIG_READ);
    struct api_client *c = api_begin(t, "ben", "POST", "/v1/views", "", str_from(body));
    rig_until(t->rig, live_views(t) == 1);
    api_client_close(c);
    rig_until(t->rig, live_views(t) == 0);
    store_go();
    rig_spin(t->rig);
}

TEST_WITH(losing_access_while_it_opens_ends_it, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_call(t);
    rig_share(t->rig, id, "usr_dan");
    const char *body = api_path(t, "{\"conversationId\":\"%s\",\"callId\":\"c1\"}", id);
    store_hold(RIG_READ);
    struct api_client *c = api_begin(t, "dan", "POST", "/v1/views", "", str_from(body));
    rig_until(t->rig, live_views(t) == 1);
    assert_status(api_call(t, "ben", "POST", api_path(t, "/v1/conversations/%s/unshare", id), "{}"),
                  200);
    assert_int_equal(live_views(t), 0);
    store_go();
    assert_status(api_finish(c), 404);
}

TEST_WITH(a_participant_who_is_removed_loses_the_view_and_its_calls, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    let_interfaces_call();
    const char *id = make_call(t);
    rig_share(t->rig, id, "usr_dan");
    const char *mine = open_view(t, "ben", id), *his = open_view(t, "dan", id);
    assert_gone(t, "dan", mine);
    struct api_stream *s = stream_call(t, "dan", his, "slow");
    rig_until(t->rig, rig_tools.started == 1);
    assert_string_equal(rig_tools.user_id, "usr_dan");
    assert_status(api_call(t, "ben", "POST", api_path(t, "/v1/conversations/%s/unshare", id), "{}"),
                  200);
    assert_int_equal(rig_tools.cancelled, 1);
    const struct json *last = stream_wait(s, "done");
    assert_string_equal(api_text(t, last, "error.message"), "The view has ended.");
    stream_end(s);
    assert_gone(t, "dan", his);
    assert_status(api_get(t, "ben", api_path(t, "/v1/views/%s", mine)), 200);
}

TEST_WITH(a_person_who_leaves_and_a_demoted_admin_lose_their_views, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_call(t);
    api_set_role(t, "usr_dan", WS_ADMIN);
    const char *his = open_view(t, "dan", id); /* an admin may look at everything */
    open_view(t, "ben", id);
    api_set_role(t, "usr_dan", WS_MEMBER);
    assert_gone(t, "dan", his);
    assert_int_equal(live_views(t), 1);
    rig_remove_member(t->rig, "usr_ben");
    assert_int_equal(live_views(t), 0);
}

TEST_WITH(an_idle_view_ends_and_one_with_work_does_not, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    let_interfaces_call();
    const char *id = make_call(t);
    const char *idle = open_view(t, "ben", id), *busy = open_view(t, "ben", id);
    struct api_stream *s = stream_call(t, "ben", busy, "slow");
    rig_until(t->rig, rig_tools.started == 1);
    LIST_EACH (v, &t->api->views->all, struct app_view, node)
        v->used_ms -= VIEW_IDLE_MS;
    t->api->views->sweep.fn(t->api->views->sweep.ctx);
    assert_gone(t, "ben", idle);
    tools_release();
    assert_string_equal(api_part(t, stream_wait(s, "done"), "result.content"),
                        "[{\"type\":\"text\",\"text\":\"pong\"}]");
    stream_end(s);
}

TEST_WITH(the_least_recently_used_view_of_a_person_makes_room, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_call(t);
    rig_share(t->rig, id, "usr_dan");
    const char *other = open_view(t, "dan", id);
    const char *first = open_view(t, "ben", id), *second = open_view(t, "ben", id);
    for (size_t i = 2; i < VIEWS_PER_PERSON; i++)
        open_view(t, "ben", id);
    assert_status(api_get(t, "ben", api_path(t, "/v1/views/%s", first)), 200);
    open_view(t, "ben", id);
    assert_gone(t, "ben", second);
    assert_status(api_get(t, "ben", api_path(t, "/v1/views/%s", first)), 200);
    assert_status(api_get(t, "dan", api_path(t, "/v1/views/%s", other)), 200);
    assert_int_equal(live_views(t), VIEWS_PER_PERSON + 1);
}

TEST_WITH(a_view_is_nobodys_presence, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_call(t);
    rig_share(t->rig, id, "usr_dan");
    struct api_stream *s = api_watch(t, "ben", id);
    open_view(t, "dan", id);
    struct api_stream *w = api_watch(t, "dan", id);
    const struct json *joined = stream_wait(s, "presence"); /* of the stream, not of the view */
    assert_string_equal(api_text(t, joined, "userId"), "usr_dan");
    stream_drop(w);
    assert_string_equal(api_text(t, stream_wait(s, "presence"), "state"), "left");
}

/* ---- calls ---- */

TEST_WITH(tools_of_the_own_source_that_are_for_interfaces, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    let_interfaces_call();
    const char *view = open_view(t, "ben", make_call(t));
    struct api_answer a = call_tool(t, view, "ping");
    assert_string_equal(api_part(t, a.json, "result"),
                        "{\"content\":[{\"type\":\"text\",\"text\":\"pong\"}]}");
    a = call_tool(t, view, "fail");
    assert_string_equal(api_part(t, a.json, "result.isError"), "true");
    assert_int_equal(rig_tools.started, 2);
    assert_string_equal(error_of(t, call_tool(t, view, "read")), "-32602");
    assert_string_equal(error_of(t, call_tool(t, view, "t__ping")), "-32602");
    assert_string_equal(error_of(t, call_tool(t, view, "none")), "-32602");
    assert_string_equal(error_of(t, rpc(t, "ben", view, "{\"method\":\"x\"}")), "-32601");
    assert_status(rpc(t, "ben", view, "{\"method\":\"x\",\"id\":1}"), 400);
    rig_use_permissions(t->rig, "{\"deny\":[\"t__ping\"]}");
    assert_string_equal(error_of(t, call_tool(t, view, "ping")), "-32000");
    assert_int_equal(rig_tools.started, 2);
}

TEST_WITH(a_question_is_answered_once_by_the_person_of_the_view, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    let_interfaces_call();
    const char *view = open_view(t, "ben", make_call(t));
    assert_string_equal(error_of(t, call_tool(t, view, "drop")), "-32001");
    struct api_stream *s = stream_call(t, "ben", view, "drop");
    const char *ask = api_text(t, stream_wait(s, "ask"), "askId");
    assert_status(api_call(t, "dan", "POST", api_path(t, "/v1/views/%s/asks/%s", view, ask),
                           "{\"decision\":\"allow\"}"),
                  404);
    assert_status(decide(t, view, ask, "maybe"), 400);
    assert_int_equal(rig_tools.started, 0);
    assert_status(decide(t, view, ask, "always"), 200);
    assert_non_null(json_get(stream_wait(s, "done"), "result"));
    stream_end(s);
    assert_status(decide(t, view, ask, "allow"), 404);
    assert_non_null(json_get(call_tool(t, view, "drop").json, "result")); /* remembered */
}

TEST_WITH(a_tool_that_is_gone_when_the_answer_comes_is_not_called, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    let_interfaces_call();
    const char *view = open_view(t, "ben", make_call(t));
    struct api_stream *s = stream_call(t, "ben", view, "drop");
    const char *ask = api_text(t, stream_wait(s, "ask"), "askId");
    rig_tools.tools[DROP].is_for_apps = false;
    registry_changed(t->rig->tools, &rig_tools.source);
    assert_status(decide(t, view, ask, "allow"), 200);
    assert_non_null(json_get(stream_wait(s, "done"), "error"));
    stream_end(s);
    assert_int_equal(rig_tools.started, 0);
}

TEST_WITH(questions_have_a_ceiling_and_end_with_their_request, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    let_interfaces_call();
    const char *view = open_view(t, "ben", make_call(t));
    struct api_stream *s[VIEW_CALLS_MAX];
    for (size_t i = 0; i < VIEW_CALLS_MAX; i++) {
        s[i] = stream_call(t, "ben", view, "drop");
        stream_wait(s[i], "ask");
    }
    struct api_answer a = call_tool(t, view, "ping");
    assert_non_null(strstr(api_text(t, a.json, "error.message"), "in progress"));
    stream_drop(s[0]);
    a = call_tool(t, view, "ping");
    assert_non_null(json_get(a.json, "result"));
    for (size_t i = 1; i < VIEW_CALLS_MAX; i++)
        stream_drop(s[i]);
    assert_int_equal(rig_tools.started, 1);
}

TEST_WITH(a_closed_request_cancels_its_call, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    let_interfaces_call();
    const char *view = open_view(t, "ben", make_call(t));
    struct api_stream *s = stream_call(t, "ben", view, "slow");
    rig_until(t->rig, rig_tools.started == 1);
    tools_progress(1, 3, "a third");
    const struct json *p = stream_wait(s, "progress");
    assert_string_equal(api_text(t, p, "message"), "a third");
    stream_drop(s);
    assert_int_equal(rig_tools.cancelled, 1);
    struct api_client *c =
        api_begin(t, "ben", "POST", api_path(t, "/v1/views/%s/rpc", view), "",
                  STR("{\"method\":\"tools/call\",\"params\":{\"name\":\"slow\"}}"));
    rig_until(t->rig, rig_tools.started == 2);
    api_client_close(c);
    rig_until(t->rig, rig_tools.cancelled == 2);
}

TEST_WITH(a_view_that_is_closed_answers_its_requests, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    let_interfaces_call();
    const char *view = open_view(t, "ben", make_call(t));
    struct api_client *c =
        api_begin(t, "ben", "POST", api_path(t, "/v1/views/%s/rpc", view), "",
                  STR("{\"method\":\"tools/call\",\"params\":{\"name\":\"slow\"}}"));
    rig_until(t->rig, rig_tools.started == 1);
    assert_status(api_call(t, "ben", "DELETE", api_path(t, "/v1/views/%s", view), NULL), 200);
    assert_string_equal(error_of(t, api_finish(c)), "-32000");
    assert_int_equal(rig_tools.cancelled, 1);
    assert_int_equal(live_views(t), 0);
}

TEST_WITH(too_many_requests_in_a_second_are_refused, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *view = open_view(t, "ben", make_call(t));
    struct app_view *v = views_find(t->api, str_from(view));
    assert_string_equal(error_of(t, rpc(t, "ben", view, "{\"method\":\"x\"}")), "-32601");
    assert_true(v->tokens <= VIEW_BURST - 1);
    v->tokens = -1e6;
    assert_string_equal(error_of(t, rpc(t, "ben", view, "{\"method\":\"x\"}")), "-32000");
    v->refilled_ms -= 3600 * 1000;
    v->tokens = 0;
    assert_string_equal(error_of(t, rpc(t, "ben", view, "{\"method\":\"x\"}")), "-32601");
    assert_true(v->tokens <= VIEW_BURST);
}

/* ---- words for the model ---- */

TEST_WITH(context_is_told_once_and_again_after_a_refusal, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_call(t), *view = open_view(t, "ben", id);
    rig_share(t->rig, id, "usr_dan");
    const char *update = "{\"method\":\"ui/update-model-context\",\"params\":{\"content\":[{"
                         "\"type\":\"text\",\"text\":\"row 7\"}]}}";
    assert_string_equal(api_part(t, rpc(t, "ben", view, update).json, "result"), "{}");
    const char *empty = api_path(t, "{\"conversationId\":\"%s\",\"message\":\"\"}", id);
    const char *words = api_path(t, "{\"conversationId\":\"%s\",\"message\":\"x\"}", id);
    assert_status(api_call(t, "ben", "POST", "/v1/chat", empty), 400);
    assert_status(api_call(t, "dan", "POST", "/v1/chat", words), 200); /* not his view */
    assert_null(json_get(rig_last(t->rig, id, "user.message"), "context"));
    assert_status(api_call(t, "ben", "POST", "/v1/chat", words), 200);
    assert_string_equal(api_part(t, rig_last(t->rig, id, "user.message"), "context"),
                        "[{\"app\":\"t\",\"callId\":\"c1\",\"text\":\"row 7\"}]");
    rpc(t, "ben", view, update);
    assert_status(api_call(t, "ben", "POST", "/v1/chat", words), 200);
    assert_null(json_get(rig_last(t->rig, id, "user.message"), "context"));
}

TEST_WITH(a_message_of_an_interface_names_it, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = make_call(t), *view = open_view(t, "ben", id);
    struct api_answer a = rpc(t, "ben", view,
                              "{\"method\":\"ui/message\",\"params\":{\"role\":\"user\","
                              "\"content\":{\"type\":\"text\",\"text\":\"buy\"}}}");
    assert_string_equal(api_part(t, a.json, "result"), "{}");
    rig_settle(t->rig);
    assert_string_equal(api_text(t, rig_last(t->rig, id, "user.message"), "app"), "t");
    a = rpc(t, "ben", view, "{\"method\":\"ui/message\",\"params\":{\"role\":\"system\"}}");
    assert_string_equal(error_of(t, a), "-32602");
    a = rpc(t, "ben", view, "{\"method\":\"ui/message\",\"params\":{\"content\":[]}}");
    assert_string_equal(error_of(t, a), "-32000"); /* empty: the turn refuses it */
}

TEST_WITH(a_link_that_was_opened_is_recorded_without_its_secrets, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *view = open_view(t, "ben", make_call(t));
    const char *url = "\"params\":{\"url\":\"https://example.com/a?token=secret#x\"}";
    struct api_answer a = rpc(t, "ben", view, api_path(t, "{\"method\":\"ui/open-link\",%s}", url));
    assert_string_equal(error_of(t, a), "-32601"); /* only the page says so */
    a = rpc(t, "ben", view,
            api_path(t, "{\"method\":\"ui/open-link\",\"confirmed\":true,%s}", url));
    assert_string_equal(api_part(t, a.json, "result"), "{}");
}
