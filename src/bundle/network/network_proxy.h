/* network_proxy.h - the process that decides about a server's connections and forwards them.
 *
 * It runs outside the sandbox, beside the server's launcher, and ends with it. Connections arrive
 * at the gates of the server's namespace (network_space.h): the address at which a connection
 * arrives is its destination. Each destination is checked by name, resolved here, and checked by
 * address; the connection is made to the address that was checked. Names are answered for
 * destinations that may be reached, and for no others.
 *
 *   accept -> (name: look up) -> connect, one address after the other -> forward in both directions
 *
 * Buffers are of fixed size and read only when they have room; a server at its limit of connections
 * waits for one to end. Refused connections are reported on stderr, which is the server's log. */
#pragma once

#include "bundle/network/network_rules.h"

#define NETWORK_LINKS_MAX 128 /* connections of one server */

/* Forks the proxy; for a process without threads. Returns the socket that network_space_enter sends
 * the gates to, or a negative errno. */
int network_proxy_start(struct arena *a, const struct network_rules *r);

/* socket: delivers the gates. Returns when they do not arrive; otherwise the process is ended by a
 * signal. */
int network_proxy_run(struct arena *a, const struct network_rules *r, int socket);
