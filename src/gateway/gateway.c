#include "gateway/gateway.h"

#include "base/bytes/random.h"
#include "gateway/session.h"

/* ---- workspaces ---- */

static void on_tools_changed(void *ctx, str source)
{
    gw_space_tell(ctx, GW_TOOLS);
}

static void on_tell(void *space)
{
    struct gw_space *s = space;
    unsigned changed = s->changed;
    s->changed = 0;
    for (int i = 0; i < GW_LISTS; i++) {
        if (changed & (1u << i))
            gw_listen_changed(s, (enum gw_list)i);
    }
}

void gw_space_tell(struct gw_space *s, enum gw_list what)
{
    s->changed |= 1u << what;
    defer_start(s->g->deps.loop, &s->tell);
}

static struct gw_space *space_find(struct gateway *g, const struct registry *tools)
{
    LIST_FOREACH (n, &g->spaces) {
        struct gw_space *s = LIST_ENTRY(n, struct gw_space, node);
        if (s->tools == tools)
            return s;
    }
    return NULL;
}

struct gw_space *gw_space_of(struct gateway *g, const struct gateway_caller *who)
{
    struct gw_space *s = space_find(g, who->tools);
    if (s) {
        s->bundles = who->bundles;
        s->runtime = who->runtime;
        return s;
    }
    s = xcalloc(1, sizeof *s);
    s->g = g;
    s->tools = who->tools;
    s->bundles = who->bundles;
    s->runtime = who->runtime;
    s->id = str_dup(who->workspace_id);
    list_init(&s->requests);
    list_init(&s->listens);
    list_init(&s->ups);
    list_init(&s->suspended);
    list_init(&s->tasks);
    map_init(&s->catalogs);
    map_init(&s->pools);
    map_init(&s->watches);
    defer_init(&s->tell, on_tell, s);
    s->observer = (struct registry_observer){.changed = on_tools_changed, .ctx = s};
    registry_observe(s->tools, &s->observer);
    list_push(&g->spaces, &s->node);
    if (!timer_active(&g->expiry))
        gw_session_expire(g);
    return s;
}

static void drop_sessions(struct gateway *g, const struct gw_space *of, str user_id)
{
    LIST_FOREACH (n, &g->lru) {
        struct gw_session *s = LIST_ENTRY(n, struct gw_session, node);
        if (s->space == of && (user_id.n == 0 || str_eq(actor_user(s->actor), user_id)))
            gw_session_end(s);
    }
}

static void drop_requests(struct gw_space *s, str user_id)
{
    for (struct list_node *n = s->requests.next; n != &s->requests;) {
        struct gw_request *q = LIST_ENTRY(n, struct gw_request, node);
        n = n->next;
        if (user_id.n == 0 || str_eq(actor_user(q->actor), user_id))
            gw_request_cancel(q);
    }
}

void gw_space_forget(struct gw_space *s)
{
    drop_sessions(s->g, s, STR_NONE);
    drop_requests(s, STR_NONE);
    suspended_drop_all(s, STR_NONE);
    gw_catalogs_done(s);
    private_connections_done(s);
    gw_watches_done(s);
    gw_tasks_done(s);
    gw_headers_done(s);
    defer_stop(&s->tell);
    registry_unobserve(&s->observer);
    list_del(&s->node);
    free(s->id);
    free(s);
}

void gateway_space_gone(struct gateway *g, const struct registry *tools)
{
    struct gw_space *s = space_find(g, tools);
    if (s)
        gw_space_forget(s);
}

void gateway_drop_user(struct gateway *g, str workspace_id, str user_id)
{
    LIST_FOREACH (n, &g->spaces) {
        struct gw_space *s = LIST_ENTRY(n, struct gw_space, node);
        if (workspace_id.n > 0 && !str_eq(str_from(s->id), workspace_id))
            continue;
        drop_sessions(g, s, user_id);
        drop_requests(s, user_id);
        suspended_drop_all(s, user_id);
    }
}

static bool is_of_login(const struct actor *a, str session_id, str token_id)
{
    return actor_has_session(a, session_id) || actor_has_token(a, token_id);
}

static struct gw_session *session_of_login(struct gateway *g, str session_id, str token_id)
{
    LIST_FOREACH (n, &g->lru) {
        struct gw_session *s = LIST_ENTRY(n, struct gw_session, node);
        if (is_of_login(s->actor, session_id, token_id))
            return s;
    }
    return NULL;
}

