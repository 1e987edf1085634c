#include "gateway/session.h"

#include <assert.h>

#include "base/bytes/base64.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "gateway/http/pipe.h"
#include "gateway/http/session_log.h"
#include "gateway/http/stream.h"
#include "gateway/methods/listen.h"
#include "gateway/methods/method.h"
#include "gateway/upstream/ask.h"
#include "gateway/upstream/session_connection.h"
#include "gateway/write.h"

#define SWEEP_MS  60000
#define EXPIRY_MS 1000

/* ---- limits ---- */

static bool is_quiet(const struct gw_session *s)
{
    return list_empty(&s->requests) && (!s->pipe || gateway_pipe_is_idle(s->pipe));
}

/* Counts the sessions of one user, or of all users (empty). */
static bool end_oldest_quiet(struct gateway *g, str user_id)
{
    LIST_EACH (s, &g->lru, struct gw_session, node) {
        if ((user_id.n > 0 && !str_eq(actor_user(s->actor), user_id)) || !is_quiet(s))
            continue;
        gw_session_end(s);
        return true;
    }
    return false;
}

static size_t sessions_of(const struct gateway *g, str user_id)
{
    size_t count = 0;
    LIST_FOREACH (n, &g->lru)
        count += str_eq(actor_user(LIST_ENTRY(n, struct gw_session, node)->actor), user_id);
    return count;
}

bool gw_session_make_room(struct gateway *g, const struct gateway_caller *who)
{
    const struct gateway_limits *max = &g->deps.limits;
    str user_id = actor_user(who->actor);
    if (sessions_of(g, user_id) >= max->sessions_per_user && !end_oldest_quiet(g, user_id))
        return false;
    if (map_len(&g->sessions) < max->sessions)
        return true;
    return end_oldest_quiet(g, user_id) || end_oldest_quiet(g, STR_NONE);
}

/* ---- credentials ---- */

bool gw_login_has_ended(struct gateway *g, const struct actor *a, int64_t *expires_ms,
                        int64_t now_ms)
{
    str session_id = a->people[0].session_id;
    if (*expires_ms == 0 || now_ms < *expires_ms)
        return false;
    if (session_id.n > 0 && g->deps.login_until)
        *expires_ms = g->deps.login_until(g->deps.login_ctx, session_id);
    return now_ms >= *expires_ms;
}

/* A client with bearer tokens of an identity provider returns with a new token: its session
 * continues, its stream ends. */
static void end_expired(struct gw_session *s)
{
    bool is_bound = actor_token(s->actor).n > 0 || s->actor->people[0].session_id.n > 0 || s->pipe;
    if (is_bound)
        gw_session_end(s);
    else if (s->general->reader)
        gw_stream_close(s->general->reader);
}

static struct gw_session *next_expired(struct gateway *g, int64_t now_ms)
{
    LIST_EACH (s, &g->lru, struct gw_session, node)
        if (gw_login_has_ended(g, s->actor, &s->expires_ms, now_ms))
            return s;
    return NULL;
}

void gw_session_expire(void *gateway)
{
    struct gateway *g = gateway;
    struct gw_session *s;
    int64_t now_ms = clock_now_ms();
    while ((s = next_expired(g, now_ms)) != NULL) {
        s->expires_ms = 0; /* handle each session only once */
        end_expired(s);
    }
    bool may_expire = false;
    LIST_FOREACH (n, &g->spaces)
        may_expire = gw_listen_expire(LIST_ENTRY(n, struct gw_space, node), now_ms) || may_expire;
    LIST_EACH (left, &g->lru, struct gw_session, node)
        may_expire = may_expire || left->expires_ms > 0;
    if (may_expire)
        timer_start(&g->expiry, EXPIRY_MS);
}

void gw_session_await_expiry(struct gateway *g, int64_t expires_ms)
{
    if (expires_ms > 0 && !timer_active(&g->expiry))
        timer_start(&g->expiry, EXPIRY_MS);
}

