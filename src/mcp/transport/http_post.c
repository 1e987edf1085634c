/* http_post.c - one message to a server over Streamable HTTP.
 *
 * The answer is an object or a stream of events. When a stream of the legacy era breaks before the
 * answer, it is resumed with a GET after the delay that the server named. After "429 Too Many
 * Requests" the same message is sent again later. When the server has forgotten the session, the
 * message waits until there is a new session. */
#include <assert.h>
#include <errno.h>

#include "base/str.h"
#include "mcp/transport/param_headers.h"
#include "mcp/transport/transport_http.h"

#define RESUMES_MAX     5 /* attempts in a row that received nothing */
#define PACE_MS         1000
#define PACE_MAX_MS     30000
#define LINGER_MS       2000 /* how long a stream may stay open after its answer */
#define PACED_NOTES_MAX 5
#define CHALLENGE_MAX   4096

struct http_post {
    struct http_transport *t;
    struct list_node node;
    struct arena mem;
    int64_t id;
    enum mcp_era era;
    bool is_initialize, is_tool_call, is_answered, is_parked, was_parked, is_resuming;
    str text;
    struct fetch_header *headers; /* those of this message */
    size_t nheaders;
    struct wire *wire;
    struct timer later;
    struct buf last_id;
    str challenge; /* of a 401 or 403, in mem */
    uint64_t retry_ms, pace_ms;
    unsigned resumes, paced;
};

static void post_start(void *post);
static void post_resume(void *post);

static void post_free(void *post)
{
    struct http_post *p = post;
    list_del(&p->node);
    timer_stop(&p->later);
    wire_stop(p->wire);
    buf_done(&p->last_id);
    arena_done(&p->mem);
    free(p);
}

struct http_post *http_post_find(struct http_transport *t, int64_t id)
{
    LIST_EACH (p, &t->posts, struct http_post, node)
        if (p->id == id && id != 0 && !p->is_answered)
            return p;
    return NULL;
}

/* The owner may free the whole transport in an event, so look the post up again. The owner no
 * longer wants a post that it has not released by then. */
static void post_leave(struct http_transport *t, int64_t id)
{
    struct http_post *p = t->is_freed ? NULL : http_post_find(t, id);
    if (p)
        post_free(p);
    http_leave(t);
}

static void lose(struct http_post *p, const struct err *e)
{
    struct http_transport *t = p->t;
    int64_t id = p->id;
    http_enter(t);
    if (id == 0)
        post_free(p);
    else
        t->base.ev->lost(t->base.ctx, id, e);
    post_leave(t, id);
}

void http_post_release(struct http_post *p, bool was_answered)
{
    assert(!p->is_answered); /* released once */
    if (!was_answered || !p->wire) {
        post_free(p);
        return;
    }
    /* Most servers end the stream now; waiting for that lets the connection be reused. */
    p->is_answered = true;
    timer_init(&p->later, p->t->loop, post_free, p);
    timer_start(&p->later, LINGER_MS);
}

/* ---- streams ---- */

static void on_post_head(void *ctx, int status, bool is_stream, const struct fetch_header *headers,
                         size_t n)
{
    struct http_post *p = ctx;
    if (p->is_initialize && status >= 200 && status < 300)
        http_take_session(p->t, wire_header(headers, n, "mcp-session-id"));
    if (status == 401 || status == 403)
        p->challenge = arena_str(
            &p->mem, str_slice(wire_header(headers, n, "www-authenticate"), 0, CHALLENGE_MAX));
    if (status == 429) {
        uint64_t seconds;
        if (parse_u64(str_trim(wire_header(headers, n, "retry-after")), &seconds) == 0)
            p->pace_ms = seconds < PACE_MAX_MS / 1000 ? seconds * 1000 : PACE_MAX_MS;
    }
}

static void on_post_event(void *ctx, const struct sse_event *ev)
{
    struct http_post *p = ctx;
    struct http_transport *t = p->t;
    p->resumes = 0;
    if (ev->retry_ms >= 0)
        p->retry_ms = wire_retry_ms(ev);
    buf_clear(&p->last_id);
    (void)buf_add_str(&p->last_id, ev->id);
    if (ev->data.n > 0 && str_eq(ev->event, STR("message")))
        t->base.ev->message(t->base.ctx, p->id, ev->data);
}

