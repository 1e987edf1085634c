/* mcp.h - the commands of `nb mcp`. */
#pragma once

struct command;
extern const struct command CMD_MCP_BASH, CMD_MCP_SERVE, CMD_MCP_LIST, CMD_MCP_CALL;
