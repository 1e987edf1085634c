#include "gateway/methods/method.h"

#include <assert.h>

#include "gateway/methods/catalog.h"
#include "gateway/methods/listen.h"
#include "gateway/upstream/session_connection.h"
#include "gateway/upstream/suspended_calls.h"
#include "gateway/write.h"

#define MCP_ERA_BIT(era) (1u << (era))

static void set_level(struct gw_request *q)
{
    str level = json_get_string(q->params, "level");
    int n = protocol_log_level(level);
    if (n < 0) {
        gw_request_fail(q, RPC_INVALID_PARAMS, "Unknown log level.");
        return;
    }
    if (q->session) {
        q->session->log_level = n;
        session_connection_set_level(q->session, level);
    }
    gw_request_empty(q);
}

static void method_discover(struct gw_request *q)
{
    struct json_writer w;
    gw_write_begin(&w, q);
    jw_kraw(&w, "supportedVersions", STR("[\"" MCP_REVISION_MODERN "\"]"));
    jw_key(&w, "capabilities");
    gw_write_capabilities(&w, q);
    gw_write_instructions(&w, q);
    gw_write_list_end(&w, q, GW_LIST_SHORT_MS);
    gw_request_send(q);
}

enum { LEGACY = MCP_ERA_BIT(MCP_ERA_LEGACY), MODERN = MCP_ERA_BIT(MCP_ERA_MODERN) };

static const struct gw_method {
    str name;
    unsigned eras;
    bool is_filtered; /* the tool globs of a token apply to it */
    void (*run)(struct gw_request *q);
} METHODS[] = {
    {STR_INIT("tools/call"), LEGACY | MODERN, true, gw_tools_call},
    {STR_INIT("tools/list"), LEGACY | MODERN, true, gw_tools_list},
    {STR_INIT("ping"), LEGACY, false, gw_request_empty},
    {STR_INIT("server/discover"), MODERN, true, method_discover},
    {STR_INIT("resources/list"), LEGACY | MODERN, true, gw_list_entries},
    {STR_INIT("resources/templates/list"), LEGACY | MODERN, true, gw_list_entries},
    {STR_INIT("resources/read"), LEGACY | MODERN, true, gw_resources_read},
    {STR_INIT("resources/subscribe"), LEGACY, true, gw_resources_subscribe},
    {STR_INIT("resources/unsubscribe"), LEGACY, true, gw_resources_unsubscribe},
    {STR_INIT("prompts/list"), LEGACY | MODERN, true, gw_list_entries},
    {STR_INIT("prompts/get"), LEGACY | MODERN, true, gw_prompts_get},
    {STR_INIT("completion/complete"), LEGACY | MODERN, true, gw_completion_complete},
    {STR_INIT("logging/setLevel"), LEGACY, false, set_level},
    {STR_INIT("subscriptions/listen"), MODERN, true, gw_subscriptions_listen},
    {STR_INIT("tasks/get"), LEGACY | MODERN, true, gw_tasks_route},
    {STR_INIT("tasks/cancel"), LEGACY | MODERN, true, gw_tasks_route},
    {STR_INIT("tasks/update"), MODERN, true, gw_tasks_route},
    {STR_INIT("tasks/result"), LEGACY, true, gw_tasks_route},
    {STR_INIT("tasks/list"), LEGACY, true, gw_tasks_list},
};

bool gateway_method_at(size_t i, struct gateway_method *ret)
{
    if (i >= ARRAY_LEN(METHODS))
        return false;
    *ret = (struct gateway_method){METHODS[i].name, (METHODS[i].eras & LEGACY) != 0,
                                   (METHODS[i].eras & MODERN) != 0, METHODS[i].is_filtered};
    return true;
}

static const struct gw_method *method_find(str name, enum mcp_era era)
{
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++) {
        if (str_eq(name, METHODS[i].name))
            return METHODS[i].eras & MCP_ERA_BIT(era) ? &METHODS[i] : NULL;
    }
    return NULL;
}

void gw_method_run(struct gw_request *q)
{
    const struct gw_method *m = method_find(q->method, q->era);
    assert(q->out && q->id && !q->on_cancel); /* a request with a way to its client */
    if (!m) {
        gw_request_fail(q, RPC_METHOD_NOT_FOUND, "Method not found: %.*s",
                        STR_ARG(str_slice(q->method, 0, 200)));
        return;
    }
    if (q->era == MCP_ERA_MODERN && protocol_may_need_input(q->method))
        suspended_prepare(q);
    m->run(q);
}
