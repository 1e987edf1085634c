#include "gateway/request.h"

#include <assert.h>

#include "base/clock.h"
#include "gateway/session.h"
#include "gateway/write.h"

#define SPARE_MAX   128 /* freed requests that are kept with their memory */
#define SPARE_BYTES (16u * 1024)

/* ---- life ---- */

static struct gw_request *request_alloc(struct gateway *g)
{
    struct list_node *n = list_pop(&g->spare);
    if (!n)
        return xcalloc(1, sizeof(struct gw_request));
    assert(g->nspare > 0);
    g->nspare--;
    struct gw_request *q = LIST_ENTRY(n, struct gw_request, node);
    struct arena kept = q->arena;
    *q = (struct gw_request){.arena = kept};
    return q;
}

struct gw_request *gw_request_make(struct gw_space *s, const struct gateway_caller *who, str source)
{
    struct gw_request *q = request_alloc(s->g);
    assert(who->actor && who->actor->npeople > 0);
    q->g = s->g;
    q->space = s;
    q->actor = actor_ref(who->actor);
    q->expires_ms = who->actor->people[0].expires_ms;
    q->permissions = who->permissions;
    q->source = arena_str(&q->arena, source);
    q->log_level = -1;
    q->began_us = clock_mono_us();
    list_push(&s->requests, &q->node);
    list_init(&q->peer);
    return q;
}

void gw_request_set(struct gw_request *q, const struct rpc_message *m, enum mcp_era era)
{
    q->era = era;
    q->id = m->id;
    q->method = m->method;
    q->params = m->params;
    q->progress_token = json_get(json_get(m->params, "_meta"), MCP_PROGRESS_TOKEN);
    if (q->progress_token && q->progress_token->type != JSON_STRING &&
        q->progress_token->type != JSON_INT)
        q->progress_token = NULL;
}

void gw_request_free(struct gw_request *q)
{
    struct gateway *g = q->g;
    assert(q->actor); /* freed once */
    if (timer_active(&q->quiet))
        timer_stop(&q->quiet);
    list_del(&q->node);
    if (q->session && !list_empty(&q->peer)) {
        assert(q->session->nrequests > 0);
        q->session->nrequests--;
    }
    list_del(&q->peer);
    q->actor = actor_unref(q->actor);
    if (g->nspare >= SPARE_MAX || q->arena.total > SPARE_BYTES) {
        arena_done(&q->arena);
        free(q);
        return;
    }
    arena_reset(&q->arena);
    list_push_front(&g->spare, &q->node);
    g->nspare++;
}

void gw_request_cancel(struct gw_request *q)
{
    assert(q->out); /* a request that waits for something has a way to its client */
    if (q->on_cancel)
        q->on_cancel(q);
    gw_request_called(q, "cancelled");
    q->out->end(q);
    gw_request_free(q);
}

struct gw_request *gw_request_find(struct list_node *peers, const struct json *id)
{
    LIST_EACH (q, peers, struct gw_request, peer)
        if (q->id && id && q->id->type == id->type && json_equal(q->id, id))
            return q;
    return NULL;
}

struct bundle *gw_request_bundle(const struct gw_request *q)
{
    if (q->source.n == 0 || !q->space->bundles ||
        !tool_selection_may_use_source(q->actor, q->source))
        return NULL;
    return bundles_find(q->space->bundles, q->source);
}

struct bundle *gw_request_next_bundle(const struct gw_request *q, size_t *at)
{
    struct bundles *set = q->space->bundles;
    while (set && *at < bundles_count(set)) {
        struct bundle *b = bundles_at(set, (*at)++);
        str name = bundle_entry(b)->server_name;
        if ((q->source.n == 0 || str_eq(name, q->source)) &&
            tool_selection_may_use_source(q->actor, name))
            return b;
    }
    return NULL;
}

void gw_request_called(struct gw_request *q, const char *outcome)
{
    uint64_t took = clock_mono_us() - q->began_us;
    struct call_log_entry e = {
        .user_id = actor_user(q->actor),
        .workspace_id = str_from(q->space->id),
        .tool = q->tool,
        .client = q->session ? q->session->client : q->client,
        .outcome = outcome,
        .took_us = took,
    };
    if (q->tool.n == 0)
        return;
    metrics_add(&q->g->metrics, q->tool, outcome, took);
    if (q->g->call_log)
        call_log_add(q->g->call_log, &e);
    q->tool = STR_NONE;
}

/* ---- responses ---- */

static struct buf *scratch(struct gw_request *q)
{
    buf_recycle(&q->g->scratch, GW_SPARE_BYTES);
    return &q->g->scratch;
}

/* A modern client reads the kind of error from the HTTP status, as long as no status has been
 * sent. */
static int status_of(const struct gw_request *q, int64_t code)
{
    if (q->era != MCP_ERA_MODERN)
        return 200;
    if (code == RPC_METHOD_NOT_FOUND)
        return 404;
    return protocol_is_modern_error(code) ? 400 : 200;
}

static void begin_error(struct gw_request *q, struct json_writer *w, int64_t code, str message)
{
    jw_init(w, scratch(q));
    gw_write_envelope(w, q->id);
    jw_kobject(w, "error");
    jw_kint(w, "code", code);
    jw_kstr(w, "message", message);
}

