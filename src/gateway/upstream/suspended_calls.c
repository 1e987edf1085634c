/* suspended_calls.c - calls of stateless clients to servers that ask questions during the call.
 *
 * A stateless client cannot be sent a request. It receives the questions as the result of its own
 * request (input_required, with a requestState) and repeats the request with the answers. Meanwhile
 * the call to the server continues and is suspended here:
 *
 *   client            gateway                              server
 *     | tools/call ----> upstream_call, private connection --> |
 *     |                  <-- question (suspended_question) --- |
 *     |                  --- ping (suspended_settle) --------> |   more questions may arrive
 *     |                  <-- pong (on_settled) --------------- |
 *     | <-- input_required, requestState (put_questions)       |
 *     |                  u->q = NULL, timer `expiry` runs      |
 *     | tools/call, requestState, inputResponses -->           |
 *     |                  take_up: attach, answer questions --> |
 *     | <-- result       <------------------------- result --- |
 *
 * The requestState is a random handle, signed together with the user, the workspace, the method and
 * the arguments (context_of). So a user cannot resume the call of another user, and cannot answer
 * questions of a different request. Every round has a new handle.
 *
 * Invariants: a call is in space->suspended from its first put_questions until it is freed, also
 * while it has a request again. u->user_id is set exactly as long. u->q is NULL exactly while the
 * client has the questions. A call with u->kept has no open questions. */
#include "gateway/upstream/suspended_calls.h"

#include <assert.h>

#include "base/bytes/base64.h"
#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "gateway/sign.h"
#include "gateway/write.h"

/* the body of a requestState that no suspended call belongs to: run the request again */
static const char RERUN[] = "again";

void suspended_prepare(struct gw_request *q)
{
    const char *member = protocol_name_member(q->method);
    q->asked_name = member ? json_get_string(q->params, member) : STR_NONE;
}

/* The user and the request that a requestState is valid for. Computed only when it is needed. */
static str context_of(struct gw_request *q)
{
    char digest[SHA256_HEX_LEN + 1];
    const struct json *args = json_get(q->params, "arguments");
    str what =
        arena_printf(&q->arena, "%.*s\n%.*s\n%.*s", STR_ARG(q->method), STR_ARG(q->asked_name),
                     STR_ARG(args ? json_to_str(&q->arena, args) : STR_NONE));
    sha256_hex(what, digest);
    return arena_printf(&q->arena, "%s\n%.*s\n%.*s\n%s", q->space->id,
                        STR_ARG(actor_user(q->actor)), STR_ARG(q->source), digest);
}

/* ---- questions ---- */

static void question_free(struct gw_question *x)
{
    list_del(&x->node);
    free(x);
}

static void drop_questions(struct upstream_call *u)
{
    LIST_FOREACH (n, &u->questions)
        question_free(LIST_ENTRY(n, struct gw_question, node));
}

void suspended_done(struct upstream_call *u)
{
    if (list_empty(&u->questions) && !u->user_id && !u->kept)
        return; /* no question was ever asked */
    drop_questions(u);
    if (timer_active(&u->expiry))
        timer_stop(&u->expiry);
    if (!list_empty(&u->node)) {
        assert(u->g->nsuspended > 0 && u->user_id);
        u->g->nsuspended--;
    }
    list_del(&u->node);
    arena_done(&u->arena);
    free(u->user_id);
    u->user_id = NULL;
}

/* A question as this era has it: without an elicitationId. */
static void write_question(struct json_writer *w, const char *key, str method,
                           const struct json *params)
{
    jw_kobject(w, key);
    jw_kstr(w, "method", method);
    jw_kobject(w, "params");
    gw_write_members(w, params, "elicitationId");
    jw_end(w);
    jw_end(w);
}

static void begin_required(struct gw_request *q, struct json_writer *w)
{
    gw_write_begin(w, q);
    jw_kstr(w, "resultType", STR("input_required"));
    jw_kobject(w, "inputRequests");
}

static void end_required(struct gw_request *q, struct json_writer *w, str state)
{
    jw_end(w);
    jw_kstr(w, "requestState", state);
    gw_write_own_meta(w);
    jw_close(w);
    gw_request_send(q);
}

/* ---- suspending ---- */

static size_t suspended_by(const struct gw_space *s, str user_id)
{
    size_t n = 0;
    LIST_EACH (u, &s->suspended, struct upstream_call, node)
        n += u->user_id && str_eq(str_from(u->user_id), user_id);
    return n;
}

