/* bash_server.h - the bash bundle: an MCP server over stdin and stdout with one tool.
 *
 * bash_exec {command, cwd?, timeout?, env?} -> {stdout, stderr, exit_code, duration_ms}. Supports
 * both eras of MCP; commands run concurrently; cancelling one kills its processes. It is
 * independent: it uses no loop, no settings and no state of nb. */
#pragma once

/* In _meta of a call: the data directory is full, so the command may not write files. The value is
 * the limit in megabytes. */
#define BASH_META_DISK_FULL "nb/diskFullMb"
/* In _meta of a call: the sandbox of this command only, as the message of launch.h in base64, and
 * the directory where it starts. Only nb may set these: members of callers are removed. */
#define BASH_META_SANDBOX   "nb/sandbox"
#define BASH_META_DIRECTORY "nb/directory"
#define BASH_META_PREFIX    "nb/"

/* Set in the environment when CHILD_MESSAGE_FD holds the sandbox of each command (launch.h). */
#define BASH_SPEC_NAME     "NB_BASH_SANDBOX"
#define BASH_SPEC_VARIABLE BASH_SPEC_NAME "=message"

/* Serves until `in` ends. Returns the exit code. */
int bash_serve(int in, int out);
