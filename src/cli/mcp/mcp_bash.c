#include <unistd.h>

#include "bundle/bash/bash_server.h"
#include "cli/command.h"
#include "cli/mcp/mcp.h"

static int mcp_bash(struct cmd *x)
{
    return bash_serve(STDIN_FILENO, STDOUT_FILENO) == 0 ? EXIT_DONE : EXIT_FAILED;
}

const struct command CMD_MCP_BASH = {
    .name = "bash",
    .summary = "serve the tool bash_exec over stdin and stdout",
    .help = "This is the default bundle. nb starts it in a sandbox; a command that you start "
            "yourself has no sandbox.\n",
    .needs = WRITES_PROTOCOL,
    .run = mcp_bash,
};
