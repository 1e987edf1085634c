/* Calls of stateless clients that wait for answers of their client: each test drives one call
 * through the states that upstream.h draws. */
#include "gateway/upstream/suspended_calls.h"
#include "support/gateway_rig.h"

#define FORM    "{'message':'name?','requestedSchema':{'type':'object'}}"
#define ACCEPT  "{'action':'accept','content':{'n':1}}"
#define ADDRESS "{'mode':'url','message':'go','url':'https://a','elicitationId':'e1'}"

static struct upstream_call *suspended(void)
{
    assert_false(list_empty(&gw_space()->suspended));
    return LIST_ENTRY(gw_space()->suspended.next, struct upstream_call, node);
}

static struct gw_heard *call; /* as the server got it */

static struct gw_client *start_call(void)
{
    gw.capabilities = GW_ASKABLE;
    struct gw_client *c = gw_modern("tools/call", "{'name':'old__t','arguments':{'b':1}}");
    call = gw_heard("tools/call");
    return c;
}

/* A call that the server has asked one question; returns the requestState. */
static const char *suspend(void)
{
    struct gw_client *c = start_call();
    gw_server_asks(call, "s1", "elicitation/create", FORM);
    const struct json *reply = gw_reply(c);
    assert_like(reply, "{'result':{'resultType':'input_required','inputRequests':{'question-1':"
                       "{'method':'elicitation/create','params':" FORM "}}}}");
    return arena_cstr(gw.arena, json_get_string(json_get(reply, "result"), "requestState"));
}

static struct gw_client *repeat_with(const char *args, const char *token, const char *responses)
{
    return gw_modern("tools/call", arena_printf(gw.arena,
                                                "{'name':'old__t','arguments':%s,'requestState':"
                                                "'%s','inputResponses':%s}",
                                                args, token, responses)
                                       .p);
}

static struct gw_client *repeat(const char *token, const char *responses)
{
    return repeat_with("{'b':1}", token, responses);
}

static void assert_refused(struct gw_client *c)
{
    assert_like(gw_reply(c), "{'error':{'code':-32602}}");
}

/* ---- one question ---- */

TEST_GATEWAY(a_question_suspends_the_call_and_its_answer_continues_it)
{
    const char *token = suspend();
    assert_null(suspended()->q);
    assert_int_equal(gw.g->nsuspended, 1);
    struct gw_client *c = repeat(token, "{'question-1':" ACCEPT "}");
    struct gw_heard *answer = gw_heard("");
    assert_true(str_eq(answer->id, STR("\"s1\"")));
    assert_like(answer->m.result, ACCEPT);
    gw_answer(call, "{'content':[{'type':'text','text':'done'}]}");
    assert_like(gw_reply(c), "{'result':{'resultType':'complete','content':[{'text':'done'}]}}");
    assert_true(list_empty(&gw_space()->suspended));
    assert_int_equal(gw.g->nsuspended, 0);
    assert_not_heard("tools/call"); /* it was one call for the server */
}

TEST_GATEWAY(questions_that_arrive_together_are_asked_together)
{
    struct gw_client *c = start_call();
    gw_server_asks(call, "s1", "roots/list", "{}");
    gw_server_asks(call, "s2", "sampling/createMessage", "{'messages':[]}");
    assert_like(gw_reply(c), "{'result':{'inputRequests':{'question-1':{'method':'roots/list'},"
                             "'question-2':{'method':'sampling/createMessage'}}}}");
}

TEST_GATEWAY(the_address_of_a_question_has_no_id_in_this_era)
{
    struct gw_client *c = start_call();
    gw_server_asks(call, "s1", "elicitation/create", ADDRESS);
    assert_like(gw_reply(c), "{'result':{'inputRequests':{'question-1':{'params':{"
                             "'url':'https://a','elicitationId':null}}}}}");
}

