#include <unistd.h>

#include "bundle/bash/bash_server.h"
#include "cli/cli.h"
#include "cli/mcp/mcp.h"

static int run_bash(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc > 0)
        return cli_usage_error("mcp bash: takes no arguments");
    return bash_serve(STDIN_FILENO, STDOUT_FILENO) == 0 ? EXIT_DONE : EXIT_FAILED;
}

const struct command CMD_MCP_BASH = {
    .name = "bash",
    .usage = "mcp bash",
    .summary = "serve the tool bash_exec over stdin and stdout",
    .help = "This is the default bundle. nb starts it in a sandbox; a command that you start "
            "yourself has no sandbox.\n",
    .run = run_bash,
};
