#include "cli/mcp/mcp.h"

#include "cli/command.h"

static const struct command *const SUBS[] = {&CMD_MCP_LIST, &CMD_MCP_CALL, &CMD_MCP_SERVE,
                                             &CMD_MCP_BASH, NULL};

const struct command CMD_MCP = {
    .name = "mcp",
    .summary = "list, call and serve tools",
    .subs = SUBS,
};
