/* await_bundles.h - a command with a server of its own waits for the bundles that start.
 *
 * After a moment a line on stderr says what is waited for (an installation takes a while); at the
 * end a line for each bundle whose tools are missing says why. Runs the loop. */
#pragma once

#include "server/server.h"

/* is_interactive: somebody sits there and would rather begin: only a short wait. */
void await_bundles(struct server *s, bool is_interactive);
