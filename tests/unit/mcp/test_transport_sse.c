#include "unit/mcp/http_rig.h"

/* The connection that holds the stream; answers to POSTs are written to it. */
static atomic_int stream_fd;

static void say_on_stream(const char *text)
{
    (void)!send(atomic_load(&stream_fd), text, strlen(text), MSG_NOSIGNAL);
}

static void answer_on_stream(struct exchange *x, const char *result)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}\r\n\r\n",
             web_id(x), result);
    say_on_stream(text);
}

static void serve_stream(struct exchange *x, const char *endpoint)
{
    char text[256];
    web_stream(x);
    atomic_store(&stream_fd, x->fd);
    snprintf(text, sizeof(text), "event: endpoint\ndata: %s\n\n", endpoint);
    dbl_say(x, text);
    dbl_hang(x);
}

static void serve_old(struct exchange *x)
{
    web_take(x);
    if (web_is_get(x)) {
        serve_stream(x, "/messages?session=1");
        return;
    }
    if (!web_is(x, "POST /messages?session=1 ")) {
        web_reply(x, "405 Method Not Allowed", "", "");
        return;
    }
    web_reply(x, "202 Accepted", "", "Accepted");
    if (web_is(x, "\"initialize\""))
        answer_on_stream(x, "{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{}}");
    else if (web_is(x, "\"bye\""))
        shutdown(atomic_load(&stream_fd), SHUT_RDWR);
    else if (!web_is(x, "notifications/"))
        answer_on_stream(x, "{\"n\":1}");
}

static void open_and_ask(struct rig *r, enum mcp_wire wire)
{
    struct web *w = web_new(serve_old);
    web_open(r, w, wire);
    assert_true(r->is_ready);
    assert_text(mcp_version(r->client), "2024-11-05");
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_text(c.result, "{\"n\":1}");
    assert_true(web_heard(w, "Authorization: Bearer t\r\n"));
    mcp_close(r->client);
    assert_true(rig_until(r, &r->is_closed));
    assert_int_equal(r->closed.code, 0);
    web_free(w);
}

TEST_WITH(named, rig_set_up, rig_tear_down)
{
    open_and_ask(*state, MCP_WIRE_SSE);
}

TEST_WITH(found_out, rig_set_up, rig_tear_down)
{
    open_and_ask(*state, MCP_WIRE_HTTP);
}

TEST_WITH(lost_stream_is_the_end, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_old);
    web_open(r, w, MCP_WIRE_SSE);
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("bye")});
    assert_true(rig_until(r, &r->is_closed));
    assert_int_equal(r->closed.code, -ECONNRESET);
    assert_int_equal(c.err.code, -ECONNRESET);
    rig_call_done(&c);
    web_free(w);
}

static void serve_elsewhere(struct exchange *x)
{
    web_take(x);
    serve_stream(x, "http://evil.example/steal");
}

TEST_WITH(other_origin_is_refused, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_elsewhere);
    web_open(r, w, MCP_WIRE_SSE);
    assert_true(r->is_closed);
    assert_int_equal(r->closed.code, -EACCES);
    assert_int_equal(atomic_load(&w->posts), 0);
    web_free(w);
}

static void serve_nothing(struct exchange *x)
{
    web_take(x);
    web_reply(x, "404 Not Found", "", "nothing here");
}

TEST_WITH(no_transport_at_all, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_nothing);
    web_open(r, w, MCP_WIRE_HTTP);
    assert_true(r->is_closed);
    assert_non_null(strstr(r->closed.msg, "404"));
    assert_non_null(strstr(r->closed.msg, "HTTP+SSE transport"));
    web_free(w);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
