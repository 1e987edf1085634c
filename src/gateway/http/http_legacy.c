#include <assert.h>

#include "gateway/http/http.h"
#include "gateway/http/session_log.h"
#include "gateway/methods/method.h"
#include "gateway/session.h"

static void accepted(struct gw_request *q)
{
    struct http_req *r = q->http;
    assert(r && !q->session);
    q->http = NULL;
    r->on_gone = NULL;
    http_reply(r, 202, NULL, STR_NONE);
    gw_request_free(q);
}

/* Old scripts list and call tools without a handshake. */
static bool is_stateless(str method)
{
    return str_eq(method, STR("tools/list")) || str_eq(method, STR("tools/call")) ||
           str_eq(method, STR("ping"));
}

static bool version_ok(const struct http_req *r)
{
    str v = http_get_header(r, "mcp-protocol-version");
    return v.n == 0 || protocol_era(v) == MCP_ERA_LEGACY;
}

/* ---- batches (2025-03-26) ---- */

static void run_batch(struct gw_request *carrier, struct gw_session *s,
                      const struct gateway_caller *who, struct json *list)
{
    struct gw_log *log = NULL;
    struct http_req *r = carrier->http;
    /* Opening the stream frees the HTTP request and with it the description of the caller, so copy
     * it. */
    struct gateway_caller kept = *who;
    kept.actor = carrier->actor;
    for (uint32_t i = 0; i < list->len; i++) {
        struct rpc_message m;
        struct gw_request *q = gw_request_make(s->space, &kept, s->source);
        struct json *copy = json_clone(&q->arena, &list->items[i]);
        bool is_ok = rpc_classify(copy, &m, NULL) == 0 && !str_eq(m.method, STR("initialize"));
        if (!is_ok || m.kind != RPC_REQUEST) {
            if (is_ok)
                gw_session_message(s, NULL, &m);
            gw_request_free(q);
            continue;
        }
        if (!log) {
            log = gw_log_new(s);
            log->pending = 1; /* until all requests of the batch have started */
            http_add_header(r, "Mcp-Session-Id", str_from(s->id));
            gw_log_attach(log, r);
            carrier->http = NULL;
        }
        gw_request_set(q, &m, MCP_ERA_LEGACY);
        q->out = &GW_OUT_HTTP;
        q->log = log;
        q->takes_stream = true;
        log->pending++;
        gw_session_message(s, q, &m);
    }
    if (!log) {
        accepted(carrier);
        return;
    }
    assert(!carrier->http && log->session == s);
    gw_log_over(log);
    gw_request_free(carrier);
}

/* ---- POST ---- */

static void post_in_session(struct gw_request *q, struct gw_session *s,
                            const struct gateway_caller *who, struct json *doc)
{
    struct rpc_message m;
    if (doc->type == JSON_ARRAY) {
        bool may = str_eq(s->version, STR(MCP_REVISION_BATCH)) && doc->len > 0 &&
                   doc->len <= RPC_BATCH_MAX && q->takes_stream;
        if (may)
            run_batch(q, s, who, doc);
        else
            gw_request_fail_status(q, 400, RPC_INVALID_REQUEST, NULL,
                                   "This protocol revision does not support batches.");
        return;
    }
    (void)rpc_classify(doc, &m, NULL);
    if (m.kind != RPC_REQUEST) {
        gw_session_message(s, NULL, &m);
        accepted(q);
        return;
    }
    gw_session_message(s, q, &m);
}

static void initialize(struct gw_request *q, const struct gateway_caller *who)
{
    if (!gw_session_make_room(q->g, who)) {
        gw_request_fail_status(q, 429, -32000, NULL, GW_TOO_MANY_SESSIONS);
        return;
    }
    struct gw_session *s = gw_session_new(q->space, who, q->source);
    s->is_http = true;
    q->session = s;
    gw_session_initialize(s, q);
    if (s->version.n == 0)
        gw_session_end(s);
}

void gw_legacy_post(struct gw_request *q, struct http_req *r, const struct gateway_caller *who,
                    struct json *doc)
{
    struct rpc_message m = {0};
    str id = http_get_header(r, "mcp-session-id");
    struct gw_session *s = id.n > 0 ? gw_session_find(q->g, id, who, q->source) : NULL;
    if (doc->type == JSON_OBJECT && rpc_classify(doc, &m, NULL) == 0)
        gw_request_set(q, &m, MCP_ERA_LEGACY);
    q->era = MCP_ERA_LEGACY;
    gw_http_sink_init(q, r);
    if (!version_ok(r))
        gw_request_fail_status(q, 400, RPC_INVALID_REQUEST, NULL,
                               "MCP-Protocol-Version names an unknown protocol revision.");
    else if (id.n > 0 && !s)
        gw_request_fail_status(q, 404, -32000, NULL,
                               "No such session. Send initialize without Mcp-Session-Id.");
    else if (s)
        post_in_session(q, s, who, doc);
    else if (doc->type == JSON_ARRAY)
        gw_request_fail_status(q, 400, RPC_INVALID_REQUEST, NULL, "A batch needs a session.");
    else if (m.kind == RPC_REQUEST && str_eq(m.method, STR("initialize")))
        initialize(q, who);
    else if (m.kind == RPC_REQUEST && is_stateless(m.method))
        gw_method_run(q);
    else
        gw_request_fail_status(q, 400, -32000, NULL,
                               "Mcp-Session-Id is missing. Send initialize first.");
}

/* ---- GET, DELETE ---- */

static struct gw_session *find_or_refuse(struct gateway *g, struct http_req *r,
                                         const struct gateway_caller *who, str source)
{
    str id = http_get_header(r, "mcp-session-id");
    struct gw_session *s = id.n > 0 ? gw_session_find(g, id, who, source) : NULL;
    if (s && version_ok(r))
        return s;
    if (id.n > 0 && !s)
        http_reply_error(r, 404, "session_not_found", "No such session.", NULL);
    else
        http_reply_error(r, 400, "bad_request",
                         "Mcp-Session-Id is missing, or MCP-Protocol-Version is unknown.", NULL);
    return NULL;
}

void gw_legacy_get(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                   str source)
{
    if (str_find_nocase(http_get_header(r, "accept"), STR("text/event-stream")) < 0) {
        http_reply_error(r, 406, "not_acceptable", "Accept must name text/event-stream.", NULL);
        return;
    }
    struct gw_session *s = find_or_refuse(g, r, who, source);
    if (s)
        gw_log_read(s, r, http_get_header(r, "last-event-id"));
}

void gw_legacy_delete(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                      str source)
{
    struct gw_session *s = find_or_refuse(g, r, who, source);
    if (!s)
        return;
    gw_session_end(s);
    http_reply(r, 204, NULL, STR_NONE);
}