static struct gw_request *request_of_login(struct gw_space *s, str session_id, str token_id)
{
    LIST_FOREACH (n, &s->requests) {
        struct gw_request *q = LIST_ENTRY(n, struct gw_request, node);
        if (is_of_login(q->actor, session_id, token_id))
            return q;
    }
    return NULL;
}

/* Ending one session may end others, so each search starts again from the first. */
void gateway_drop_login(struct gateway *g, str session_id, str token_id)
{
    struct gw_session *s;
    struct gw_request *q;
    while ((s = session_of_login(g, session_id, token_id)) != NULL)
        gw_session_end(s);
    LIST_FOREACH (n, &g->spaces)
        while ((q = request_of_login(LIST_ENTRY(n, struct gw_space, node), session_id, token_id)))
            gw_request_cancel(q);
}

/* ---- notifications from bundles ---- */

static void bundle_removed(struct gw_space *s, struct bundle *b)
{
    gw_upstream_bundle_gone(s, b);
    LIST_FOREACH (n, &s->g->lru) {
        struct gw_session *one = LIST_ENTRY(n, struct gw_session, node);
        if (one->space == s)
            session_connection_bundle_gone(one, b);
    }
    private_connection_bundle_gone(s, b);
    gw_catalog_bundle_gone(s, b);
    gw_watch_bundle_gone(s, b);
}

void gateway_bundle_changed(struct gateway *g, struct registry *tools, struct bundle *b,
                            enum bundle_change what)
{
    struct gw_space *s = space_find(g, tools);
    if (!s)
        return;
    if (what == BUNDLE_RESOURCES) {
        gw_catalog_stale(s, b, GW_RESOURCES);
        gw_catalog_stale(s, b, GW_TEMPLATES);
        gw_space_tell(s, GW_RESOURCES);
    } else if (what == BUNDLE_PROMPTS) {
        gw_catalog_stale(s, b, GW_PROMPTS);
        gw_space_tell(s, GW_PROMPTS);
    } else if (what == BUNDLE_STATE && bundle_server_capabilities(b)) {
        for (int i = 0; i < GW_LISTS; i++)
            gw_catalog_stale(s, b, (enum gw_list)i);
        gw_watch_bundle_running(s, b);
    } else if (what == BUNDLE_REMOVED) {
        bundle_removed(s, b);
    }
}

void gateway_bundle_notified(struct gateway *g, struct registry *tools, struct bundle *b,
                             str method, const struct json *params)
{
    struct gw_space *s = space_find(g, tools);
    if (s && str_eq(method, STR("notifications/resources/updated")))
        gw_listen_updated(s, b, params);
}

/* ---- the gateway ---- */

static void set_limits(struct gateway_limits *l)
{
    l->sessions = l->sessions ? l->sessions : GATEWAY_SESSIONS_MAX;
    l->sessions_per_user = l->sessions_per_user ? l->sessions_per_user : GATEWAY_SESSIONS_USER;
    l->session_ttl_ms = l->session_ttl_ms ? l->session_ttl_ms : GATEWAY_SESSION_TTL_MS;
    l->answer_ttl_ms = l->answer_ttl_ms ? l->answer_ttl_ms : GATEWAY_ANSWER_TTL_MS;
    l->connections = l->connections ? l->connections : GATEWAY_CONNECTIONS_MAX;
}

struct gateway *gateway_new(const struct gateway_deps *deps)
{
    struct gateway *g = xcalloc(1, sizeof *g);
    g->deps = *deps;
    set_limits(&g->deps.limits);
    list_init(&g->spaces);
    list_init(&g->lru);
    list_init(&g->spare);
    map_init(&g->sessions);
    timer_init(&g->sweep, deps->loop, gw_session_sweep, g);
    timer_init(&g->expiry, deps->loop, gw_session_expire, g);
    random_bytes(g->key, sizeof g->key);
    metrics_init(&g->metrics);
    buf_init(&g->scratch, GW_MESSAGE_MAX);
    if (deps->audit_path)
        g->call_log = call_log_new(deps->loop, deps->pool, deps->log, deps->audit_path);
    return g;
}

