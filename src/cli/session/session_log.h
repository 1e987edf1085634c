/* session_log.h - the folder store has a log of every process that uses it.
 *
 * sessions/<utc>/system.log contains what nb logs at the configured level, even when the terminal
 * shows less; state/session.json says which process was the last, and how it ended. Other stores
 * have neither. Blocking. */
#pragma once

#include "base/log.h"
#include "config/config.h"

struct session_log {
    int fd;                   /* -1 = none */
    enum log_level to_stderr; /* lines below this level are written only to the file */
    const char *root, *client;
    int64_t began_ms;
};

/* client: "server", "terminal", "prompt", "pipe", "mcp". If the log cannot be created, a warning is
 * printed. */
void session_log_begin(struct session_log *s, struct config *c, const char *client);
void session_log_end(struct session_log *s, int exit_code);
