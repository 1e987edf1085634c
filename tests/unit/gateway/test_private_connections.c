/* Connections for one call at a time, of stateless clients that can be asked. */
#include "gateway/upstream/private_connections.h"
#include "gateway/upstream/suspended_calls.h"
#include "support/gateway_rig.h"

#define FORM "{'message':'name?','requestedSchema':{'type':'object'}}"

static struct gw_client *start_call(const char *capabilities)
{
    gw.capabilities = capabilities;
    return gw_modern("tools/call", "{'name':'old__t'}");
}

static void finish(struct gw_heard *h, struct gw_client *c)
{
    gw_answer(h, "{'content':[]}");
    assert_like(gw_reply(c), "{'result':{'content':[]}}");
}

static size_t connections_open_now(void)
{
    size_t n = 0;
    LIST_FOREACH (it, &peers.open)
        n++;
    return n;
}

TEST_GATEWAY(each_call_has_a_connection_to_itself)
{
    struct gw_client *a = start_call(GW_ASKABLE), *b = start_call(GW_ASKABLE);
    struct gw_heard *first = gw_heard("tools/call"), *second = gw_heard("tools/call");
    assert_ptr_not_equal(first->peer, second->peer);
    finish(first, a);
    finish(second, b);
    assert_int_equal(connections_open_now(), 2); /* kept for later calls */
}

TEST_GATEWAY(an_idle_connection_is_used_again_by_clients_with_the_same_capabilities)
{
    struct gw_client *c = start_call("{'roots':{}}");
    struct gw_heard *h = gw_heard("tools/call");
    struct peer *first = h->peer;
    finish(h, c);
    c = start_call("{'roots':{'listChanged':true}}"); /* the same for a server */
    h = gw_heard("tools/call");
    assert_ptr_equal(h->peer, first);
    finish(h, c);
    (void)start_call("{'roots':{},'sampling':{}}");
    assert_ptr_not_equal(gw_heard("tools/call")->peer, first);
}

