#include <unistd.h>

#include "http/sse.h"
#include "support/unit.h"

struct answer {
    int status;
    char type[64], body[256];
    bool is_done;
};

static void on_answer_head(void *ctx, int status, const char *type)
{
    struct answer *a = ctx;
    assert_int_equal(a->status, 0);
    a->status = status;
    (void)snprintf(a->type, sizeof a->type, "%s", type ? type : "");
}

static void on_answer_data(void *ctx, str bytes)
{
    struct answer *a = ctx;
    size_t n = strlen(a->body);
    (void)snprintf(a->body + n, sizeof a->body - n, "%.*s", STR_ARG(bytes));
}

static void on_answer_end(void *ctx)
{
    struct answer *a = ctx;
    assert_false(a->is_done);
    a->is_done = true;
}

static const struct http_local_events EVENTS = {on_answer_head, on_answer_data, on_answer_end};

static bool on_head(void *ctx, struct http_req *r)
{
    assert_true(r->is_local_socket);
    assert_int_equal(r->peer_uid, getuid());
    if (!str_eq(r->path, STR("/refused")))
        return true;
    http_reply_error(r, 403, "forbidden", "no", NULL);
    return false;
}

static void on_request(void *ctx, struct http_req *r)
{
    str text = arena_printf(&r->arena, "%.*s %.*s %.*s [%.*s]", STR_ARG(r->method),
                            STR_ARG(r->path), STR_ARG(http_query(r, "q")), STR_ARG(r->body));
    http_reply(r, 200, "text/plain", text);
}

static struct answer ask(const char *method, const char *target, const char *body)
{
    struct http_handlers h = {.on_head = on_head, .on_request = on_request};
    struct loop *l = loop_new(NULL);
    struct http_server *s = http_server_new(l, NULL, &h);
    struct http_local_ask q = {method, str_from(target), str_from(body)};
    struct answer a = {0};
    http_local(s, &q, &EVENTS, &a);
    assert_false(a.is_done); /* never before the call returned */
    assert_true(loop_run_until(l, &a.is_done, 60000));
    http_server_free(s);
    loop_free(l);
    return a;
}

TEST(answer)
{
    struct answer a = ask("POST", "/v1/a%20b?q=x%26y", "{}");
    assert_int_equal(a.status, 200);
    assert_string_equal(a.type, "text/plain");
    assert_string_equal(a.body, "POST /v1/a b x&y [{}]");
}

TEST(refused_by_head)
{
    struct answer a = ask("GET", "/refused", "");
    assert_int_equal(a.status, 403);
    assert_string_equal(a.body, "{\"error\":\"forbidden\",\"message\":\"no\"}");
}

TEST(bad_target)
{
    static const char *const BAD[] = {"/v1/../etc", "/a\r\nX: y", "no-slash", "/%zz", ""};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(ask("GET", BAD[i], "").status, 400);
}

/* ---- streams ---- */

struct streaming {
    struct sse *sse;
    bool is_closed;
};

static void on_sse_closed(void *ctx)
{
    ((struct streaming *)ctx)->is_closed = true;
}

static void on_sse_request(void *ctx, struct http_req *r)
{
    struct streaming *t = ctx;
    t->sse = sse_open(r, on_sse_closed, t);
    sse_send_now(t->sse, STR("a"), STR_NONE, STR("1"));
}

static void run_stream(bool is_cancelled)
{
    struct streaming t = {0};
    struct http_handlers h = {.on_request = on_sse_request, .ctx = &t};
    struct loop *l = loop_new(NULL);
    struct http_server *s = http_server_new(l, NULL, &h);
    struct http_local_ask q = {"GET", STR("/"), STR_NONE};
    struct answer a = {0};
    struct http_local *call = http_local(s, &q, &EVENTS, &a);
    while (!t.sse)
        (void)loop_run_until(l, &a.is_done, 1);
    sse_send_now(t.sse, STR("b"), STR_NONE, STR("2"));
    assert_int_equal(a.status, 200);
    assert_string_equal(a.type, "text/event-stream");
    assert_string_equal(a.body, "event: a\ndata: 1\n\nevent: b\ndata: 2\n\n");
    if (is_cancelled)
        http_local_cancel(call);
    else
        sse_close(t.sse);
    assert_int_equal(a.is_done, !is_cancelled);
    assert_true(loop_run_until(l, &t.is_closed, 60000));
    http_server_free(s);
    loop_free(l);
}

TEST(a_stream_is_delivered_event_by_event)
{
    run_stream(false);
}

TEST(a_cancelled_stream_ends_without_a_callback)
{
    run_stream(true);
}
