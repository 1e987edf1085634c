/* bundle_call.c - a request to a bundle, and its one repetition.
 *
 *   bundle_request_in --> planning --> waiting --send_call--> sent --on_call_done--> answered
 *                         (c->plan)       ^                  (c->sent)    |    |
 *                                         +------ may_repeat: once -------+    +--> c->rights
 *
 *   planning  only a command in the directory of a terminal: its sandbox is made on the pool
 *   waiting   for a connection that is ready, for the list of tools, and for a place (places.c)
 *   sent      the connection has it; it calls on_call_done exactly once, also when it is lost
 *   rights    refused for want of a scope; answered when the scope is stored (step_up.h)
 *
 * bundle_request_in sends immediately if no other call waits. Everything else is sent or refused by
 * on_dispatch, which runs in a turn of the loop of its own after every event that could let a call
 * continue (bundle_dispatch_later): no callback comes from inside bundle_request, and several
 * events cause one pass.
 *
 * When the connection is lost during a call, a call that can be repeated without harm waits once
 * more, for the next connection; every other call is answered with an error that says that its
 * effect is not known. */
#include <assert.h>
#include <errno.h>

#include "bundle/bash/bash_server.h"
#include "bundle/oauth/step_up.h"
#include "bundle/supervise/bundle_impl.h"
#include "bundle/supervise/grant_plan.h"
#include "mcp/dial.h"

/* A call that was refused for want of rights, while the scope is being stored (step_up.h). It
 * outlives a call that is cancelled meanwhile. */
struct rights_wait {
    struct bundle_call *call; /* NULL after bundle_cancel */
    struct bundles *set;
};

static void bundle_call_free(struct bundle_call *c)
{
    struct bundle *b = c->bundle;
    if (c->plan)
        grant_plan_cancel(c->plan);
    places_leave(c);
    list_del(&c->node);
    arena_done(&c->arena);
    free(c);
    bundle_dispatch_later(b); /* its place may be used by another call */
    if (b->is_removed || b->set->is_stopping)
        defer_start(b->set->conf.loop, &b->set->sweep);
}

static void bundle_call_answer(struct bundle_call *c, const struct mcp_reply *r)
{
    struct call_relay relay = c->relay;
    bundle_call_free(c);
    relay.to.done(relay.ctx, r);
}

/* The definition of the tool that is called, or NULL. */
static const struct json *tool_of(const struct bundle_call *c)
{
    return bundle_call_is_tool(c)
               ? bundle_find_tool(c->bundle, json_get_string(c->req.params, "name"))
               : NULL;
}

/* A task exists only in the server that was lost: the next one does not know it, and must not run
 * it a second time. */
static bool is_about_task(const struct bundle_call *c)
{
    const struct mcp_request *req = &c->req;
    return json_get(req->params, "task") || str_starts(req->method, STR("tasks/")) ||
           protocol_needs_task(tool_of(c));
}

/* The request cannot have reached the server. */
static bool was_not_sent(const struct err *err)
{
    return err->code == -ENOTCONN || err->code == -ECONNREFUSED || err->code == -EHOSTUNREACH;
}

/* The connection ended after the request was sent: the server may have acted on it, or not. */
static bool is_lost_in_call(const struct bundle *b, const struct err *err)
{
    switch (err->code) {
    case -ECONNRESET:
    case -EPIPE:
        return true;
    case -ECANCELED: /* nb has closed the connection during the call */
        return b->is_lost;
    }
    return false;
}

/* A second execution changes nothing: because of the method, or because the server declares it for
 * the tool. The protocol's default for a missing hint is no. */
static bool is_repeatable(const struct bundle_call *c)
{
    const struct json *hints = json_get(tool_of(c), "annotations");
    return !bundle_call_is_tool(c) || json_get_bool(hints, "readOnlyHint", false) ||
           json_get_bool(hints, "idempotentHint", false);
}

/* A refused token means that the call had no effect: it is repeated with a new token. */
static bool is_token_error(const struct bundle *b, const struct err *err)
{
    return b->entry.oauth.is_on && err->code == -EKEYREJECTED;
}

static bool may_repeat(const struct bundle_call *c, const struct mcp_reply *r)
{
    const struct bundle *b = c->bundle;
    if (!r->err || c->is_second || !b->is_ready || b->is_closing)
        return false;
    if (is_token_error(b, r->err))
        return true;
    if (is_about_task(c))
        return false;
    return was_not_sent(r->err) || (is_lost_in_call(b, r->err) && is_repeatable(c));
}