static void request_finish(struct gw_request *q, int status)
{
    struct buf *b = &q->g->scratch;
    assert(q->out && !q->on_cancel); /* nothing may be in progress behind a response */
    if (buf_failed(b)) {
        struct json_writer w;
        begin_error(q, &w, RPC_INTERNAL_ERROR, STR("The response is too large."));
        jw_close(&w);
    }
    q->out->answer(q, status, buf_str(b));
    if (b->cap > 1024u * 1024)
        buf_reset(b);
    gw_request_free(q);
}

void gw_request_send(struct gw_request *q)
{
    request_finish(q, 200);
}

void gw_request_result(struct gw_request *q, const struct json *result, enum mcp_era from)
{
    struct json_writer w;
    struct gw_result how = {.to = q->era, .from = from, .method = q->method};
    jw_init(&w, scratch(q));
    gw_write_envelope(&w, q->id);
    jw_key(&w, "result");
    gw_write_result(&w, &how, result);
    jw_end(&w);
    request_finish(q, 200);
}

void gw_request_tool_result(struct gw_request *q, const struct tool_result *r, const char *outcome)
{
    struct arena *a = &q->arena;
    struct json *result = json_new(a, JSON_OBJECT);
    json_set(a, result, STR("content"), r->content ? *r->content : *json_new(a, JSON_ARRAY));
    if (r->structured)
        json_set(a, result, STR("structuredContent"), *r->structured);
    if (r->meta)
        json_set(a, result, STR("_meta"), *r->meta);
    if (r->is_error)
        json_set(a, result, STR("isError"), json_of_bool(true));
    gw_request_called(q, outcome ? outcome : r->is_error ? "tool_error" : "ok");
    gw_request_result(q, result, MCP_ERA_LEGACY);
}

void gw_request_empty(struct gw_request *q)
{
    struct json none = {.type = JSON_OBJECT};
    gw_request_result(q, &none, MCP_ERA_LEGACY);
}

void gw_request_fail_status(struct gw_request *q, int status, int code, const struct json *data,
                            const char *message)
{
    struct json_writer w;
    begin_error(q, &w, code, str_from(message));
    if (data)
        jw_kval(&w, "data", data);
    jw_close(&w);
    request_finish(q, status);
}

void gw_request_fail_data(struct gw_request *q, int code, const struct json *data, const char *fmt,
                          ...)
{
    va_list ap;
    va_start(ap, fmt);
    str message = arena_vprintf(&q->arena, fmt, ap);
    va_end(ap);
    gw_request_fail_status(q, status_of(q, code), code, data, message.p);
}

/* The eras use different error codes for a resource that does not exist. */
static int64_t code_for(const struct gw_request *q, int64_t code, enum mcp_era from)
{
    bool is_read = str_eq(q->method, STR("resources/read"));
    if (is_read && code == -32002 && q->era == MCP_ERA_MODERN)
        return RPC_INVALID_PARAMS;
    if (is_read && code == RPC_INVALID_PARAMS && q->era == MCP_ERA_LEGACY && from == MCP_ERA_MODERN)
        return -32002;
    return code;
}

void gw_request_error(struct gw_request *q, const struct json *error, enum mcp_era from)
{
    struct json_writer w;
    int64_t code = json_get_int(error, "code", RPC_INTERNAL_ERROR);
    int64_t shown = code_for(q, code, from);
    begin_error(q, &w, shown, json_get_string(error, "message"));
    const struct json *data = json_get(error, "data");
    if (data) {
        jw_kval(&w, "data", data);
    } else if (shown != code) {
        jw_kobject(&w, "data");
        jw_kstr(&w, "uri", json_get_string(q->params, "uri"));
        jw_end(&w);
    }
    jw_close(&w);
    request_finish(q, status_of(q, shown));
}

/* ---- messages before the response ---- */

void gw_request_notify_begin(struct gw_request *q, struct json_writer *w, const char *method)
{
    jw_init(w, scratch(q));
    jw_object(w);
    jw_kstr(w, "jsonrpc", STR("2.0"));
    jw_kstr(w, "method", str_from(method));
    jw_kobject(w, "params");
}

bool gw_request_notify_end(struct gw_request *q, struct json_writer *w)
{
    jw_close(w);
    return !buf_failed(w->out) && q->out->emit(q, buf_str(w->out));
}

void gw_request_progress(struct gw_request *q, const struct json *params)
{
    struct json_writer w;
    if (!q->progress_token)
        return;
    gw_request_notify_begin(q, &w, "notifications/progress");
    jw_kval(&w, MCP_PROGRESS_TOKEN, q->progress_token);
    gw_write_members(&w, params, MCP_PROGRESS_TOKEN);
    (void)gw_request_notify_end(q, &w);
}

void gw_request_log(struct gw_request *q, const struct json *params)
{
    struct json_writer w;
    if (q->log_level < 0) /* lower levels than the client named do not come here (mcp_request) */
        return;
    gw_request_notify_begin(q, &w, "notifications/message");
    gw_write_members(&w, params, NULL);
    (void)gw_request_notify_end(q, &w);
}

/* ---- capabilities of clients ---- */

bool gw_client_is_interactive(const struct json *capabilities)
{
    return json_get(capabilities, "sampling") || json_get(capabilities, "elicitation") ||
           json_get(capabilities, "roots");
}
