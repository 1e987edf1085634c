/* record.h - what commands do without a server is recorded in the audit log by themselves. */
#pragma once

#include "cli/cli.h"

/* The actor is the account that runs the command. A log that cannot be written is a warning. */
void cli_record(const struct config *c, const char *action, str target, bool is_done, str detail);
