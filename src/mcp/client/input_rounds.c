/* input_rounds.c - a result that asks for input, the answers, and the repeated request. */
#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "mcp/client/client_impl.h"

/* A server that only wants the request repeated must not cause a tight loop. */
#define PAUSE_STEP_MS 100
#define PAUSE_MAX_MS  2000

static void on_wait_over(struct mcp_call *call)
{
    call_fail(call, -ETIMEDOUT, "the server's question was not answered within the time limit");
}

/* No request is on the wire now whose timer would watch the deadline. */
static void watch_deadline(struct mcp_call *call)
{
    uint64_t now = clock_mono_ms();
    call_later(call, call->deadline_ms > now ? call->deadline_ms - now : 0, on_wait_over);
}

static void one_less(struct mcp_call *call)
{
    assert(call->rounds.waiting > 0);
    if (--call->rounds.waiting > 0)
        return;
    timer_stop(&call->later);
    call->rounds.then(call, call->rounds.responses);
}

void rounds_ask(struct mcp_call *call, const struct json *requests,
                void (*then)(struct mcp_call *call, struct json *responses))
{
    struct rounds *r = &call->rounds;
    uint32_t n = json_is(requests, JSON_OBJECT) ? requests->len : 0;
    if (n > MCP_ASKS_MAX) {
        call_fail(call, -EPROTO, "the server asks %u questions in one result; the limit is %d", n,
                  MCP_ASKS_MAX);
        return;
    }
    arena_reset(&call->round_mem);
    r->responses = json_new(&call->round_mem, JSON_OBJECT);
    r->then = then;
    r->waiting = n + 1; /* one more for this function: an answer may arrive before the loop ends */
    watch_deadline(call);
    for (uint32_t i = 0; i < n && !call->is_dead; i++) {
        struct err e;
        if (ask_start_input(call, requests->members[i].key, &requests->members[i].value, &e) < 0) {
            call_fail_with(call, &e);
            return;
        }
    }
    if (!call->is_dead)
        one_less(call);
}

void rounds_answered(struct mcp_call *call, str key, const struct json *result)
{
    struct arena *a = &call->round_mem;
    assert(!call->is_dead);
    json_set(a, call->rounds.responses, arena_str(a, key), *json_clone(a, result));
    one_less(call);
}

static void on_refusal(struct mcp_call *call)
{
    call_error(call, call->rounds.refusal);
}

/* The protocol has no refusal of a question inside a result, so the call fails. */
void rounds_refused(struct mcp_call *call, int code, const char *message)
{
    struct json *error = json_new(&call->mem, JSON_OBJECT);
    json_set(&call->mem, error, STR("code"), json_of_int(code));
    json_set(&call->mem, error, STR("message"),
             json_of_str(arena_str(&call->mem, str_from(message))));
    call->rounds.refusal = error;
    call_later(call, 0, on_refusal);
}

/* ---- input_required ---- */

static void send_round(struct mcp_call *call, struct json *responses)
{
    struct arena *a = &call->round_mem;
    struct json *more = json_new(a, JSON_OBJECT);
    if (responses->len > 0)
        json_set(a, more, STR("inputResponses"), *responses);
    if (call->rounds.has_state)
        json_set(a, more, STR("requestState"), json_of_str(buf_str(&call->rounds.state)));
    call_send(call, more);
}

static void on_pause_over(struct mcp_call *call)
{
    send_round(call, json_new(&call->round_mem, JSON_OBJECT));
}

static void pause_round(struct mcp_call *call)
{
    uint64_t ms = (uint64_t)call->rounds.n * PAUSE_STEP_MS;
    call_later(call, ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS, on_pause_over);
}

void rounds_take(struct mcp_call *call, const struct json *result)
{
    struct rounds *r = &call->rounds;
    const struct json *requests = json_get(result, "inputRequests");
    const struct json *state = json_get(result, "requestState");
    if ((requests && !json_is(requests, JSON_OBJECT)) || (state && !json_is(state, JSON_STRING)) ||
        (!requests && !state)) {
        call_fail(call, -EPROTO,
                  "the server requires input, but \"inputRequests\" or \"requestState\" is missing "
                  "or wrong");
        return;
    }
    if (++r->n > MCP_ROUNDS_MAX) {
        call_fail(call, -EPROTO, "the server still requires input after %d rounds", MCP_ROUNDS_MAX);
        return;
    }
    r->has_state = state != NULL;
    buf_clear(&r->state);
    if (state)
        (void)buf_add_str(&r->state, state->s);
    if (json_is(requests, JSON_OBJECT) && requests->len > 0)
        rounds_ask(call, requests, send_round);
    else
        pause_round(call);
}
