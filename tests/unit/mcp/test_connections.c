#include <errno.h>

#include "mcp/connections.h"
#include "unit/mcp/rig.h"

#define ASKS                                                                                       \
    "{\"on\":\"tools/call\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"" \
    "}]},{\"on\":\"(answer)\",\"exit\":0}"

static struct connections *open_connections(struct rig *r, const char *script)
{
    struct mcp_dial dial = rig_child(r, script);
    struct mcp_host host = rig_host(r);
    return connections_open(r->loop, NULL, &dial, &host, &RIG_EVENTS, r);
}

static struct mcp_call *start(struct rig *r, struct connections *p, struct rig_call *c,
                              const char *method)
{
    *c = (struct rig_call){.r = r};
    struct mcp_request req = {.method = str_from(method)};
    struct mcp_call_events ev = {.done = rig_on_done};
    return connections_request(p, &req, &ev, c);
}

static void close_connections(struct rig *r, struct connections *p, uint64_t drain_ms)
{
    connections_close(p, drain_ms);
    assert_true(rig_until(r, &r->is_closed));
    assert_int_equal(r->closed.code, 0);
}

TEST_WITH(requests_wait_until_ready, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct connections *p =
        open_connections(r, "[" RIG_LEGACY RIG_RESULT("tools/call", "{\"n\":1}") "]");
    struct rig_call c;
    start(r, p, &c, "tools/call");
    assert_true(rig_until(r, &c.is_done));
    assert_text(c.result, "{\"n\":1}");
    assert_non_null(connections_main(p));
    close_connections(r, p, 0);
}

static int count_children(void)
{
    int n = 0, pid;
    FILE *f = fopen("/proc/thread-self/children", "re");
    while (fscanf(f, "%d", &pid) == 1)
        n++;
    fclose(f);
    return n;
}

TEST_WITH(one_connection_until_it_asks, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct connections *p = open_connections(r, "[" RIG_LEGACY "{\"on\":\"tools/call\"}]");
    struct rig_call c[10];
    struct mcp_call *calls[10];
    for (int i = 0; i < 10; i++)
        calls[i] = start(r, p, &c[i], "tools/call");
    assert_true(rig_until(r, &r->is_ready));
    rig_run(r, 100);
    assert_int_equal(count_children(), 1);
    for (int i = 0; i < 10; i++)
        mcp_cancel(calls[i], NULL);
    close_connections(r, p, 0);
}

TEST_WITH(connections_and_queue, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct connections *p = open_connections(
        r, "[" RIG_LEGACY "{\"on\":\"tools/call\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":"
           "\"q\",\"method\":\"roots/list\"}]}," RIG_RESULT("ping", "{}") "]");
    struct rig_call c[6], ping;
    struct mcp_call *calls[6];
    calls[0] = start(r, p, &c[0], "tools/call");
    assert_true(rig_until(r, &r->is_asked));
    for (int i = 1; i < 6; i++)
        calls[i] = start(r, p, &c[i], "tools/call");
    for (int i = 0; i < 500 && r->nasks < CONNECTIONS_MAX; i++)
        rig_run(r, 10);
    rig_run(r, 100);
    assert_int_equal(r->nasks, CONNECTIONS_MAX);
    assert_int_equal(count_children(), CONNECTIONS_MAX);
    for (size_t i = 0; i < r->nasks; i++)
        assert_non_null(r->asks[i]->call);
    start(r, p, &ping, "ping"); /* asks nothing: does not wait */
    assert_true(rig_until(r, &ping.is_done));
    mcp_cancel(calls[1], NULL); /* the fifth takes its place */
    for (int i = 0; i < 500 && r->nasks < 5; i++)
        rig_run(r, 10);
    assert_int_equal(r->nasks, 5);
    close_connections(r, p, 100);
    for (int i = 0; i < 6; i++)
        assert_int_equal(c[i].is_done, i != 1);
    assert_int_equal(c[5].err.code, -ECANCELED);
}

TEST_WITH(loss_of_the_main_one, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct connections *p = open_connections(r, "[" RIG_LEGACY "{\"on\":\"die\",\"exit\":4},"
                                                "{\"on\":\"tools/call\"}]");
    struct rig_call slow, dead;
    start(r, p, &slow, "tools/call");
    start(r, p, &dead, "die");
    assert_true(rig_until(r, &r->is_closed));
    assert_int_equal(r->closed.code, -ECONNRESET);
    assert_int_equal(slow.err.code, -ECONNRESET);
    assert_int_equal(dead.err.code, -ECONNRESET);
}

TEST_WITH(loss_of_the_main_one_ends_calls_of_the_others, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct connections *p = open_connections(
        r, "[" RIG_LEGACY "{\"on\":\"die\",\"exit\":4},{\"on\":\"tools/call\",\"send\":[{"
           "\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}]}]");
    struct rig_call c[2], dead;
    start(r, p, &c[0], "tools/call");
    assert_true(rig_until(r, &r->is_asked));
    start(r, p, &c[1], "tools/call"); /* needs a connection of its own */
    for (int i = 0; i < 500 && r->nasks < 2; i++)
        rig_run(r, 10);
    assert_int_equal(r->nasks, 2);
    start(r, p, &dead, "die");
    assert_true(rig_until(r, &r->is_closed));
    for (int i = 0; i < 2; i++)
        assert_int_equal(c[i].err.code, -ECONNRESET);
    for (int i = 0; i < 500 && count_children() > 0; i++)
        rig_run(r, 10);
    assert_int_equal(count_children(), 0);
}

TEST_WITH(a_request_that_waits_can_be_cancelled, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct connections *p = open_connections(r, "[" RIG_LEGACY RIG_RESULT("ping", "{}") "]");
    struct rig_call gone, kept;
    struct mcp_call *call = start(r, p, &gone, "ping"); /* not ready yet */
    start(r, p, &kept, "ping");
    mcp_cancel(call, "enough");
    assert_true(rig_until(r, &kept.is_done));
    assert_false(gone.is_done);
    close_connections(r, p, 0);
    assert_false(gone.is_done);
}

TEST_WITH(draining, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct connections *p = open_connections(r, "[" RIG_LEGACY "{\"on\":\"(none)\"}," ASKS "]");
    struct rig_call c, late;
    start(r, p, &c, "no/such");
    assert_true(rig_until(r, &r->is_ready));
    connections_close(p, 5000);
    start(r, p, &late, "tools/call");
    assert_true(rig_until(r, &r->is_closed));
    assert_true(c.error.n > 0); /* it was allowed to end */
    assert_int_equal(late.err.code, -ECANCELED);
}

TEST_WITH(queue_is_bounded, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct connections *p = open_connections(r, "[{\"on\":\"*\"}]");
    enum { N = CONNECTIONS_QUEUE_MAX + 1 };
    struct rig_call *c = xcalloc(N, sizeof(*c));
    for (int i = 0; i < N; i++)
        start(r, p, &c[i], "tools/call");
    assert_true(rig_until(r, &c[N - 1].is_done));
    assert_int_equal(c[N - 1].err.code, -EBUSY);
    connections_abort(p);
    assert_false(c[0].is_done); /* no callbacks */
    free(c);
}

static void abort_in_done(void *ctx, const struct mcp_reply *reply)
{
    struct rig *r = ((void **)ctx)[0];
    connections_abort(((void **)ctx)[1]);
    r->is_closed = true;
}

TEST_WITH(abort_from_inside, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct connections *p = open_connections(r, "[" RIG_LEGACY "{\"on\":\"x\"}]");
    void *ctx[2] = {r, p};
    struct mcp_call_events ev = {.done = abort_in_done};
    connections_request(p, &(struct mcp_request){.method = STR("a")}, &ev, ctx);
    connections_request(p, &(struct mcp_request){.method = STR("b")}, &ev, ctx);
    assert_true(rig_until(r, &r->is_closed));
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