static bool can_resume(const struct http_post *p)
{
    return p->id > 0 && p->era == MCP_ERA_LEGACY && p->last_id.n > 0 && p->resumes < RESUMES_MAX;
}

static void resume_later(struct http_post *p)
{
    assert(!p->wire && p->resumes < RESUMES_MAX);
    p->resumes++;
    p->is_resuming = true;
    timer_init(&p->later, p->t->loop, post_resume, p);
    timer_start(&p->later, p->retry_ms);
}

/* ---- the end of one HTTP request ---- */

static void send_later(struct http_post *p)
{
    struct http_transport *t = p->t;
    if (p->id == 0 && ++p->paced > PACED_NOTES_MAX) {
        post_free(p);
        return;
    }
    timer_init(&p->later, t->loop, post_start, p);
    timer_start(&p->later, p->pace_ms);
    p->pace_ms = p->pace_ms * 2 < PACE_MAX_MS ? p->pace_ms * 2 + 1 : PACE_MAX_MS;
    if (p->id > 0)
        t->base.ev->alive(t->base.ctx, p->id);
}

static void park(struct http_post *p)
{
    struct http_transport *t = p->t;
    assert(!p->is_parked && !p->was_parked && !p->wire); /* one message waits for one session */
    p->is_parked = p->was_parked = true;
    if (p->id == 0)
        post_free(p); /* the new session would not know this message */
    http_session_gone(t);
}

static void post_refuse(struct http_post *p, int status, str body)
{
    struct http_transport *t = p->t;
    int64_t id = p->id;
    http_enter(t);
    if (id == 0)
        post_free(p);
    else
        t->base.ev->refused(t->base.ctx, id, status, body, p->challenge);
    post_leave(t, id);
}

static bool is_session_unknown(const struct http_post *p, int status)
{
    return status == 404 && p->era == MCP_ERA_LEGACY && p->t->session.n > 0 && !p->is_initialize &&
           !p->was_parked && p->id != OUTGOING_INITIALIZED;
}

static void lose_unanswered(struct http_post *p)
{
    struct err e;
    err_set(&e, -ECONNRESET, "the server ended its response before it was complete");
    lose(p, &e);
}

/* The body should hold the answer; the owner releases the post when it receives it. */
static void take_body(struct http_post *p, str body)
{
    struct http_transport *t = p->t;
    int64_t id = p->id;
    http_enter(t);
    t->base.ev->message(t->base.ctx, id, body);
    p = t->is_freed ? NULL : http_post_find(t, id);
    if (p)
        lose_unanswered(p);
    http_leave(t);
}

static void end_success(struct http_post *p, str body)
{
    struct http_transport *t = p->t;
    if (p->id == OUTGOING_INITIALIZED) {
        post_free(p);
        http_initialized(t);
    } else if (p->id == 0) {
        post_free(p);
    } else if (body.n > 0) {
        take_body(p, body);
    } else {
        lose_unanswered(p);
    }
}

static void end_resumed(struct http_post *p, int status, const struct err *err)
{
    struct err e = {0};
    if (err->code != 0) /* the request was sent, even if the server cannot be reached now */
        err_set(&e, err->code == -ETIMEDOUT ? err->code : -ECONNRESET, "%s", err->msg);
    else
        err_set(&e, -ECONNRESET, "the response stream broke and cannot be resumed (HTTP status %d)",
                status);
    lose(p, &e);
}

static void on_post_end(void *ctx, int status, str body, const struct err *err)
{
    struct http_post *p = ctx;
    assert(p->wire && !p->is_parked);
    p->wire = NULL;
    bool is_success = status >= 200 && status < 300;
    if (p->is_answered)
        post_free(p);
    else if (can_resume(p) && (is_success || (p->is_resuming && (status == 0 || status >= 500))))
        resume_later(p);
    else if (p->is_resuming)
        end_resumed(p, status, err);
    else if (err->code != 0)
        lose(p, err);
    else if (status == 429)
        send_later(p);
    else if (is_session_unknown(p, status))
        park(p);
    else if (!is_success)
        post_refuse(p, status, body);
    else
        end_success(p, body);
}

