/* network_proxy.h - the process that carries a server's connections, and decides which.
 *
 * It runs outside the sandbox, beside the server's launcher, and ends with it. Connections arrive
 * at the gates of the server's namespace (network_space.h): where they were going is the address at
 * which they arrived. Each destination is judged by name, resolved here, and judged by address; the
 * connection is made to the address that was judged. Names are answered for destinations that may
 * be reached, and for no others.
 *
 *   accept -> (name: look up) -> connect, one address after the other -> carry both ways
 *
 * Buffers are of fixed size and read only when they have room; a server at its ceiling of
 * connections waits for one to end. What is refused is said on stderr, which is the server's log.
 */
#pragma once

#include "bundle/network/network_rules.h"

#define NETWORK_LINKS_MAX 128 /* connections of one server */

/* Forks it; for a process without threads. Returns the socket that network_space_enter sends the
 * gates to, or a negative errno. */
int network_proxy_start(struct arena *a, const struct network_rules *r);

/* socket: where the gates come from. Returns when they do not come; else it is ended by a signal.
 */
int network_proxy_run(struct arena *a, const struct network_rules *r, int socket);
