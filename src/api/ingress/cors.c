#include "api/ingress/cors.h"

static void add_cors(struct http_req *r, const struct guard_rules *g)
{
    str origin = http_get_header(r, "origin");
    if (g->origins.len == 0)
        return;
    http_add_header(r, "Vary", STR("Origin"));
    if (!guard_origin_listed(origin, g))
        return;
    http_add_header(r, "Access-Control-Allow-Origin", origin);
    http_add_header(r, "Access-Control-Allow-Credentials", STR("true"));
    http_add_header(r, "Access-Control-Expose-Headers",
                    STR("Mcp-Session-Id, Mcp-Protocol-Version, X-Request-Id"));
}

static bool is_preflight(const struct http_req *r, const struct guard_rules *g)
{
    return str_eq(r->method, STR("OPTIONS")) &&
           http_has_header(r, "access-control-request-method") &&
           guard_origin_listed(http_get_header(r, "origin"), g);
}

static void reply_preflight(struct http_req *r)
{
    http_add_header(r, "Access-Control-Allow-Methods",
                    STR("GET, POST, PUT, PATCH, DELETE, OPTIONS"));
    http_add_header(r, "Access-Control-Allow-Headers",
                    STR("Content-Type, Authorization, Mcp-Session-Id, Last-Event-ID, "
                        "Mcp-Protocol-Version, X-Workspace-Id, X-Preferred-Workspace, X-Api-Key, "
                        "Anthropic-Version"));
    http_add_header(r, "Access-Control-Max-Age", STR("600"));
    http_reply(r, 204, NULL, STR_NONE);
}

bool cors_answers(struct http_req *r, const struct guard_rules *rules)
{
    add_cors(r, rules);
    if (!is_preflight(r, rules))
        return false;
    reply_preflight(r);
    return true;
}
