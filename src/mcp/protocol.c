#include "mcp/protocol.h"

static const struct {
    str revision;
    enum mcp_era era;
} REVISIONS[] = {
    {STR_INIT("2024-11-05"), MCP_ERA_LEGACY}, {STR_INIT("2025-03-26"), MCP_ERA_LEGACY},
    {STR_INIT("2025-06-18"), MCP_ERA_LEGACY}, {STR_INIT("2025-11-25"), MCP_ERA_LEGACY},
    {STR_INIT("2026-07-28"), MCP_ERA_MODERN},
};

static const struct mcp_method {
    str method;
    const char *name_member; /* repeated in Mcp-Name */
    bool may_need_input;
} METHODS[] = {
    {STR_INIT("tools/call"), "name", true},      {STR_INIT("prompts/get"), "name", true},
    {STR_INIT("resources/read"), "uri", true},   {STR_INIT("tasks/get"), "taskId", false},
    {STR_INIT("tasks/update"), "taskId", false}, {STR_INIT("tasks/cancel"), "taskId", false},
};

static const char *const LOG_LEVELS[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};

enum mcp_era protocol_era(str revision)
{
    for (size_t i = 0; i < ARRAY_LEN(REVISIONS); i++) {
        if (str_eq(revision, REVISIONS[i].revision))
            return REVISIONS[i].era;
    }
    return MCP_ERA_UNKNOWN;
}

bool protocol_is_modern_error(int64_t code)
{
    return code == MCP_HEADER_MISMATCH || code == MCP_MISSING_CAPABILITY ||
           code == MCP_UNSUPPORTED_VERSION;
}

static const struct mcp_method *method_of(str name)
{
    static const struct mcp_method OTHER;
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++) {
        if (str_eq(name, METHODS[i].method))
            return &METHODS[i];
    }
    return &OTHER;
}

const char *protocol_name_member(str method)
{
    return method_of(method)->name_member;
}

bool protocol_may_need_input(str method)
{
    return method_of(method)->may_need_input;
}

bool protocol_needs_task(const struct json *tool)
{
    return str_eq(json_get_string(json_get(tool, "execution"), "taskSupport"), STR("required"));
}

int protocol_log_level(str name)
{
    return (int)STR_INDEX(name, LOG_LEVELS);
}

str protocol_log_level_name(int level)
{
    return level < 0 ? STR_NONE : str_from(LOG_LEVELS[level]);
}