static const struct wire_events WIRE_EVENTS = {on_post_head, on_post_event, on_post_end};

/* ---- sending ---- */

static void post_resume(void *post)
{
    struct http_post *p = post;
    assert(!p->wire && !p->is_answered && p->last_id.n > 0 && p->era == MCP_ERA_LEGACY);
    p->wire = http_open_stream(p->t, buf_str(&p->last_id), &WIRE_EVENTS, p);
}

static void post_start(void *post)
{
    struct http_post *p = post;
    struct http_transport *t = p->t;
    struct fetch_header h[HTTP_HEADERS_MAX];
    size_t n = 0;
    assert(!p->wire && !p->is_answered);
    p->is_parked = false;
    http_common_headers(t, p->era, p->is_initialize, h, &n);
    h[n++] = (struct fetch_header){STR("Content-Type"), STR("application/json")};
    h[n++] = (struct fetch_header){STR("Accept"), STR("application/json, text/event-stream")};
    for (size_t i = 0; i < p->nheaders && n < HTTP_HEADERS_MAX; i++)
        h[n++] = p->headers[i];
    struct fetch_spec s = {.method = "POST", .url = t->dial.url, .headers = h, .nheaders = n};
    s.body = p->text;
    s.has_body = true;
    s.flags = t->dial.fetch_flags | FETCH_FOLLOW_SAME_ORIGIN | (p->is_tool_call ? FETCH_ONCE : 0);
    p->wire = wire_start(t->fetcher, &s, &WIRE_EVENTS, p);
}

void http_post_resend_parked(struct http_transport *t)
{
    LIST_EACH (p, &t->posts, struct http_post, node)
        if (p->is_parked)
            post_start(p);
}

void http_post_free_all(struct http_transport *t)
{
    while (!list_empty(&t->posts))
        post_free(LIST_ENTRY(t->posts.next, struct http_post, node));
}

static void add_header(struct http_post *p, str name, str value)
{
    p->headers[p->nheaders++] =
        (struct fetch_header){arena_str(&p->mem, name), arena_str(&p->mem, value)};
}

static void add_modern_headers(struct http_post *p, const struct outgoing *m)
{
    size_t nparams = m->headers ? m->headers->n : 0;
    p->headers = arena_array(&p->mem, nparams + 2, sizeof(*p->headers));
    add_header(p, STR("Mcp-Method"), m->method);
    const char *member = protocol_name_member(m->method);
    const struct json *name = member ? json_get(m->params, member) : NULL;
    if (json_is(name, JSON_STRING))
        add_header(p, STR("Mcp-Name"), header_value_encode(&p->mem, name->s));
    for (size_t i = 0; i < nparams; i++) {
        const struct param_header *ph = &m->headers->items[i];
        str value;
        if (param_header_value(&p->mem, ph, json_get(m->params, "arguments"), &value))
            add_header(p, arena_concat(&p->mem, STR("Mcp-Param-"), ph->name), value);
    }
}

void http_post_send(struct http_transport *t, const struct outgoing *m)
{
    struct http_post *p = xcalloc(1, sizeof(*p));
    p->t = t;
    p->id = m->id;
    p->era = m->era;
    p->text = arena_str(&p->mem, m->text);
    p->is_initialize = str_eq(m->method, STR("initialize"));
    p->is_tool_call = str_eq(m->method, STR("tools/call"));
    p->retry_ms = t->dial.reconnect.initial_ms; /* unless a stream names another */
    p->pace_ms = PACE_MS;
    buf_init(&p->last_id, SSE_NAME_MAX);
    timer_init(&p->later, t->loop, post_start, p);
    if (m->era == MCP_ERA_MODERN && m->method.n > 0)
        add_modern_headers(p, m);
    list_push(&t->posts, &p->node);
    if (t->is_renewing && p->era == MCP_ERA_LEGACY && p->id > 0 && !p->is_initialize)
        p->is_parked = true;
    else
        post_start(p);
}