/* The answer to a call whose connection was lost. */
static void answer_lost(struct bundle_call *c, const struct mcp_reply *r)
{
    struct err err = {0};
    err_set(&err, r->err->code,
            "it ended during the call, and it is not known whether the call took effect: %.900s",
            r->err->msg);
    bundle_call_answer(c, &(struct mcp_reply){.err = &err});
}

/* ---- more rights ---- */

static void on_scope_noted(void *ctx, const struct err *why)
{
    struct rights_wait *w = ctx;
    struct bundles *set = w->set;
    struct bundle_call *c = w->call;
    free(w);
    set->nstarts--;
    defer_start(set->conf.loop, &set->sweep);
    if (!c)
        return;
    c->rights = NULL;
    c->bundle->wants_rights |= why->code == -ENOKEY;
    if (c->bundle->wants_rights)
        people_wants_rights(c->bundle);
    bundle_call_answer(c, &(struct mcp_reply){.err = why});
}

/* Returns false when a sign-in cannot give the missing rights. */
static bool begin_step_up(struct bundle_call *c, const struct mcp_reply *r)
{
    struct bundle *b = c->bundle;
    struct oauth_challenge challenge;
    oauth_challenge_parse(r->challenge, &challenge);
    if (!b->entry.oauth.is_on || !r->err || r->err->code != -EACCES || !challenge.is_scope_missing)
        return false;
    struct step_up_want want = {
        .pool = b->set->conf.pool,
        .credentials_dir = bundle_token_dir(b, &c->arena),
        .slug = bundle_token_slug(b, &c->arena),
        .scope = challenge.scope,
        .advice = bundle_sign_in_advice(b, &c->arena),
    };
    c->rights = xcalloc(1, sizeof(*c->rights));
    *c->rights = (struct rights_wait){c, b->set};
    b->set->nstarts++;
    step_up_start(&want, on_scope_noted, c->rights);
    return true;
}

/* ---- answers of the server ---- */

static void on_call_done(void *ctx, const struct mcp_reply *r)
{
    struct bundle_call *c = ctx;
    assert(c->sent && !c->rights && !c->plan);
    struct bundle *b = c->bundle;
    c->sent = NULL;
    places_answered(c);
    places_wait(c);
    bool is_unreachable = watch_is_unreachable(b, r->err);
    if (begin_step_up(c, r))
        return;
    if (!may_repeat(c, r)) {
        if (r->err && bundle_call_is_tool(c) && is_lost_in_call(b, r->err))
            answer_lost(c, r);
        else
            bundle_call_answer(c, r);
        return;
    }
    c->is_second = true;
    b->is_token_refused |= is_token_error(b, r->err);
    if (is_unreachable || is_token_error(b, r->err))
        supervise_kill(b, r->err->msg);
    else if (!bundle_is_child(b)) /* only this request was lost, not the connection */
        bundle_dispatch_later(b);
}

/* ---- waiting ---- */

/* The caller's _meta without the members that only nb may send to its own shell. */
static struct json *callers_meta(struct bundle_call *c)
{
    const struct json *given = json_get(c->req.params, "_meta");
    struct json *meta = json_new(&c->arena, JSON_OBJECT);
    for (size_t i = 0; json_is(given, JSON_OBJECT) && i < given->len; i++)
        if (!str_starts(given->members[i].key, STR(BASH_META_PREFIX)))
            json_set(&c->arena, meta, given->members[i].key, given->members[i].value);
    return meta;
}

/* For a command of the built-in shell. The caller's parameters stay as they are. */
static void add_shell_meta(struct bundle_call *c)
{
    struct json *params = json_new(&c->arena, JSON_OBJECT), *meta = callers_meta(c);
    for (size_t i = 0; i < c->req.params->len; i++)
        json_set(&c->arena, params, c->req.params->members[i].key, c->req.params->members[i].value);
    int64_t limit_mb = bundle_disk_max(&c->bundle->entry) / (1024 * 1024);
    if (c->bundle->is_disk_full)
        json_set(&c->arena, meta, STR(BASH_META_DISK_FULL), json_of_int(limit_mb));
    if (c->sandbox.n > 0) {
        json_set(&c->arena, meta, STR(BASH_META_SANDBOX), json_of_str(c->sandbox));
        json_set(&c->arena, meta, STR(BASH_META_DIRECTORY), json_of_str(c->directory));
    }
    json_set(&c->arena, params, STR("_meta"), *meta);
    c->req.params = params;
}

