#include "mcp/transport/wire.h"
#include "unit/mcp/http_rig.h"

struct seen {
    struct wire *wire;
    struct buf events;
    str body;
    int status, heads, events_to_stop;
    bool is_stream, is_done, stops_in_head;
    struct err err;
    struct rig *r;
};

static void on_head(void *ctx, int status, bool is_stream, const struct fetch_header *headers,
                    size_t n)
{
    struct seen *s = ctx;
    s->heads++;
    s->is_stream = is_stream;
    assert_true(wire_header(headers, n, "Content-TYPE").n > 0);
    assert_true(wire_header(headers, n, "x-none").p == NULL);
    if (s->stops_in_head)
        wire_stop(s->wire);
}

static void on_event(void *ctx, const struct sse_event *ev)
{
    struct seen *s = ctx;
    buf_printf(&s->events, "[%.*s|%.*s|%.*s]", STR_ARG(ev->event), STR_ARG(ev->id),
               STR_ARG(ev->data));
    if (--s->events_to_stop == 0)
        wire_stop(s->wire);
}

static void on_end(void *ctx, int status, str body, const struct err *err)
{
    struct seen *s = ctx;
    assert_false(s->is_done);
    s->is_done = true;
    s->status = status;
    s->body = arena_str(&s->r->mem, body);
    s->err = *err;
    wire_stop(s->wire); /* too late, and harmless */
}

static const struct wire_events EVENTS = {on_head, on_event, on_end};

static void serve(struct exchange *x)
{
    if (web_is(x, "/events")) {
        dbl_say(x, "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n"
                   "Connection: close\r\n\r\nid: 1\n\ndata: a\n\nevent: e\ndata: b\n\ndata: cut");
        x->close = true;
    } else if (web_is(x, "/large")) {
        static char block[1 << 20];
        dbl_say(x, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
        for (int i = 0; i < 40 && dbl_send(x, block, sizeof(block)); i++)
            ;
        x->close = true;
    } else if (web_is(x, "/refused")) {
        char body[100000];
        memset(body, 'e', sizeof(body) - 1);
        body[sizeof(body) - 1] = '\0';
        web_reply(x, "503 Busy", "Content-Type: text/plain\r\n", body);
    } else {
        web_reply(x, "200 OK", "Content-Type: application/json\r\n", "{\"a\":1}");
    }
}

static void begin(struct rig *r, struct web *w, struct seen *s, const char *path)
{
    char url[128];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", w->server->port, path);
    s->r = r;
    buf_init(&s->events, 1 << 16);
    s->wire = wire_start(r->fetcher, &(struct fetch_spec){.url = str_from(url)}, &EVENTS, s);
}

static void run(struct rig *r, const char *path, struct seen *s)
{
    struct web *w = web_new(serve);
    begin(r, w, s, path);
    assert_true(rig_until(r, &s->is_done));
    web_free(w);
}

TEST_WITH(body, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct seen s = {0};
    run(r, "/body", &s);
    assert_int_equal(s.status, 200);
    assert_false(s.is_stream);
    assert_text(s.body, "{\"a\":1}");
    buf_done(&s.events);
}

TEST_WITH(events, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct seen s = {0};
    run(r, "/events", &s);
    assert_true(s.is_stream);
    assert_text(buf_str(&s.events), "[message|1|][message|1|a][e|1|b]");
    assert_int_equal(s.body.n, 0);
    buf_done(&s.events);
}

TEST_WITH(stop_in_callbacks, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve);
    struct seen in_head = {.stops_in_head = true}, in_event = {.events_to_stop = 2};
    begin(r, w, &in_head, "/events");
    begin(r, w, &in_event, "/events");
    rig_run(r, 200);
    assert_int_equal(in_head.heads, 1);
    assert_int_equal(in_head.events.n, 0);
    assert_text(buf_str(&in_event.events), "[message|1|][message|1|a]");
    assert_false(in_head.is_done || in_event.is_done);
    buf_done(&in_head.events);
    buf_done(&in_event.events);
    web_free(w);
}

TEST_WITH(time_to_come_back_is_within_reason, rig_set_up, rig_tear_down)
{
    assert_int_equal(wire_retry_ms(&(struct sse_event){.retry_ms = 500}), 500);
    assert_int_equal(wire_retry_ms(&(struct sse_event){.retry_ms = 0}), WIRE_RETRY_MIN_MS);
    assert_int_equal(wire_retry_ms(&(struct sse_event){.retry_ms = INT64_MAX}), WIRE_RETRY_MAX_MS);
}

TEST_WITH(the_users_headers_do_not_speak_for_the_protocol, rig_set_up, rig_tear_down)
{
    struct fetch_header mine[] = {{STR("X-A"), STR("1")},
                                  {STR("MCP-Method"), STR("2")},
                                  {STR("accept"), STR("3")},
                                  {STR("Authorization"), STR("4")}};
    struct fetch_header out[4];
    assert_int_equal(wire_add_headers(out, 4, mine, 4), 2);
    assert_true(str_eq(out[1].name, STR("Authorization")));
    assert_int_equal(wire_add_headers(out, 1, mine, 4), 1);
}

TEST_WITH(ceilings, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct seen large = {0}, refused = {0};
    run(r, "/large", &large);
    assert_int_equal(large.err.code, -EMSGSIZE);
    run(r, "/refused", &refused);
    assert_int_equal(refused.err.code, 0);
    assert_int_equal(refused.status, 503);
    assert_int_equal(refused.body.n, 64 * 1024); /* its beginning is enough */
    buf_done(&large.events);
    buf_done(&refused.events);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
