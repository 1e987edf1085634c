#include "cli/mcp.h"

#include "cli/cli.h"

static const struct command *const SUBS[] = {&CMD_MCP_BASH, NULL};

const struct command CMD_MCP = {
    .name = "mcp",
    .usage = "mcp COMMAND",
    .summary = "MCP servers that come with nb",
    .subs = SUBS,
};
