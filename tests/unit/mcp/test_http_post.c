#include "unit/mcp/http_rig.h"

static void serve_get_refused(struct exchange *x)
{
    web_reply(x, "405 Method Not Allowed", "", "");
}

/* ---- resumption ---- */

static void serve_broken_stream(struct exchange *x)
{
    if (web_serve_legacy(x))
        return;
    struct web *w = x->d->ctx;
    if (!web_is_get(x)) {
        web_stream(x);
        char text[256];
        atomic_store(&w->step, (int)web_id(x));
        /* The event that is cut off must not count as seen. */
        snprintf(text, sizeof(text), "id: s/1\nretry: 120\ndata:\n\nid: s/2\ndata: {\"jsonrpc\"");
        dbl_say(x, text);
        atomic_store(&w->closed_ms, web_now_ms());
    } else if (web_is(x, "Last-Event-ID: s/1\r\n")) {
        atomic_store(&w->resumed_ms, web_now_ms());
        web_stream(x);
        char text[256];
        snprintf(text, sizeof(text),
                 "id: s/2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"late\":true}}\n\n",
                 atomic_load(&w->step));
        dbl_say(x, text);
    } else {
        serve_get_refused(x);
    }
}

TEST_WITH(broken_stream_is_taken_up, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_broken_stream);
    web_open(r, w, MCP_WIRE_HTTP);
    struct rig_call c;
    rig_request(r, &c, "tools/call", "{}");
    assert_text(c.result, "{\"late\":true}");
    uint64_t waited = atomic_load(&w->resumed_ms) - atomic_load(&w->closed_ms);
    assert_true(waited >= 110);
    web_free(w);
}

static void serve_cut(struct exchange *x)
{
    if (web_serve_legacy(x))
        return;
    if (web_is_get(x)) {
        serve_get_refused(x);
        return;
    }
    web_stream(x);
    dbl_say(x, ": nothing else\n\n");
}

TEST_WITH(stream_without_ids_is_lost, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_cut);
    web_open(r, w, MCP_WIRE_HTTP);
    struct rig_call c;
    rig_request(r, &c, "tools/call", "{}");
    assert_int_equal(c.err.code, -ECONNRESET);
    assert_false(r->is_closed);
    web_free(w);
}

/* ---- pace ---- */

static void serve_pace(struct exchange *x)
{
    struct web *w = x->d->ctx;
    if (web_is(x, "\"a\"") && atomic_fetch_add(&w->step, 1) == 0) {
        web_take(x);
        web_reply(x, "429 Too Many Requests", "Retry-After: 0\r\n", "slow down");
    } else if (!web_serve_legacy(x)) {
        if (web_is_get(x))
            serve_get_refused(x);
        else
            web_json(x, "", "{\"n\":2}");
    }
}

TEST_WITH(too_many_requests_is_no_failure, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_pace);
    web_open(r, w, MCP_WIRE_HTTP);
    struct rig_call c;
    rig_request(r, &c, "a", NULL);
    assert_text(c.result, "{\"n\":2}");
    web_free(w);
}

/* ---- the modern era ---- */

static void serve_modern(struct exchange *x)
{
    if (web_serve_modern(x))
        return;
    struct web *w = x->d->ctx;
    if (web_is(x, "subscriptions/listen")) {
        web_stream(x);
        dbl_hang(x);
    } else if (web_is(x, "\"slow\"")) {
        web_stream(x);
        dbl_say(x, ": waiting\n\n");
        dbl_hang(x);
        atomic_store(&w->step, 1);
    } else if (web_is(x, "\"mismatch\"") && !web_is(x, "Mcp-Param-Where: ")) {
        web_error(x, "400 Bad Request", -32020, "");
    } else if (web_is(x, "\"tools/list\"")) {
        web_json(x, "",
                 "{\"tools\":[{\"name\":\"mismatch\",\"inputSchema\":{\"properties\":{\"w\":"
                 "{\"type\":\"string\",\"x-mcp-header\":\"Where\"}}}},{\"name\":\"bad\","
                 "\"inputSchema\":{\"x-mcp-header\":\"A\"}},{\"name\":\"t \xc3\xbc\","
                 "\"inputSchema\":{\"properties\":{\"r\":{\"type\":\"string\","
                 "\"x-mcp-header\":\"Region\"}}}}]}");
    } else if (web_is(x, "\"gone\"")) {
        web_error(x, "404 Not Found", -32601, "");
    } else if (web_is(x, "\"oops\"")) {
        web_reply(x, "500 Oops", "", "it broke");
    } else {
        web_json(x, "", "{\"resultType\":\"complete\"}");
    }
}

