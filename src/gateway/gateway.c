#include "gateway/gateway.h"

#include <assert.h>

#include "base/bytes/random.h"
#include "gateway/gateway_impl.h"
#include "gateway/request.h"
#include "gateway/session.h"

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
    assert(deps->loop && (!deps->audit_path || deps->pool));
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
    assert(list_empty(&g->spaces) && map_len(&g->sessions) == 0 && g->nsuspended == 0);
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