/* ---- life ---- */

struct gw_session *gw_session_new(struct gw_space *space, const struct gateway_caller *who,
                                  str source)
{
    struct gateway *g = space->g;
    struct gw_session *s = xcalloc(1, sizeof *s);
    uint8_t raw[GW_SESSION_ID_LEN / 2];
    random_bytes(raw, sizeof raw);
    hex_encode(s->id, raw, sizeof raw);
    s->g = g;
    s->space = space;
    arena_init(&s->arena);
    s->actor = actor_ref(who->actor);
    s->expires_ms = who->actor->people[0].expires_ms;
    gw_session_await_expiry(g, s->expires_ms);
    s->source = arena_str(&s->arena, source);
    s->log_level = protocol_log_level(STR("info"));
    list_init(&s->requests);
    list_init(&s->asks);
    list_init(&s->connections);
    list_init(&s->watches);
    list_init(&s->logs);
    s->general = gw_log_new(s);
    map_put(&g->sessions, str_from(s->id), s);
    list_push(&g->lru, &s->node);
    s->used_ms = clock_mono_ms();
    if (!timer_active(&g->sweep))
        timer_start(&g->sweep, SWEEP_MS);
    return s;
}

void gw_session_end(struct gw_session *s)
{
    struct gateway_pipe *pipe = s->pipe;
    struct gw_session *found = map_del(&s->g->sessions, str_from(s->id));
    assert(found == s); /* ended once */
    s->pipe = NULL;
    list_del(&s->node);
    LIST_FOREACH (n, &s->requests)
        gw_request_cancel(LIST_ENTRY(n, struct gw_request, peer));
    gw_ask_drop_all(s);
    gw_watch_drop_session(s);
    session_connection_drop_all(s);
    LIST_FOREACH (n, &s->logs)
        gw_log_free(LIST_ENTRY(n, struct gw_log, node));
    assert(list_empty(&s->requests) && s->nrequests == 0);
    assert(list_empty(&s->asks) && list_empty(&s->connections));
    assert(s->nwatches == 0 && s->nlogs == 0 && s->log_bytes == 0);
    actor_unref(s->actor);
    arena_done(&s->arena);
    free(s);
    if (pipe)
        gw_pipe_session_ended(pipe);
}

static bool is_idle(const struct gw_session *s)
{
    if (!list_empty(&s->requests) || s->pipe)
        return false;
    return !s->general->reader;
}

void gw_session_sweep(void *gateway)
{
    struct gateway *g = gateway;
    uint64_t now = clock_mono_ms();
    LIST_EACH (s, &g->lru, struct gw_session, node) {
        if (now - s->used_ms < g->deps.limits.session_ttl_ms)
            break;
        if (is_idle(s))
            gw_session_end(s);
    }
    if (map_len(&g->sessions) > 0)
        timer_start(&g->sweep, SWEEP_MS);
}

static void session_touch(struct gw_session *s)
{
    s->used_ms = clock_mono_ms();
    list_del(&s->node);
    list_push(&s->g->lru, &s->node);
}

static bool is_same_credential(const struct actor *a, const struct actor *b)
{
    return str_eq(actor_user(a), actor_user(b)) && str_eq(actor_token(a), actor_token(b));
}

/* A session belongs to the credential that opened it; for all other credentials it does not
 * exist. */
struct gw_session *gw_session_find(struct gateway *g, str id, const struct gateway_caller *who,
                                   str source)
{
    struct gw_session *s = map_get(&g->sessions, id);
    if (!s || !is_same_credential(s->actor, who->actor) || s->space->tools != who->tools ||
        !str_eq(s->source, source))
        return NULL;
    if (str_eq(s->actor->people[0].session_id, who->actor->people[0].session_id))
        s->expires_ms = who->actor->people[0].expires_ms; /* the same credential, or its renewal */
    gw_session_await_expiry(g, s->expires_ms);
    session_touch(s);
    return s;
}

