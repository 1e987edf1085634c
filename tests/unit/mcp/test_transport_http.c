#include "unit/mcp/http_rig.h"

static void serve_plain(struct exchange *x)
{
    if (web_serve_legacy(x))
        return;
    if (web_is_get(x))
        web_reply(x, "405 Method Not Allowed", "", "");
    else
        web_json(x, "", "{\"ok\":1}");
}

TEST_WITH(session_and_revision, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_plain);
    web_open(r, w, MCP_WIRE_HTTP);
    assert_true(r->is_ready);
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_text(c.result, "{\"ok\":1}");
    assert_true(web_heard(w, "Mcp-Session-Id: session-1\r\n"));
    assert_true(web_heard(w, "MCP-Protocol-Version: 2025-11-25\r\n"));
    assert_true(web_heard(w, "Authorization: Bearer t\r\n"));
    assert_true(web_heard(w, "Accept: application/json, text/event-stream\r\n"));
    assert_false(web_heard(w, "forged"));
    web_await(w, r, "GET /mcp");
    rig_run(r, 150);
    assert_int_equal(atomic_load(&w->gets), 1); /* 405: not asked again */
    mcp_close(r->client);
    assert_true(rig_until(r, &r->is_closed));
    assert_int_equal(r->closed.code, 0);
    assert_int_equal(atomic_load(&w->deletes), 1);
    web_free(w);
}

static void serve_standing(struct exchange *x)
{
    if (web_serve_legacy(x))
        return;
    struct web *w = x->d->ctx;
    if (!web_is_get(x)) {
        web_json(x, "", "{}");
        return;
    }
    web_stream(x);
    if (atomic_load(&w->gets) > 2)
        dbl_hang(x);
    else
        dbl_say(x, "id: e1\nretry: 20\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                   "tools/list_changed\"}\n\n");
}

TEST_WITH(standing_stream_is_taken_up, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_standing);
    web_open(r, w, MCP_WIRE_HTTP);
    web_await(w, r, "Last-Event-ID: e1\r\n");
    rig_run(r, 100);
    assert_true(rig_has(&r->notified, "notifications/tools/list_changed"));
    mcp_abort(r->client);
    r->client = NULL;
    web_free(w);
}

static void serve_vanishing(struct exchange *x)
{
    if (web_serve_legacy(x))
        return;
    x->close = true; /* without a word */
}

TEST_WITH(standing_stream_that_is_lost, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_vanishing);
    web_open(r, w, MCP_WIRE_HTTP);
    assert_true(rig_until(r, &r->is_closed));
    assert_int_not_equal(r->closed.code, 0);
    assert_true(atomic_load(&w->gets) >= 3);
    web_free(w);
}

static void serve_forgetful(struct exchange *x)
{
    struct web *w = x->d->ctx;
    bool is_old = web_is(x, "Mcp-Session-Id") && atomic_load(&w->step) == 1;
    if (web_is(x, "\"a\"") && atomic_load(&w->step) == 0) {
        atomic_store(&w->step, 1);
        is_old = true;
    }
    if (is_old && !web_is(x, "\"initialize\"") && !web_is(x, "notifications/initialized")) {
        web_take(x);
        web_reply(x, "404 Not Found", "", "");
    } else if (web_is(x, "\"initialize\"") && atomic_load(&w->step) == 1) {
        web_take(x);
        atomic_store(&w->step, 2);
        web_initialize(x);
    } else {
        serve_plain(x);
    }
}

TEST_WITH(forgotten_session_is_renewed, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_forgetful);
    web_open(r, w, MCP_WIRE_HTTP);
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_text(c.result, "{\"ok\":1}");
    assert_false(r->is_closed);
    assert_true(rig_has(&r->notified, "list_changed")); /* it may have forgotten more */
    mcp_abort(r->client);
    r->client = NULL;
    web_free(w);
}

static void serve_denial(struct exchange *x)
{
    web_take(x);
    web_reply(x, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "who are you?");
}

TEST_WITH(denied, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_denial);
    web_open(r, w, MCP_WIRE_HTTP);
    assert_true(r->is_closed);
    assert_int_equal(r->closed.code, -EKEYREJECTED);
    assert_non_null(strstr(r->closed.msg, "401"));
    assert_int_equal(atomic_load(&w->posts), 1); /* no other way in is tried */
    web_free(w);
}

TEST_WITH(nobody_listens, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_dial(r, &(struct mcp_dial){.wire = MCP_WIRE_HTTP, .url = STR("http://127.0.0.1:1/mcp")});
    assert_true(r->is_closed);
    assert_int_equal(r->closed.code, -ECONNREFUSED);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
