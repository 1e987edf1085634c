/* record.h - commands without a server write their own audit records. */
#pragma once

#include "cli/cli.h"

/* The actor is the account that runs the command. If the log cannot be written, a warning is
 * printed. */
void cli_record(const struct config *c, const char *action, str target, bool is_done, str detail);
