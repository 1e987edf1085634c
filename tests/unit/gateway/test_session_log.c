/* Streams of sessions: what is kept for a client whose connection breaks, and resuming. */
#include "gateway/http/session_log.h"
#include "gateway/http/stream.h"
#include "support/gateway_rig.h"

static void notify(const char *session, const char *method)
{
    gw_session_notify(gw_session(session), method, NULL);
}

static const char *event_id(struct gw_client *c, size_t n)
{
    gw_until(gw_field(c, "id", n).p);
    return arena_cstr(gw.arena, gw_field(c, "id", n));
}

/* The methods of all messages of a stream so far, with spaces. */
static const char *methods_of(struct gw_client *c)
{
    struct buf b;
    gw_settle();
    buf_init(&b, 1u << 16);
    for (size_t i = 0; i < gw_messages(c); i++)
        if (gw_field(c, "data", i).n > 0)
            buf_printf(&b, "%s%.*s", b.n ? " " : "",
                       STR_ARG(json_get_string(gw_json_of(gw_field(c, "data", i)), "method")));
    str all = arena_str(gw.arena, buf_str(&b));
    buf_done(&b);
    return all.n > 0 ? all.p : "";
}

TEST_GATEWAY(a_stream_begins_with_an_event_that_has_only_an_id)
{
    struct gw_client *c = gw_get(gw_open(), "");
    assert_string_equal(event_id(c, 0), "0-1");
    assert_int_equal(gw_field(c, "data", 0).n, 0);
    assert_true(str_eq(gw_field(c, "retry", 0), STR("1000")));
}

TEST_GATEWAY(clients_of_older_revisions_do_not_get_that_event)
{
    const char *session = gw_open_at("/mcp", "2025-06-18");
    struct gw_client *c = gw_get(session, "");
    assert_int_equal(gw_status(c), 200);
    notify(session, "x");
    assert_string_equal(event_id(c, 0), "0-1");
    assert_like(gw_message(c, 0), "{'method':'x'}");
}

TEST_GATEWAY(messages_wait_for_the_first_reader)
{
    const char *session = gw_open();
    notify(session, "a");
    notify(session, "b");
    assert_string_equal(methods_of(gw_get(session, "")), "a b");
}

TEST_GATEWAY(a_client_resumes_after_the_last_event_that_it_saw)
{
    const char *session = gw_open();
    struct gw_client *c = gw_get(session, "");
    assert_int_equal(gw_status(c), 200);
    notify(session, "a");
    notify(session, "b");
    assert_string_equal(methods_of(c), "a b");
    const char *a = event_id(c, 1);
    gw_leave(c);
    notify(session, "c");
    assert_string_equal(methods_of(gw_get(session, a)), "b c");
}

TEST_GATEWAY(without_an_event_id_a_new_reader_gets_only_what_nobody_was_sent)
{
    const char *session = gw_open();
    struct gw_client *c = gw_get(session, "");
    notify(session, "a");
    assert_string_equal(methods_of(c), "a");
    gw_leave(c);
    notify(session, "b");
    assert_string_equal(methods_of(gw_get(session, "")), "b");
}

TEST_GATEWAY(an_unknown_event_id_is_the_general_stream)
{
    static const char *const IDS[] = {"9-1", "x", "0", "-", "0-x", "99999999999999999999-1"};
    const char *session = gw_open();
    for (size_t i = 0; i < ARRAY_LEN(IDS); i++) {
        notify(session, "n");
        struct gw_client *c = gw_get(session, IDS[i]);
        assert_string_equal(methods_of(c), "n");
        gw_leave(c);
    }
}

TEST_GATEWAY(a_second_reader_takes_the_stream_over)
{
    const char *session = gw_open();
    struct gw_client *first = gw_get(session, "");
    assert_int_equal(gw_status(first), 200);
    struct gw_client *second = gw_get(session, "");
    gw_until(first->fd < 0);
    notify(session, "a");
    assert_string_equal(methods_of(second), "a");
    assert_string_equal(methods_of(first), "");
}