bool gw_session_is(const struct gw_session *s, const char *version)
{
    return str_cmp(s->version, str_from(version)) >= 0;
}

/* ---- sending ---- */

void gw_session_send(struct gw_session *s, str message)
{
    assert(!s->pipe || !s->is_http); /* one transport */
    if (s->pipe)
        gw_pipe_send(s->pipe, message);
    else if (s->is_http)
        gw_log_add(s->general, message);
}

void gw_session_notify(struct gw_session *s, const char *method, const struct json *params)
{
    struct buf *b = &s->g->scratch;
    buf_recycle(b, GW_SPARE_BYTES);
    rpc_write_notification(b, str_from(method), params);
    if (!buf_failed(b))
        gw_session_send(s, buf_str(b));
}

/* ---- the handshake ---- */

static str version_for(str asked)
{
    return protocol_era(asked) == MCP_ERA_LEGACY ? asked : STR(MCP_REVISION_LEGACY);
}

void gw_session_initialize(struct gw_session *s, struct gw_request *q)
{
    const struct json *params = q->params;
    const struct json *can = json_get(params, "capabilities");
    assert(q->session == s);
    if (s->version.n > 0 || !json_is(json_get(params, "protocolVersion"), JSON_STRING)) {
        gw_request_fail(q, RPC_INVALID_REQUEST, "%s",
                        s->version.n > 0 ? "This session is already initialized."
                                         : "initialize requires a protocolVersion.");
        return;
    }
    s->version = arena_str(&s->arena, version_for(json_get_string(params, "protocolVersion")));
    s->capabilities = json_is(can, JSON_OBJECT) ? json_clone(&s->arena, can) : NULL;
    s->client = arena_str(&s->arena, json_get_string(json_get(params, "clientInfo"), "name"));

    struct json_writer w;
    gw_write_begin(&w, q);
    jw_kstr(&w, "protocolVersion", s->version);
    jw_key(&w, "capabilities");
    gw_write_capabilities(&w, q);
    jw_key(&w, "serverInfo");
    gw_write_server_info(&w);
    gw_write_instructions(&w, q);
    jw_close(&w);
    gw_request_send(q);
}

/* ---- messages ---- */

/* Adds q to the requests of the session. False: q was answered with an error. */
static bool session_adopt(struct gw_session *s, struct gw_request *q)
{
    assert(!q->session); /* a request belongs to one session */
    q->session = s;
    q->capabilities = s->capabilities;
    q->log_level = s->log_level;
    if (s->nrequests >= GW_SESSION_REQUESTS) {
        gw_request_fail(q, RPC_INTERNAL_ERROR,
                        "Too many requests are in progress in this session.");
        return false;
    }
    list_push(&s->requests, &q->peer);
    s->nrequests++;
    return true;
}

static void session_noticed(struct gw_session *s, const struct rpc_message *m)
{
    if (str_eq(m->method, STR("notifications/cancelled"))) {
        struct gw_request *q = gw_request_find(&s->requests, json_get(m->params, "requestId"));
        if (q)
            gw_request_cancel(q);
    } else if (str_eq(m->method, STR("notifications/roots/list_changed"))) {
        session_connection_notify_all(s, m->method, m->params);
    }
}

void gw_session_message(struct gw_session *s, struct gw_request *q, const struct rpc_message *m)
{
    assert((m->kind == RPC_REQUEST) == (q != NULL));
    if (m->kind == RPC_NOTIFICATION) {
        session_noticed(s, m);
    } else if (m->kind != RPC_REQUEST) {
        gw_ask_answered(s, m);
    } else if (str_eq(m->method, STR("initialize"))) {
        q->session = s;
        gw_session_initialize(s, q);
    } else if (s->version.n == 0 && !str_eq(m->method, STR("ping"))) {
        gw_request_fail(q, RPC_INVALID_REQUEST, "Send initialize first.");
    } else if (session_adopt(s, q)) {
        gw_method_run(q);
    }
}