static void on_expired(void *up)
{
    const struct upstream_call *u = up;
    assert(!u->q); /* the timer does not run while the client waits */
    upstream_call_cancel(up, "The client did not return with answers in time.");
}

/* Sends the questions to the client as the response to its request; the call continues without
 * it. */
static void put_questions(struct upstream_call *u)
{
    struct gw_request *q = u->q;
    struct json_writer w;
    if (!q || list_empty(&u->questions)) /* withdrawn, or the client has left */
        return;
    assert(u->own && !u->kept);
    bool is_first = u->handle[0] == 0;
    uint8_t raw[16];
    /* each round has a new handle, so an old requestState cannot be used twice */
    random_bytes(raw, sizeof raw);
    hex_encode(u->handle, raw, sizeof raw);
    if (is_first) { /* it stays in the list until it is freed */
        assert(list_empty(&u->node) && !u->user_id);
        u->user_id = str_dup(actor_user(q->actor));
        list_push(&u->space->suspended, &u->node);
        u->g->nsuspended++;
    }
    u->suspended_ms = clock_mono_ms();
    timer_init(&u->expiry, u->g->deps.loop, on_expired, u);
    timer_start(&u->expiry, u->g->deps.limits.answer_ttl_ms);
    begin_required(q, &w);
    LIST_EACH (x, &u->questions, struct gw_question, node)
        write_question(&w, x->key, mcp_ask_method(x->ask->kind), x->ask->params);
    str state = gw_sign_text(u->g, &q->arena, str_from(u->handle), context_of(q));
    u->q = NULL; /* suspended from here on */
    q->on_cancel = NULL;
    end_required(q, &w, state);
}

static void on_settled(void *up, const struct mcp_reply *r)
{
    struct upstream_call *u = up;
    assert(u->settling && u->own);
    u->settling = NULL;
    put_questions(u);
}

/* Batch questions that arrive together: a ping reply proves that the server has sent everything it
 * wrote before the reply. */
static void suspended_settle(struct upstream_call *u)
{
    static const struct mcp_call_events EVENTS = {.done = on_settled};
    struct mcp_request ping = {.method = STR("ping"), .timeout_ms = GW_SETTLE_MS};
    struct connections *way = u->own ? private_connection_of(u->own) : NULL;
    struct mcp_client *server = way ? connections_main(way) : NULL;
    if (server && !u->settling)
        u->settling = mcp_request(server, &ping, &EVENTS, u);
}

void suspended_question(struct upstream_call *u, struct mcp_ask *a)
{
    struct gw_request *q = u->q;
    bool is_full = u->g->nsuspended >= GW_SUSPENDED_MAX ||
                   (q && suspended_by(u->space, actor_user(q->actor)) >= GW_SUSPENDED_USER_MAX);
    if (q && !mcp_ask_is_declared(q->capabilities, a->kind, a->params)) {
        mcp_ask_refuse(a, RPC_METHOD_NOT_FOUND, "The client does not support this request.");
        return;
    }
    if (is_full && u->handle[0] == 0) { /* a call that was suspended before keeps its place */
        mcp_ask_refuse(a, RPC_INTERNAL_ERROR, "Too many calls are waiting for their clients.");
        return;
    }
    struct gw_question *x = xcalloc(1, sizeof *x);
    x->ask = a;
    snprintf(x->key, sizeof x->key, "question-%u", ++u->next_key);
    list_push(&u->questions, &x->node);
    suspended_settle(u);
}

void suspended_question_gone(struct upstream_call *u, struct mcp_ask *a)
{
    LIST_EACH (x, &u->questions, struct gw_question, node)
        if (x->ask == a)
            question_free(x);
}

void suspended_keep(struct upstream_call *u, const struct mcp_reply *r)
{
    struct mcp_reply *kept;
    assert(!u->q && !u->kept);
    drop_questions(u); /* the server does not wait for their answers any more */
    arena_init(&u->arena);
    kept = ARENA_NEW(&u->arena, struct mcp_reply);
    kept->result = r->result ? json_clone(&u->arena, r->result) : NULL;
    kept->error = r->error ? json_clone(&u->arena, r->error) : NULL;
    if (r->err) {
        struct err *e = ARENA_NEW(&u->arena, struct err);
        *e = *r->err;
        kept->err = e;
    }
    u->kept = kept;
}

/* ---- resuming ---- */

