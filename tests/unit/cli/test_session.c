/* Events of a chat stream reach the listener; what a session keeps of them. */
#include "cli/session/session_impl.h"
#include "support/unit.h"

struct heard {
    struct buf log;
};

static struct heard heard;
static struct chat_session session;

static void hear(const char *what, str text)
{
    buf_printf(&heard.log, "%s(%.*s) ", what, STR_ARG(text));
}

static void on_text(void *ctx, const struct json *d)
{
    assert_ptr_equal(ctx, &heard);
    hear("text", json_get_string(d, "text"));
}

static void on_tool_done(void *ctx, const struct json *d)
{
    hear(json_get_bool(d, "ok", false) ? "ok" : "failed", json_get_string(d, "name"));
}

static void on_done(void *ctx, const struct json *d)
{
    hear("done", json_get_string(d, "stopReason"));
}

static void on_error(void *ctx, const struct json *d)
{
    hear("error", json_get_string(d, "error"));
    hear("message", json_get_string(d, "message"));
}

static const struct session_events LISTENER = {
    .on_text = on_text, .on_tool_done = on_tool_done, .on_done = on_done, .on_error = on_error};

static struct config config;

static int open_fake(void **state)
{
    heard = (struct heard){0};
    buf_init(&heard.log, 4096);
    session = (struct chat_session){.ev = &LISTENER, .ctx = &heard, .config = &config};
    session.client = client_open_socket(NULL, "/nonexistent/nb.sock", NULL);
    arena_init(&session.arena);
    return 0;
}

static int close_fake(void **state)
{
    client_close(session.client);
    arena_done(&session.arena);
    buf_done(&heard.log);
    return 0;
}

#define dispatch(event, data) session_dispatch(&session, STR(event), STR(data))

TEST_WITH(events_go_to_the_listener_and_the_last_one_is_told, open_fake, close_fake)
{
    assert_false(dispatch("text.delta", "{\"text\":\"a\"}"));
    assert_false(dispatch("tool.done", "{\"name\":\"t\",\"ok\":true}"));
    assert_true(dispatch("done", "{\"stopReason\":\"end\"}"));
    assert_string_equal(buf_cstr(&heard.log), "text(a) ok(t) done(end) ");
}

TEST_WITH(an_error_is_the_last_event_too, open_fake, close_fake)
{
    assert_true(dispatch("error", "{\"error\":\"x\",\"message\":\"y\"}"));
    session_error(&session, STR("connection_lost"), STR("gone"));
    assert_string_equal(buf_cstr(&heard.log),
                        "error(x) message(y) error(connection_lost) message(gone) ");
}

TEST_WITH(events_that_nobody_listens_to_are_ignored, open_fake, close_fake)
{
    assert_false(dispatch("reasoning.delta", "{\"text\":\"a\"}")); /* no listener */
    assert_false(dispatch("tool.start", "{\"id\":\"1\"}"));
    assert_false(dispatch("from.the.future", "{}"));
    assert_false(dispatch("text.delta", "{\"text\"")); /* not JSON */
    assert_string_equal(buf_cstr(&heard.log), "");
}

TEST_WITH(the_start_names_the_conversation_until_it_is_forgotten, open_fake, close_fake)
{
    assert_int_equal(session_conversation(&session).n, 0);
    assert_false(dispatch("chat.start", "{\"conversationId\":\"conv_1\"}"));
    assert_true(str_eq(session_conversation(&session), STR("conv_1")));
    session_forget(&session);
    assert_int_equal(session_conversation(&session).n, 0);
}

static void assert_body(const struct session_input *in, const char *want)
{
    struct buf b;
    buf_init(&b, 4096);
    assert_true(str_eq(session_body(&session, &b, in), str_from(want)));
    buf_done(&b);
}

TEST_WITH(after_a_lost_connection_the_next_message_waits_for_the_run_before, open_fake, close_fake)
{
    session.was_cut = true;
    assert_body(&(struct session_input){.text = STR("hello")},
                "{\"message\":\"hello\",\"channel\":\"tui\",\"unattended\":false,"
                "\"autoAllow\":[],\"whenBusy\":\"queue\"}");
    assert_false(dispatch("chat.start", "{\"conversationId\":\"conv_1\"}"));
    assert_false(session.was_cut);
}

TEST_WITH(an_answer_is_sent_in_place_of_a_message, open_fake, close_fake)
{
    struct json *decisions = json_new(&session.arena, JSON_OBJECT);
    assert_body(&(struct session_input){.text = STR("hello")},
                "{\"message\":\"hello\",\"channel\":\"tui\",\"unattended\":false,"
                "\"autoAllow\":[]}");
    assert_body(&(struct session_input){.ask_id = STR("ask_1"), .decisions = decisions},
                "{\"answer\":{\"askId\":\"ask_1\",\"decisions\":{}},\"channel\":\"tui\","
                "\"unattended\":false,\"autoAllow\":[]}");
}