static void send_call(struct bundle_call *c)
{
    assert(!c->sent && !c->rights && !c->plan && bundle_takes_calls(c->bundle));
    if (c->bundle->entry.kind == BUNDLE_BUILT_IN && bundle_call_is_tool(c))
        add_shell_meta(c);
    struct mcp_call_events ev = call_relay_events(&c->relay, on_call_done);
    places_run(c);
    watch_used(c->bundle);
    c->sent = connections_request(c->bundle->connections, &c->req, &ev, c);
}

/* Every call passes here: a tool that waits for approval cannot be called in any way. */
static bool is_approved(const struct bundle_call *c)
{
    return !bundle_call_is_tool(c) || tool_of(c);
}

/* A tool is called only after this connection has listed it, because it may have changed. */
static bool may_send(const struct bundle_call *c)
{
    return bundle_takes_calls(c->bundle) && (c->bundle->is_listed || !bundle_call_is_tool(c)) &&
           places_has_one(c);
}

/* The call whose person has the fewest running calls; among equals the oldest. */
static struct bundle_call *next_sendable(const struct bundle *b)
{
    struct bundle_call *next = NULL;
    size_t least = 0;
    LIST_EACH (c, &b->calls, struct bundle_call, node) {
        if (c->sent || c->rights || c->plan || !may_send(c))
            continue;
        size_t own = places_of(c);
        if (next && own >= least)
            continue;
        next = c;
        least = own;
    }
    return next;
}

static void refuse_tool(struct bundle_call *c)
{
    struct err err = {0};
    err_set(&err, -ENOENT, "%.*s has no approved tool of this name",
            STR_ARG(c->bundle->entry.server_name));
    bundle_call_answer(c, &(struct mcp_reply){.err = &err});
}

static struct bundle_call *first_waiting(const struct bundle *b)
{
    LIST_EACH (c, &b->calls, struct bundle_call, node)
        if (!c->sent && !c->rights)
            return c;
    return NULL;
}

size_t bundle_calls_sent(const struct bundle *b)
{
    size_t n = 0;
    LIST_FOREACH (node, &b->calls)
        n += LIST_ENTRY(node, struct bundle_call, node)->sent != NULL;
    return n;
}

void bundle_calls_fail(struct bundle *b, const struct err *err)
{
    struct mcp_reply r = {.err = err};
    struct list_node given_up;
    list_init(&given_up);
    LIST_FOREACH (node, &b->calls) {
        const struct bundle_call *c = LIST_ENTRY(node, struct bundle_call, node);
        if (c->sent || c->rights)
            continue;
        list_del(node);
        list_push(&given_up, node);
    }
    /* One at a time from the front, because a callback may cancel others of them. */
    while (!list_empty(&given_up))
        bundle_call_answer(LIST_ENTRY(given_up.next, struct bundle_call, node), &r);
}

static struct bundle_call *first_surplus(const struct bundle *b)
{
    LIST_EACH (c, &b->calls, struct bundle_call, node)
        if (c->is_refused)
            return c;
    return NULL;
}

/* One at a time, because a callback may cancel others of them. */
static void refuse_surplus(struct bundle *b)
{
    struct err err = {0};
    struct bundle_call *c;
    err_set(&err, -EBUSY, "%.*s is busy: too many calls wait for it",
            STR_ARG(b->entry.server_name));
    while ((c = first_surplus(b)) != NULL)
        bundle_call_answer(c, &(struct mcp_reply){.err = &err});
}

static void refuse_waiting(struct bundle *b)
{
    struct err err = {0};
    bool is_for_person = b->user_id.n > 0 && bundle_wants_sign_in(b, b->reason_code);
    err_set(&err, is_for_person ? -ENOKEY : -ENOTCONN, "%.*s is %s%s%.900s",
            STR_ARG(b->entry.server_name), bundle_state_name(b->state), b->reason[0] ? ": " : "",
            b->reason);
    bundle_calls_fail(b, &err);
}

/* A server where each person signs in has no token for a request without a person. */
static void refuse_all(struct bundle *b)
{
    while (!list_empty(&b->calls)) {
        struct bundle_call *c = LIST_ENTRY(b->calls.next, struct bundle_call, node);
        struct err why = c->refusal;
        if (why.code == 0)
            err_set(&why, -ENOKEY,
                    "each person signs in to %.*s, and this request does not belong to a person",
                    STR_ARG(b->entry.server_name));
        bundle_call_answer(c, &(struct mcp_reply){.err = &why});
    }
}