TEST_GATEWAY(a_second_round_has_a_new_state)
{
    const char *first = suspend();
    struct gw_client *c = repeat(first, "{'question-1':" ACCEPT "}");
    (void)gw_heard("");
    gw_server_asks(call, "s2", "roots/list", "{}");
    const struct json *reply = gw_reply(c);
    assert_like(reply, "{'result':{'resultType':'input_required','inputRequests':{"
                       "'question-1':null,'question-2':{'method':'roots/list'}}}}");
    str second = json_get_string(json_get(reply, "result"), "requestState");
    assert_false(str_eq(second, str_from(first)));
    assert_refused(repeat(first, "{'question-2':{'roots':[]}}"));
    assert_int_equal(gw.g->nsuspended, 1); /* it is one suspended call */
    c = repeat(arena_cstr(gw.arena, second), "{'question-2':{'roots':[]}}");
    assert_like(gw_heard("")->m.result, "{'roots':[]}");
    gw_answer(call, "{'content':[]}");
    assert_like(gw_reply(c), "{'result':{'resultType':'complete'}}");
}

TEST_GATEWAY(a_question_without_an_answer_is_asked_again)
{
    const char *token = suspend();
    const struct json *reply = gw_reply(repeat(token, "{'other':{}}"));
    assert_like(reply, "{'result':{'resultType':'input_required','inputRequests':{'question-1':{}}"
                       "}}");
    assert_not_heard("");
}

TEST_GATEWAY(a_question_that_the_client_cannot_answer_does_not_suspend)
{
    gw.capabilities = "{'roots':{}}";
    struct gw_client *c = gw_modern("tools/call", "{'name':'old__t'}");
    struct gw_heard *h = gw_heard("tools/call");
    gw_server_asks(h, "s1", "elicitation/create", FORM);
    assert_non_null(gw_heard("")->m.error);
    assert_open(c);
    gw_answer(h, "{'content':[]}");
    assert_like(gw_reply(c), "{'result':{'resultType':'complete'}}");
}

TEST_GATEWAY(a_withdrawn_question_does_not_suspend)
{
    gw_serve("old", "ping", NULL);
    struct gw_client *c = start_call();
    gw_server_asks(call, "s1", "elicitation/create", FORM);
    struct gw_heard *ping = gw_heard("ping");
    gw_server_tells(call, "notifications/cancelled", "{'requestId':'s1'}");
    gw_answer(ping, "{}");
    assert_open(c);
    gw_answer(call, "{'content':[]}");
    assert_like(gw_reply(c), "{'result':{'resultType':'complete'}}");
}

/* ---- the state of a request ---- */

TEST_GATEWAY(a_state_belongs_to_one_person)
{
    const char *token = suspend();
    gw.who = gw.base->ben;
    assert_refused(repeat(token, "{'question-1':" ACCEPT "}"));
    assert_not_heard("");
    gw.who = gw.base->ana;
    (void)repeat(token, "{'question-1':" ACCEPT "}");
    assert_like(gw_heard("")->m.result, ACCEPT);
}

TEST_GATEWAY(a_state_belongs_to_one_request)
{
    const char *token = suspend();
    assert_refused(repeat_with("{'b':2}", token, "{'question-1':" ACCEPT "}"));
    assert_refused(gw_modern(
        "tools/call",
        arena_printf(gw.arena, "{'name':'old__k','arguments':{'b':1},'requestState':'%s'}", token)
            .p));
    assert_refused(gw_modern_at(
        "/mcp/old", "", "tools/call",
        arena_printf(gw.arena, "{'name':'t','arguments':{'b':1},'requestState':'%s'}", token).p));
    assert_not_heard("");
}

TEST_GATEWAY(a_state_that_was_changed_is_refused)
{
    static const char *const STATES[] = {"", "x", "00000000000000000000000000000000.again"};
    char *token = arena_cstr(gw.arena, str_from(suspend()));
    for (size_t i = 0; i < ARRAY_LEN(STATES); i++)
        assert_refused(repeat(STATES[i], "{}"));
    token[strlen(token) - 1] ^= 1;
    assert_refused(repeat(token, "{}"));
    assert_refused(gw_modern("tools/call", "{'name':'old__t','requestState':7}"));
}

