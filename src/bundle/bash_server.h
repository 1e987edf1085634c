/* bash_server.h - the bash bundle: an MCP server over stdin and stdout with one tool.
 *
 * bash_exec {command, cwd?, timeout?, env?} -> {stdout, stderr, exit_code, duration_ms}.
 * Both eras of MCP; commands run side by side; cancelling one kills its processes. It stands
 * alone: no loop, no settings, no state of nb. */
#pragma once

/* Serves until `in` ends. Returns the exit code. */
/* In the environment it says that CHILD_MESSAGE_FD holds the sandbox of each command (launch.h). */
/* In _meta of a call: the data directory is full, so the command may not write files. The value is
 * the limit in megabytes. */
#define BASH_META_DISK_FULL "nb/diskFullMb"

#define BASH_SPEC_NAME     "NB_BASH_SANDBOX"
#define BASH_SPEC_VARIABLE BASH_SPEC_NAME "=message"

int bash_serve(int in, int out);
