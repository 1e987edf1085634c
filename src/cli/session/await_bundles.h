/* await_bundles.h - a command with its own server waits for bundles that start.
 *
 * After a moment a line on stderr says what the command waits for (an installation takes a while);
 * at the end, a line for each bundle whose tools are missing says why. Runs the loop. */
#pragma once

#include "server/server.h"

/* is_interactive: a user sits at the terminal, so wait only for a short time. */
void await_bundles(struct server *s, bool is_interactive);