TEST_GATEWAY(answers_are_an_object_of_objects)
{
    static const char *const RESPONSES[] = {"[]", "7", "{'question-1':7}", "{'question-1':[]}"};
    const char *token = suspend();
    for (size_t i = 0; i < ARRAY_LEN(RESPONSES); i++)
        assert_like(gw_reply(repeat(token, RESPONSES[i])),
                    "{'error':{'message':'inputResponses must be an object of objects.'}}");
    assert_null(suspended()->q); /* still waits */
}

TEST_GATEWAY(a_call_has_one_request_at_a_time)
{
    const char *token = suspend();
    struct gw_client *first = repeat(token, "{'question-1':" ACCEPT "}");
    (void)gw_heard("");
    assert_refused(repeat(token, "{'question-1':" ACCEPT "}"));
    gw_answer(call, "{'content':[]}");
    assert_like(gw_reply(first), "{'result':{'resultType':'complete'}}");
}

/* ---- while nobody waits ---- */

TEST_GATEWAY(a_response_that_arrives_early_is_kept_for_the_client)
{
    const char *token = suspend();
    gw_answer(call, "{'content':[{'type':'text','text':'early'}]}");
    gw_until(suspended()->kept);
    assert_like(gw_reply(repeat(token, "{'question-1':" ACCEPT "}")),
                "{'result':{'content':[{'text':'early'}]}}");
    assert_non_null(gw_heard("")->m.error); /* the question ended with the call */
    assert_not_heard("");
    assert_true(list_empty(&gw_space()->suspended));
}

TEST_GATEWAY(an_error_that_arrives_early_is_kept_too)
{
    const char *token = suspend();
    gw_fail(call, "{'code':-32050,'message':'no'}");
    gw_until(suspended()->kept);
    assert_like(gw_reply(repeat(token, "{}")), "{'error':{'code':-32050,'message':'no'}}");
}

TEST_GATEWAY(a_server_that_is_lost_meanwhile_fails_the_repeated_call)
{
    const char *token = suspend();
    peers_lose(0);
    gw_until(suspended()->kept);
    assert_like(gw_reply(repeat(token, "{}")), "{'result':{'isError':true}}");
}

TEST_GATEWAY(a_client_that_does_not_return_loses_its_call)
{
    gw_use_limits((struct gateway_limits){.answer_ttl_ms = 60000});
    const char *token = suspend();
    gw_fire(&suspended()->expiry);
    (void)gw_heard("notifications/cancelled");
    assert_int_equal(gw.g->nsuspended, 0);
    assert_refused(repeat(token, "{'question-1':" ACCEPT "}"));
}

TEST_GATEWAY(the_expiry_does_not_run_while_the_client_waits)
{
    const char *token = suspend();
    assert_true(timer_active(&suspended()->expiry));
    (void)repeat(token, "{'question-1':" ACCEPT "}");
    (void)gw_heard("");
    assert_false(timer_active(&suspended()->expiry));
}

TEST_GATEWAY(a_client_that_leaves_after_its_answer_cancels_the_call)
{
    struct gw_client *c = repeat(suspend(), "{'question-1':" ACCEPT "}");
    (void)gw_heard("");
    gw_leave(c);
    (void)gw_heard("notifications/cancelled");
    assert_true(list_empty(&gw_space()->suspended));
    assert_int_equal(gw.g->nsuspended, 0);
}

TEST_GATEWAY(a_person_who_loses_access_loses_suspended_calls)
{
    const char *token = suspend();
    gateway_drop_user(gw.g, STR(RIG_WORKSPACE), STR("usr_ben"));
    assert_int_equal(gw.g->nsuspended, 1);
    gateway_drop_user(gw.g, STR("ws_other"), STR("usr_ana"));
    assert_int_equal(gw.g->nsuspended, 1);
    gateway_drop_user(gw.g, STR(RIG_WORKSPACE), STR("usr_ana"));
    assert_int_equal(gw.g->nsuspended, 0);
    assert_refused(repeat(token, "{}"));
}