TEST_GATEWAY(the_stream_of_a_request_is_resumed_until_its_response)
{
    const char *session = gw_open();
    struct gw_client *c =
        gw_legacy(session, "tools/call", "{'name':'t__slow','_meta':{'progressToken':1}}");
    gw_until(rig_tools.started == 1);
    tools_progress(1, 2, "half");
    (void)gw_message(c, 1);
    const char *progress = event_id(c, 1);
    gw_leave(c);
    tools_progress(2, 2, "whole");
    struct gw_client *again = gw_get(session, progress);
    assert_like(gw_message(again, 0), "{'params':{'message':'whole'}}");
    assert_open(again);
    tools_release();
    assert_like(gw_reply(again), "{'result':{'content':[{'text':'pong'}]}}");
}

TEST_GATEWAY(a_response_that_was_missed_is_sent_again_and_the_stream_ends)
{
    const char *session = gw_open();
    struct gw_client *c =
        gw_legacy(session, "tools/call", "{'name':'t__slow','_meta':{'progressToken':1}}");
    gw_until(rig_tools.started == 1);
    tools_progress(1, 2, "half");
    const char *first = event_id(c, 0);
    gw_leave(c);
    tools_release();
    gw_until(gw_session(session)->nrequests == 0);
    struct gw_client *again = gw_get(session, first);
    assert_like(gw_reply(again), "{'result':{}}"); /* and its end */
    assert_int_equal(gw_messages(again), 2);
}

/* ---- ceilings ---- */

static struct gw_session *open_session(void)
{
    return gw_session(gw_open());
}

static void add_bytes(struct gw_log *l, size_t n)
{
    char *text = arena_alloc(gw.arena, n);
    memset(text, 'x', n);
    gw_log_add(l, str_make(text, n));
}

TEST_GATEWAY(the_oldest_events_of_a_session_are_dropped_first)
{
    struct gw_session *s = open_session();
    add_bytes(s->general, GW_LOG_BYTES_MAX / 2);
    add_bytes(s->general, GW_LOG_BYTES_MAX / 2);
    assert_int_equal(s->general->nevents, 2);
    add_bytes(s->general, 1);
    assert_int_equal(s->general->nevents, 2);
    assert_int_equal(s->log_bytes, GW_LOG_BYTES_MAX / 2 + 1);
    assert_int_equal(LIST_ENTRY(s->general->events.next, struct gw_event, node)->seq, 2);
}

TEST_GATEWAY(logs_that_have_ended_are_dropped_before_others)
{
    struct gw_session *s = open_session();
    struct gw_log *ended = gw_log_new(s), *running = gw_log_new(s);
    running->pending = 1;
    add_bytes(s->general, 100);
    add_bytes(ended, GW_LOG_BYTES_MAX - 200);
    add_bytes(running, 100);
    assert_int_equal(s->nlogs, 3);
    add_bytes(running, 200);
    assert_int_equal(s->nlogs, 2);
    assert_int_equal(s->log_bytes, 400);
    assert_int_equal(s->general->nevents, 1);
}

TEST_GATEWAY(a_log_has_a_ceiling_of_events)
{
    struct gw_session *s = open_session();
    for (int i = 0; i < GW_LOG_EVENTS_MAX + 3; i++)
        gw_log_add(s->general, STR("x"));
    assert_int_equal(s->general->nevents, GW_LOG_EVENTS_MAX);
    assert_int_equal(s->log_bytes, GW_LOG_EVENTS_MAX);
}

TEST_GATEWAY(a_session_has_a_ceiling_of_logs)
{
    struct gw_session *s = open_session();
    for (int i = 0; i < GW_LOGS_MAX + 5; i++)
        gw_log_add(gw_log_new(s), STR("x"));
    assert_true(s->nlogs <= GW_LOGS_MAX + 1);
    assert_non_null(s->general);
}

TEST_GATEWAY(a_log_ends_with_the_last_of_its_requests)
{
    const char *session = gw_open();
    struct gw_log *l = gw_log_new(gw_session(session));
    l->pending = 2;
    gw_log_add(l, STR("{}"));
    struct gw_client *c = gw_get(session, arena_printf(gw.arena, "%u-0", l->number).p);
    assert_like(gw_message(c, 0), "{}");
    gw_log_over(l);
    assert_open(c);
    gw_log_over(l);
    gw_until(c->fd < 0);
}

/* ---- streams without a session ---- */

TEST_GATEWAY(a_stream_is_marked_for_proxies)
{
    struct gw_client *c = gw_modern_at("/mcp", "Accept: text/event-stream\r\n", "tools/list", "{}");
    assert_true(str_eq(gw_header(c, "x-accel-buffering"), STR("no")));
    assert_int_equal(gw_header(c, "mcp-session-id").n, 0);
}
