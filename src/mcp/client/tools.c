
#include "mcp/client/client_impl.h"

/* False when the tool cannot be used over this connection. */
static bool take_tool(struct mcp_client *c, const struct json *tool, bool has_headers)
{
    struct known_tools *k = &c->tools;
    str name = json_get_string(tool, "name");
    struct known_tool found = {.needs_task = protocol_needs_task(tool)};
    struct err e;
    if (has_headers &&
        param_headers_compile(&k->mem, json_get(tool, "inputSchema"), &found.headers, &e) < 0) {
        client_warn(c, "the tool \"%.*s\" is skipped: %s\n", STR_ARG(str_slice(name, 0, 128)),
                    e.msg);
        return false;
    }
    if ((found.headers.n == 0 && !found.needs_task) || map_len(&k->by_name) >= MCP_LIST_MAX)
        return true;
    struct known_tool *kept = ARENA_NEW(&k->mem, struct known_tool);
    *kept = found;
    map_put(&k->by_name, name, kept);
    return true;
}

void tools_take_list(struct mcp_client *c, struct json *result, bool is_first)
{
    struct json *tools = json_get(result, "tools");
    if (!json_is(tools, JSON_ARRAY))
        return;
    if (is_first) {
        map_done(&c->tools.by_name);
        map_init(&c->tools.by_name);
        arena_reset(&c->tools.mem);
    }
    bool has_headers = c->era == MCP_ERA_MODERN && c->transport->ops->is_http;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tools->len; i++) {
        if (take_tool(c, &tools->items[i], has_headers))
            tools->items[kept++] = tools->items[i];
    }
    tools->len = kept;
}

const struct known_tool *tools_find(const struct mcp_client *c, str name)
{
    return map_get(&c->tools.by_name, name);
}