TEST_GATEWAY(a_removed_bundle_ends_suspended_calls)
{
    const char *token = suspend();
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_REMOVED);
    assert_int_equal(gw.g->nsuspended, 0);
    assert_refused(repeat(token, "{}"));
}

/* ---- ceilings ---- */

TEST_GATEWAY(beyond_the_ceiling_of_suspended_calls_questions_are_refused)
{
    struct gw_client *c = start_call();
    gw.g->nsuspended = GW_SUSPENDED_MAX;
    gw_server_asks(call, "s1", "elicitation/create", FORM);
    assert_like(gw_heard("")->m.error, "{'code':-32603}");
    gw.g->nsuspended = 0;
    gw_server_asks(call, "s2", "elicitation/create", FORM);
    assert_like(gw_reply(c), "{'result':{'resultType':'input_required'}}");
}

TEST_GATEWAY(a_suspended_call_keeps_its_place_at_the_ceiling)
{
    struct gw_client *c = repeat(suspend(), "{'question-1':" ACCEPT "}");
    (void)gw_heard("");
    gw.g->nsuspended += GW_SUSPENDED_MAX;
    gw_server_asks(call, "s2", "roots/list", "{}");
    assert_like(gw_reply(c), "{'result':{'resultType':'input_required'}}");
    gw.g->nsuspended -= GW_SUSPENDED_MAX;
}

TEST_GATEWAY(a_person_has_a_ceiling_of_suspended_calls)
{
    gw_use_limits((struct gateway_limits){.connections = GW_SUSPENDED_USER_MAX + 1});
    for (int i = 0; i < GW_SUSPENDED_USER_MAX; i++)
        (void)suspend();
    struct gw_client *c = start_call();
    gw_server_asks(call, "s1", "elicitation/create", FORM);
    assert_like(gw_heard("")->m.error, "{'code':-32603}");
    assert_open(c);
    gw_answer(call, "{'content':[]}");
    (void)gw_reply(c);
    gw.who = gw.base->ben; /* others are not concerned */
    (void)suspend();
}

/* ---- addresses that must be opened first ---- */

TEST_GATEWAY(an_address_to_open_first_becomes_a_question_and_the_call_runs_again)
{
    struct gw_client *c = start_call();
    gw_fail(call, "{'code':-32042,'message':'open','data':{'elicitations':[" ADDRESS "]}}");
    const struct json *reply = gw_reply(c);
    assert_like(reply, "{'result':{'resultType':'input_required','inputRequests':{'address-1':"
                       "{'method':'elicitation/create','params':{'mode':'url','url':'https://a',"
                       "'elicitationId':null}}}}}");
    const char *token =
        arena_cstr(gw.arena, json_get_string(json_get(reply, "result"), "requestState"));
    assert_int_equal(gw.g->nsuspended, 0);
    gw.who = gw.base->ben;
    assert_refused(repeat(token, "{}"));
    gw.who = gw.base->ana;
    c = repeat(token, "{'address-1':{'action':'accept'}}");
    call = gw_heard("tools/call");
    assert_like(call->m.params, "{'name':'t','requestState':null,'inputResponses':null}");
    gw_answer(call, "{'content':[]}");
    assert_like(gw_reply(c), "{'result':{'resultType':'complete'}}");
}

TEST_GATEWAY(a_stateless_server_keeps_its_own_states)
{
    gw.capabilities = GW_ASKABLE;
    struct gw_client *c = gw_modern("tools/call", "{'name':'new__t'}");
    gw_answer(gw_heard("tools/call"),
              "{'resultType':'input_required','requestState':'theirs','inputRequests':{'q':"
              "{'method':'roots/list','params':{}}}}");
    assert_like(gw_reply(c), "{'result':{'requestState':'theirs'}}");
    (void)gw_modern("tools/call", "{'name':'new__t','requestState':'theirs','inputResponses':{'q':"
                                  "{'roots':[]}}}");
    assert_like(gw_heard("tools/call")->m.params,
                "{'requestState':'theirs','inputResponses':{'q':{'roots':[]}}}");
}
