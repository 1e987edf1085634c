/* own_server.h - a server inside a command, when none is running.
 *
 * The same struct server as in `nb serve`, without a listener, and with the skills of the user at
 * the terminal: .agents/skills and .claude/skills of the current directory and of the home
 * directory are used here, and only here. */
#pragma once

#include "server/server.h"

/* `c` is borrowed and outlives the server. */
int own_server_new(struct loop *l, struct config *c, bool with_bundles, struct server **ret,
                   struct err *e);

/* Waits for bundles that start. After a moment a line on stderr says what the command waits for (an
 * installation takes a while); at the end, a line for each bundle whose tools are missing says why.
 * Runs the loop. is_interactive: a user sits at the terminal, so wait only for a short time. */
void await_bundles(struct server *s, bool is_interactive);