TEST_GATEWAY(a_connection_declares_what_its_client_can_do_and_no_more)
{
    static const struct {
        const char *client, *declared;
    } ROWS[] = {
        {"{'roots':{}}", "{'roots':{},'sampling':null,'elicitation':null}"},
        {"{'sampling':{}}", "{'sampling':{'tools':null},'roots':null}"},
        {"{'sampling':{'tools':{}}}", "{'sampling':{'tools':{}}}"},
        {"{'elicitation':{}}", "{'elicitation':{'form':{},'url':null}}"},
        {"{'elicitation':{'url':{}}}", "{'elicitation':{'form':null,'url':{}}}"},
        {"{'elicitation':{'form':{},'url':{}}}", "{'elicitation':{'form':{},'url':{}}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct gw_client *c = start_call(ROWS[i].client);
        struct gw_heard *init = gw_heard("initialize");
        assert_like(json_get(init->m.params, "capabilities"), ROWS[i].declared);
        finish(gw_heard("tools/call"), c);
    }
}

TEST_GATEWAY(only_methods_during_which_a_server_may_ask_get_one)
{
    gw.capabilities = GW_ASKABLE;
    (void)gw_modern_at("/mcp/old", "", "completion/complete",
                       "{'ref':{'type':'ref/prompt','name':'p'},'argument':{'name':'a'}}");
    (void)gw_heard("completion/complete");
    assert_int_equal(map_len(&gw_space()->pools), 0);
    (void)gw_modern_at("/mcp/old", "", "prompts/get", "{'name':'p'}");
    (void)gw_heard("prompts/get");
    assert_int_equal(map_len(&gw_space()->pools), 1);
}

TEST_GATEWAY(a_call_waits_for_a_connection_when_all_are_busy)
{
    gw_use_limits((struct gateway_limits){.connections = 1});
    struct gw_client *first = start_call(GW_ASKABLE), *second = start_call(GW_ASKABLE);
    struct gw_heard *h = gw_heard("tools/call");
    assert_not_heard("tools/call");
    finish(h, first);
    struct gw_heard *next = gw_heard("tools/call");
    assert_ptr_equal(next->peer, h->peer);
    finish(next, second);
}

TEST_GATEWAY(a_waiting_call_that_is_cancelled_never_reaches_the_server)
{
    gw_use_limits((struct gateway_limits){.connections = 1});
    struct gw_client *first = start_call(GW_ASKABLE), *second = start_call(GW_ASKABLE);
    struct gw_heard *h = gw_heard("tools/call");
    gw_settle();
    gw_leave(second);
    finish(h, first);
    assert_not_heard("tools/call");
}

TEST_GATEWAY(an_idle_connection_with_other_capabilities_makes_room)
{
    gw_use_limits((struct gateway_limits){.connections = 1});
    struct gw_client *c = start_call("{'roots':{}}");
    struct gw_heard *h = gw_heard("tools/call");
    finish(h, c);
    c = start_call("{'sampling':{}}");
    struct gw_heard *next = gw_heard("tools/call");
    assert_ptr_not_equal(next->peer, h->peer);
    assert_int_equal(connections_open_now(), 1);
    finish(next, c);
}

static struct gw_heard *suspend_one(void)
{
    struct gw_client *c = start_call(GW_ASKABLE);
    struct gw_heard *h = gw_heard("tools/call");
    gw_server_asks(h, "s1", "elicitation/create", FORM);
    assert_like(gw_reply(c), "{'result':{'resultType':'input_required'}}");
    return h;
}

TEST_GATEWAY(a_suspended_call_gives_its_connection_up_after_a_while)
{
    gw_use_limits((struct gateway_limits){.connections = 1});
    struct gw_heard *h = suspend_one();
    struct upstream_call *u = LIST_ENTRY(gw_space()->suspended.next, struct upstream_call, node);
    (void)start_call(GW_ASKABLE);
    assert_not_heard("tools/call"); /* the client gets time to answer */
    assert_int_equal(gw.g->nsuspended, 1);
    u->suspended_ms -= GW_SUSPEND_LEAST_MS;
    (void)start_call(GW_ASKABLE); /* tries again for the first that waits */
    struct gw_heard *next = gw_heard("tools/call");
    assert_int_equal(gw.g->nsuspended, 0);
    assert_ptr_equal(next->peer, h->peer);
}

TEST_GATEWAY(a_call_that_its_client_has_resumed_keeps_its_connection)
{
    gw_use_limits((struct gateway_limits){.connections = 1});
    (void)suspend_one();
    struct upstream_call *u = LIST_ENTRY(gw_space()->suspended.next, struct upstream_call, node);
    struct gw_request q = {0};
    u->suspended_ms -= GW_SUSPEND_LEAST_MS;
    u->q = &q; /* as after take_up */
    assert_false(suspended_evict(gw_space(), u->wait.pool));
    u->q = NULL;
    assert_true(suspended_evict(gw_space(), u->wait.pool));
}

TEST_GATEWAY(a_connection_that_the_server_closes_is_not_used_again)
{
    struct gw_client *c = start_call(GW_ASKABLE);
    struct gw_heard *h = gw_heard("tools/call");
    peers_lose(0);
    assert_like(gw_reply(c), "{'result':{'isError':true}}");
    c = start_call(GW_ASKABLE);
    h = gw_heard("tools/call");
    finish(h, c);
    peers_lose(0); /* while it is idle */
    gw_settle();
    assert_int_equal(connections_open_now(), 0);
    c = start_call(GW_ASKABLE);
    finish(gw_heard("tools/call"), c);
}

TEST_GATEWAY(a_server_that_does_not_run_fails_the_call)
{
    gw.old->is_unreachable = true;
    assert_like(gw_reply(start_call(GW_ASKABLE)), "{'result':{'isError':true}}");
    assert_int_equal(connections_open_now(), 0);
}

TEST_GATEWAY(a_removed_bundle_fails_calls_that_wait_and_closes_the_pool)
{
    gw_use_limits((struct gateway_limits){.connections = 1});
    struct gw_client *first = start_call(GW_ASKABLE), *second = start_call(GW_ASKABLE);
    (void)gw_heard("tools/call");
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_REMOVED);
    assert_like(gw_reply(first), "{'result':{'isError':true}}");
    assert_like(gw_reply(second), "{'result':{'isError':true}}");
    assert_int_equal(map_len(&gw_space()->pools), 0);
    gw_until(connections_open_now() == 0);
}

TEST_GATEWAY(a_question_on_an_idle_connection_is_refused)
{
    struct gw_client *c = start_call(GW_ASKABLE);
    struct gw_heard *h = gw_heard("tools/call");
    finish(h, c);
    gw_server_asks(h, "s1", "elicitation/create", FORM);
    assert_like(gw_heard("")->m.error, "{'code':-32601}");
}
