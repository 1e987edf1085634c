#include "gateway/http/http.h"

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
        gw_http_sink_init(q, r);
        bool is_json_text = json_parse(&q->arena, body, 0, &doc, NULL) == 0;
        gw_request_fail_status(q, 400, is_json_text ? RPC_INVALID_REQUEST : RPC_PARSE_ERROR, NULL,
                               e.msg);
        return;
    }
    if (doc->type != JSON_ARRAY && rpc_classify(doc, &m, &e) < 0) {
        q->id = m.id;
        gw_http_sink_init(q, r);
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

static bool is_source(const struct gateway_caller *who, str source)
{
    size_t n;
    const str *all = registry_sources(who->tools, &n);
    return str_in(source, all, n) || (who->bundles && bundles_find(who->bundles, source));
}

bool gw_http_has_source(struct http_req *r, const struct gateway_caller *who, str source)
{
    if (source.n == 0 || is_source(who, source))
        return true;
    http_reply_error(r, 404, "not_found", "Unknown tool source.", NULL);
    return false;
}

void gateway_handle(struct gateway *g, struct http_req *r, const struct gateway_caller *who,
                    str source)
{
    str version = http_get_header(r, "mcp-protocol-version");
    bool is_post = str_eq(r->method, STR("POST"));
    if (!gw_http_has_source(r, who, source))
        return;
    if (is_post && !is_json(r))
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
