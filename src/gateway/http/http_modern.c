/* The order of the checks is part of the contract: clients decide from the first error what to do
 * next. */
#include "gateway/http/http.h"
#include "gateway/methods/method.h"

static void fail_version(struct gw_request *q, str asked)
{
    struct arena *a = &q->arena;
    struct json *data = json_new(a, JSON_OBJECT), *supported = json_new(a, JSON_ARRAY);
    json_push(a, supported, json_of_str(STR(MCP_REVISION_MODERN)));
    json_set(a, data, STR("supported"), *supported);
    json_set(a, data, STR("requested"), json_of_str(asked));
    gw_request_fail_data(q, MCP_UNSUPPORTED_VERSION, data,
                         "This protocol revision is not supported.");
}

bool gw_modern_accept(struct gw_request *q)
{
    const struct json *meta = json_get(q->params, "_meta");
    const struct json *version = json_get(meta, META_VERSION);
    const struct json *can = json_get(meta, META_CAPABILITIES);
    if (!json_is(version, JSON_STRING) || !json_is(can, JSON_OBJECT)) {
        gw_request_fail_status(q, 400, RPC_INVALID_PARAMS, NULL,
                               "_meta lacks " META_VERSION " or " META_CAPABILITIES ".");
        return false;
    }
    if (!str_eq(version->s, STR(MCP_REVISION_MODERN))) {
        fail_version(q, version->s);
        return false;
    }
    q->capabilities = can;
    q->log_level = protocol_log_level(json_get_string(meta, META_LOG_LEVEL));
    q->client = json_get_string(json_get(meta, META_CLIENT_INFO), "name");
    return true;
}

void gw_modern_post(struct gw_request *q, struct http_req *r, const struct rpc_message *m)
{
    struct err e = {0};
    str header = http_get_header(r, "mcp-protocol-version");
    const struct json *version = json_get(json_get(m->params, "_meta"), META_VERSION);
    gw_request_set(q, m, MCP_ERA_MODERN);
    gw_http_sink_init(q, r);
    if (m->kind == RPC_NOTIFICATION) {
        q->out->answer(q, 202, STR_NONE);
        gw_request_free(q);
    } else if (m->kind != RPC_REQUEST) {
        gw_request_fail_status(q, 400, RPC_INVALID_REQUEST, NULL,
                               "In this protocol revision, clients may only send requests.");
    } else if (header.n == 0 || (json_is(version, JSON_STRING) && !str_eq(header, version->s))) {
        gw_request_fail(q, MCP_HEADER_MISMATCH,
                        "MCP-Protocol-Version is missing, or does not equal the version in _meta.");
    } else if (gw_modern_accept(q)) {
        if (!gw_headers_fit(q, r, &e))
            gw_request_fail(q, MCP_HEADER_MISMATCH, "%s.", e.msg);
        else
            gw_method_run(q);
    }
}
