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
/* The same: the sandbox of this command alone, as the message of launch.h in base64, and the
 * directory where it starts. Only nb can say so: what callers put there is taken out. */
#define BASH_META_SANDBOX   "nb/sandbox"
#define BASH_META_DIRECTORY "nb/directory"
#define BASH_META_PREFIX    "nb/"

#define BASH_SPEC_NAME     "NB_BASH_SANDBOX"
#define BASH_SPEC_VARIABLE BASH_SPEC_NAME "=message"

int bash_serve(int in, int out);
