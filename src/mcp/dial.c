#include "mcp/dial.h"

static const struct fetch_header *copy_headers(struct arena *a, const struct mcp_dial *dial)
{
    struct fetch_header *headers = arena_array(a, dial->nheaders + 1, sizeof(*headers));
    for (size_t i = 0; i < dial->nheaders; i++) {
        headers[i].name = arena_str(a, dial->headers[i].name);
        headers[i].value = arena_str(a, dial->headers[i].value);
    }
    return headers;
}

#define RECONNECT_MS     1000
#define RECONNECT_MAX_MS 30000
#define RECONNECT_TRIES  5

struct mcp_dial dial_copy(struct arena *a, const struct mcp_dial *dial)
{
    struct mcp_dial d = *dial;
    struct mcp_reconnect *r = &d.reconnect;
    r->initial_ms = r->initial_ms ? r->initial_ms : RECONNECT_MS;
    r->max_ms = r->max_ms ? r->max_ms : RECONNECT_MAX_MS;
    r->max_tries = r->max_tries ? r->max_tries : RECONNECT_TRIES;
    if (dial->wire == MCP_WIRE_STDIO) {
        d.child.argv = arena_cstrs(a, dial->child.argv);
        d.child.env = arena_cstrs(a, dial->child.env);
        if (dial->child.cwd)
            d.child.cwd = arena_cstr(a, str_from(dial->child.cwd));
        d.child.message = arena_str(a, dial->child.message);
    }
    d.url = arena_str(a, dial->url);
    d.headers = copy_headers(a, dial);
    return d;
}

static const struct json *copy_json(struct arena *a, const struct mcp_request *req,
                                    const struct json *v)
{
    return v && !req->is_kept ? json_clone(a, v) : v;
}

struct mcp_request dial_copy_request(struct arena *a, const struct mcp_request *req)
{
    struct mcp_request r = *req;
    r.method = arena_str(a, req->method);
    r.log_level = arena_str(a, req->log_level);
    r.params = copy_json(a, req, req->params);
    r.capabilities = copy_json(a, req, req->capabilities);
    r.is_kept = true;
    return r;
}