static struct upstream_call *suspended_find(struct gw_space *s, str handle)
{
    LIST_EACH (u, &s->suspended, struct upstream_call, node)
        if (str_eq(str_from(u->handle), handle))
            return u;
    return NULL;
}

static struct gw_question *next_answered(struct upstream_call *u, const struct json *responses)
{
    LIST_EACH (x, &u->questions, struct gw_question, node)
        if (json_is(json_get(responses, x->key), JSON_OBJECT))
            return x;
    return NULL;
}

/* An answer that cannot be delivered may end and free the call, so u is searched again by its
 * handle after each answer. False: the call was freed. */
static bool answer_questions(struct gw_space *s, struct upstream_call *u,
                             const struct json *responses)
{
    struct gw_question *x;
    char handle[sizeof u->handle];
    memcpy(handle, u->handle, sizeof handle);
    while (u && (x = next_answered(u, responses)) != NULL) {
        struct mcp_ask *a = x->ask;
        const struct json *given = json_get(responses, x->key);
        question_free(x);
        mcp_ask_answer(a, given);
        u = suspended_find(s, str_from(handle));
    }
    return u != NULL;
}

static void take_up(struct upstream_call *u, struct gw_request *q)
{
    assert(!u->q && u->user_id);
    timer_stop(&u->expiry);
    upstream_call_attach(u, q);
    if (!answer_questions(q->space, u, json_get(q->params, "inputResponses")))
        return;
    if (u->kept) {
        /* Delivering frees u and its arena; r points into the arena. */
        struct mcp_reply r = *u->kept;
        struct arena alive = u->arena;
        arena_init(&u->arena);
        upstream_call_deliver(u, &r);
        arena_done(&alive);
    } else if (!list_empty(&u->questions)) { /* some were not answered: ask them again */
        suspended_settle(u);
    }
}

static bool are_objects(const struct json *responses)
{
    if (!responses)
        return true;
    if (!json_is(responses, JSON_OBJECT))
        return false;
    for (uint32_t i = 0; i < responses->len; i++) {
        if (responses->members[i].value.type != JSON_OBJECT)
            return false;
    }
    return true;
}

bool suspended_resume(struct gw_request *q)
{
    const struct json *state = json_get(q->params, "requestState");
    str body;
    if (!are_objects(json_get(q->params, "inputResponses"))) {
        gw_request_fail(q, RPC_INVALID_PARAMS, "inputResponses must be an object of objects.");
        return true;
    }
    if (!state)
        return false;
    bool is_ours =
        json_is(state, JSON_STRING) && gw_sign_check(q->g, state->s, context_of(q), &body);
    if (is_ours && str_eq(body, str_from(RERUN)))
        return false;
    struct upstream_call *u = is_ours ? suspended_find(q->space, body) : NULL;
    if (u && !u->q) /* with u->q, a second request repeats a call that is already resumed */
        take_up(u, q);
    else
        gw_request_fail(q, RPC_INVALID_PARAMS,
                        "requestState does not belong to this request, or has expired.");
    return true;
}

bool suspended_evict(struct gw_space *s, const struct gw_pool *pool)
{
    LIST_EACH (u, &s->suspended, struct upstream_call, node) { /* oldest first */
        bool is_ripe = !u->q && clock_mono_ms() - u->suspended_ms >= GW_SUSPEND_LEAST_MS;
        if (!is_ripe || !u->own || !private_connection_is_of(u->own, pool))
            continue;
        upstream_call_cancel(u, "Other requests need this connection.");
        return true;
    }
    return false;
}

void suspended_drop_all(struct gw_space *s, str user_id)
{
    LIST_EACH (u, &s->suspended, struct upstream_call, node)
        if (!u->q && (user_id.n == 0 || str_eq(str_from(u->user_id), user_id)))
            upstream_call_cancel(u,
                                 "The client no longer has access, or the workspace was closed.");
}

/* ---- addresses that must be opened first ---- */

void suspended_addresses(struct gw_request *q, const struct json *elicitations)
{
    struct json_writer w;
    begin_required(q, &w);
    for (uint32_t i = 0; i < elicitations->len; i++) {
        char key[24];
        snprintf(key, sizeof key, "address-%u", i + 1);
        write_question(&w, key, mcp_ask_method(MCP_ASK_ELICITATION), &elicitations->items[i]);
    }
    str state = gw_sign_text(q->g, &q->arena, str_from(RERUN), context_of(q));
    end_required(q, &w, state);
}