TEST_WITH(headers_repeat_the_message, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_modern);
    web_open(r, w, MCP_WIRE_HTTP);
    assert_int_equal(mcp_era(r->client), MCP_ERA_MODERN);
    struct rig_call c;
    rig_request(r, &c, "tools/list", NULL);
    rig_request(r, &c, "tools/call", "{\"name\":\"t \xc3\xbc\",\"arguments\":{\"r\":\"eu\"}}");
    assert_true(web_heard(w, "Mcp-Method: tools/call\r\n"));
    assert_true(web_heard(w, "Mcp-Name: =?base64?dCDDvA==?=\r\n"));
    assert_true(web_heard(w, "Mcp-Param-Region: eu\r\n"));
    assert_true(web_heard(w, "MCP-Protocol-Version: 2026-07-28\r\n"));
    assert_false(web_heard(w, "Mcp-Session-Id"));
    assert_int_equal(atomic_load(&w->gets), 0);
    web_free(w);
}

TEST_WITH(cancel_closes_the_stream, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_modern);
    web_open(r, w, MCP_WIRE_HTTP);
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("slow")});
    web_await(w, r, "\"slow\"");
    mcp_cancel(c.call, "enough");
    for (int i = 0; i < 300 && atomic_load(&w->step) == 0; i++)
        rig_run(r, 10);
    assert_int_equal(atomic_load(&w->step), 1);
    assert_false(web_heard(w, "notifications/cancelled"));
    rig_call_done(&c);
    web_free(w);
}

TEST_WITH(changed_annotations_are_fetched, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_modern);
    web_open(r, w, MCP_WIRE_HTTP);
    struct rig_call c;
    rig_request(r, &c, "tools/call", "{\"name\":\"mismatch\",\"arguments\":{\"w\":\"here\"}}");
    assert_true(c.result.n > 0);
    assert_true(web_heard(w, "Mcp-Param-Where: here\r\n"));
    rig_request(r, &c, "tools/call", "{\"name\":\"mismatch\",\"arguments\":{}}");
    assert_true(str_starts(c.error, STR("{\"code\":-32020"))); /* once, not for ever */
    web_free(w);
}

TEST_WITH(refusals, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_modern);
    web_open(r, w, MCP_WIRE_HTTP);
    struct rig_call c;
    rig_request(r, &c, "gone", NULL);
    assert_text(c.error, "{\"code\":-32601,\"message\":\"m\"}");
    rig_request(r, &c, "oops", NULL);
    assert_int_equal(c.err.code, -EREMOTEIO);
    assert_non_null(strstr(c.err.msg, "500: it broke"));
    web_free(w);
}

TEST_WITH(tools_with_wrong_annotations, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_modern);
    web_open(r, w, MCP_WIRE_HTTP);
    struct rig_call c = {.r = r};
    mcp_list_all(r->client, STR("tools/list"), "tools", &RIG_CALL_EVENTS, &c);
    assert_true(rig_until(r, &c.is_done));
    assert_true(str_find(c.result, STR("mismatch"), 0) >= 0);
    assert_true(str_find(c.result, STR("bad"), 0) < 0);
    assert_true(rig_has(&r->heard, "the tool \"bad\" is skipped"));
    web_free(w);
}

static void serve_other_answer(struct exchange *x)
{
    if (!web_serve_modern(x))
        web_reply(x, "200 OK", "Content-Type: application/json\r\n",
                  web_is(x, "\"empty\"") ? "" : "{\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":{}}");
}

TEST_WITH(body_without_the_answer, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct web *w = web_new(serve_other_answer);
    web_open(r, w, MCP_WIRE_HTTP);
    struct rig_call c;
    rig_request(r, &c, "other", NULL);
    assert_int_equal(c.err.code, -ECONNRESET);
    rig_request(r, &c, "empty", NULL);
    assert_int_equal(c.err.code, -ECONNRESET);
    web_free(w);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