static void on_dispatch(void *ctx)
{
    struct bundle *b = ctx;
    struct bundle_call *c;
    if (people_is_face(b)) {
        refuse_all(b);
        return;
    }
    refuse_surplus(b);
    if (b->is_waiting) { /* the first call starts it; on_bundle_ready dispatches again */
        supervise_start(b);
        return;
    }
    if (b->state == BUNDLE_DEAD || b->state == BUNDLE_STOPPED) {
        refuse_waiting(b);
        return;
    }
    /* A remote server that failed repeatedly: no call waits for the next attempt in 30 s. */
    if (supervise_is_cooling(b) && !b->connections && !b->start) {
        refuse_waiting(b);
        return;
    }
    while ((c = next_sendable(b)) != NULL) {
        if (is_approved(c))
            send_call(c);
        else
            refuse_tool(c);
    }
    places_tell_waiting(b);
    if (first_waiting(b))
        supervise_hurry(b);
}

void bundle_dispatch_later(struct bundle *b)
{
    if (!list_empty(&b->calls))
        defer_start(b->set->conf.loop, &b->dispatch);
}

void bundle_calls_init(struct bundle *b)
{
    defer_init(&b->dispatch, on_dispatch, b);
}

/* ---- functions for callers ---- */

struct bundle_call *bundle_request(struct bundle *b, const struct mcp_request *req,
                                   const struct mcp_call_events *ev, void *ctx)
{
    return bundle_request_for(b, STR_NONE, req, ev, ctx);
}

struct bundle_call *bundle_request_for(struct bundle *b, str person, const struct mcp_request *req,
                                       const struct mcp_call_events *ev, void *ctx)
{
    static const struct dir_grant NONE;
    return bundle_request_in(b, person, &NONE, req, ev, ctx);
}

/* The person and the model can solve this, so it is a result of the tool, not an error. */
static void answer_unusable(struct bundle_call *c, const struct err *err)
{
    struct arena a;
    arena_init(&a);
    struct json *result = json_new(&a, JSON_OBJECT), *text = json_new(&a, JSON_OBJECT);
    struct json *content = json_new(&a, JSON_ARRAY);
    json_set(&a, text, STR("type"), json_of_str(STR("text")));
    json_set(&a, text, STR("text"), json_of_str(str_from(err->msg)));
    json_push(&a, content, *text);
    json_set(&a, result, STR("content"), *content);
    json_set(&a, result, STR("isError"), json_of_bool(true));
    bundle_call_answer(c, &(struct mcp_reply){.result = result});
    arena_done(&a);
}

static void on_planned(void *ctx, str sandbox, const struct err *err)
{
    struct bundle_call *c = ctx;
    c->plan = NULL;
    if (err) {
        answer_unusable(c, err);
        return;
    }
    c->sandbox = arena_str(&c->arena, sandbox);
    bundle_dispatch_later(c->bundle);
}

struct bundle_call *bundle_request_in(struct bundle *b, str person, const struct dir_grant *grant,
                                      const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx)
{
    assert(ev->done);
    struct bundle_call *c = xcalloc(1, sizeof(*c));
    c->bundle = b;
    c->req = dial_copy_request(&c->arena, req);
    c->relay = (struct call_relay){*ev, ctx};
    places_enter(c, person);
    /* Without waiting calls the fair order does not matter: save one turn of the loop. */
    bool is_first = !c->is_refused && !first_waiting(b);
    list_push(&b->calls, &c->node);
    if (grant->path.n > 0 && b->entry.kind == BUNDLE_BUILT_IN && bundle_call_is_tool(c)) {
        c->directory = arena_str(&c->arena, grant->path);
        c->plan = grant_plan_start(b, grant, on_planned, c);
    }
    if (is_first && !c->plan && may_send(c) && is_approved(c))
        send_call(c);
    else
        bundle_dispatch_later(b);
    return c;
}

struct bundle_call *bundle_request_refused(struct bundle *b, const struct err *why,
                                           const struct mcp_call_events *ev, void *ctx)
{
    static const struct mcp_request NOTHING;
    struct bundle_call *c = bundle_request(b, &NOTHING, ev, ctx);
    assert(people_is_face(b)); /* other bundles would send it */
    c->refusal = *why;
    return c;
}

void bundle_cancel(struct bundle_call *c, const char *reason)
{
    if (c->sent)
        mcp_cancel(c->sent, reason);
    if (c->rights)
        c->rights->call = NULL;
    bundle_call_free(c);
}