void gateway_stop(struct gateway *g)
{
    LIST_FOREACH (n, &g->spaces)
        gw_space_forget(LIST_ENTRY(n, struct gw_space, node));
    timer_stop(&g->sweep);
    timer_stop(&g->expiry);
}

void gateway_free(struct gateway *g)
{
    if (!g)
        return;
    gateway_stop(g);
    struct list_node *n;
    while ((n = list_pop(&g->spare)) != NULL) {
        struct gw_request *q = LIST_ENTRY(n, struct gw_request, node);
        arena_done(&q->arena);
        free(q);
    }
    call_log_free(g->call_log);
    metrics_done(&g->metrics);
    map_done(&g->sessions);
    buf_done(&g->scratch);
    free(g);
}

void gateway_write_metrics(const struct gateway *g, struct buf *out)
{
    buf_printf(out,
               "# HELP nb_mcp_sessions Sessions of MCP clients.\n# TYPE nb_mcp_sessions gauge\n"
               "nb_mcp_sessions %zu\n",
               map_len(&g->sessions));
    metrics_write(&g->metrics, out);
}

/* ---- HTTP ---- */

static bool is_json(const struct http_req *r)
{
    str type = http_get_header(r, "content-type");
    ptrdiff_t end = str_find_char(type, ';');
    return str_eq_nocase(str_trim(end < 0 ? type : str_slice(type, 0, (size_t)end)),
                         STR("application/json"));
}

static bool is_modern(const struct http_req *r, const struct json *doc)
{
    str version = http_get_header(r, "mcp-protocol-version");
    const struct json *meta = json_get(json_get(doc, "params"), "_meta");
    if (http_has_header(r, "mcp-session-id") || doc->type != JSON_OBJECT)
        return false;
    return json_get(meta, META_VERSION) ||
           (version.n > 0 && protocol_era(version) != MCP_ERA_LEGACY);
}

static void post(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                 str source)
{
    struct gw_request *q = gw_request_make(gw_space_of(g, who), who, source);
    struct json *doc;
    struct rpc_message m = {0};
    struct err e = {0};
    str body = arena_str(&q->arena, r->body); /* a stream outlives the HTTP request */
    if (rpc_parse(&q->arena, body, &doc, &e) < 0) {
        gw_http_outlet_init(q, r);
        bool is_json_text = json_parse(&q->arena, body, 0, &doc, NULL) == 0;
        gw_request_fail_status(q, 400, is_json_text ? RPC_INVALID_REQUEST : RPC_PARSE_ERROR, NULL,
                               e.msg);
        return;
    }
    if (doc->type != JSON_ARRAY && rpc_classify(doc, &m, &e) < 0) {
        q->id = m.id;
        gw_http_outlet_init(q, r);
        gw_request_fail_status(q, 400, RPC_INVALID_REQUEST, NULL, e.msg);
        return;
    }
    if (is_modern(r, doc))
        gw_modern_post(q, r, &m);
    else
        gw_legacy_post(q, r, who, doc);
}

static void refuse_method(struct http_req *r)
{
    http_add_header(r, "Allow", STR("POST"));
    http_reply_error(r, 405, "method_not_allowed", "This protocol revision supports only POST.",
                     NULL);
}

bool gw_has_source(const struct gateway_caller *who, str source)
{
    size_t n;
    const str *all = registry_sources(who->tools, &n);
    for (size_t i = 0; i < n; i++) {
        if (str_eq(all[i], source))
            return true;
    }
    return who->bundles && bundles_find(who->bundles, source);
}

void gw_no_such_source(struct http_req *r)
{
    http_reply_error(r, 404, "not_found", "Unknown tool source.", NULL);
}

void gateway_handle(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                    str source)
{
    str version = http_get_header(r, "mcp-protocol-version");
    bool is_post = str_eq(r->method, STR("POST"));
    if (source.n > 0 && !gw_has_source(who, source))
        gw_no_such_source(r);
    else if (is_post && !is_json(r))
        http_reply_error(r, 415, "unsupported_media_type", "Content-Type must be application/json.",
                         NULL);
    else if (is_post)
        post(g, r, who, source);
    else if (!http_has_header(r, "mcp-session-id") && protocol_era(version) == MCP_ERA_MODERN)
        refuse_method(r);
    else if (str_eq(r->method, STR("DELETE")))
        gw_legacy_delete(g, r, who, source);
    else
        gw_legacy_get(g, r, who, source);
}
