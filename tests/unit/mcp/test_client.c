#include <errno.h>

#include "unit/mcp/rig.h"

#define ECHO RIG_RESULT("tools/call", "{\"content\":[]}")

TEST_WITH(close_is_orderly, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"slow\"}]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("slow")});
    rig_hears(r, "\"slow\"");
    mcp_close(r->client);
    mcp_close(r->client);
    assert_false(c.is_done);
    assert_true(rig_until(r, &r->is_closed));
    assert_int_equal(r->closed.code, 0);
    assert_int_equal(c.err.code, -ECANCELED);
    rig_call_done(&c);
}

TEST_WITH(close_before_it_began, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    struct mcp_dial dial = rig_child(r, "[]");
    struct mcp_host host = rig_host(r);
    r->client = mcp_open(r->loop, NULL, &dial, &host, &RIG_EVENTS, r);
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("early")});
    mcp_close(r->client);
    assert_true(rig_until(r, &r->is_closed));
    assert_int_equal(r->closed.code, 0);
    assert_true(c.err.code == -ENOTCONN || c.err.code == -ECANCELED);
    rig_call_done(&c);
}

static void abort_client(void *ctx, const struct mcp_reply *reply)
{
    struct rig *r = ctx;
    mcp_abort(r->client);
    r->client = NULL;
    r->is_closed = true;
}

TEST_WITH(abort_from_inside, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY ECHO "]");
    struct mcp_request req = {.method = STR("tools/call")};
    mcp_request(r->client, &req, &(struct mcp_call_events){.done = abort_client}, r);
    mcp_request(r->client, &req, &(struct mcp_call_events){.done = abort_client}, r);
    assert_true(rig_until(r, &r->is_closed));
}

TEST_WITH(server_that_is_lost, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"die\",\"exit\":3}]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("die")});
    assert_true(rig_until(r, &r->is_closed));
    assert_int_equal(r->closed.code, -ECONNRESET);
    assert_int_equal(c.err.code, -ECONNRESET);
    rig_call_done(&c);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
