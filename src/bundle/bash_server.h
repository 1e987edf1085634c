/* bash_server.h - the bash bundle: an MCP server over stdin and stdout with one tool.
 *
 * bash_exec {command, cwd?, timeout?, env?} -> {stdout, stderr, exit_code, duration_ms}.
 * Both eras of MCP; commands run side by side; cancelling one kills its processes. It stands
 * alone: no loop, no settings, no state of nb. */
#pragma once

/* Serves until `in` ends. Returns the exit code. */
int bash_serve(int in, int out);
