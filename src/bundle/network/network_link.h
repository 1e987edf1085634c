/* network_link.h - one connection of a server: two sockets and the data between them.
 *
 * A state machine over non-blocking sockets; network_proxy.c polls. Each direction has one buffer
 * of fixed size, is read only when the buffer is empty, and closes the other side when it ends. */
#pragma once

#include <poll.h>

#include "bundle/network/network_lookup.h"

#define LINK_BUFFER_BYTES   (16u * 1024)
#define LINK_CONNECT_MS     10000         /* for each address */
#define LINK_IDLE_MS        (60u * 60000) /* nothing in either direction */
#define LINK_HALF_CLOSED_MS 60000         /* one side has ended, and the other is silent */

enum link_state { LINK_FREE, LINK_WAITING, LINK_CONNECTING, LINK_CARRYING };

struct link_flow { /* one direction */
    char *p;
    size_t at, n;  /* p[at .. n) is still to be written */
    bool is_ended; /* end of input */
    bool is_shut;  /* and the other side was shut down */
};

struct link {
    enum link_state state;
    int client, server;
    char host[NETWORK_HOST_MAX + 1];
    uint16_t port;
    uint64_t ticket; /* of its lookup */
    struct network_ip ips[LOOKUP_IPS_MAX];
    size_t nips, next_ip;
    uint64_t deadline;
    struct link_flow up, down; /* to the destination, and back */
};

void link_begin(struct link *l, int client, uint64_t deadline); /* then waits for l->ips */
void link_connect(struct link *l); /* to the first of l->ips that answers; there must be one */
void link_reset(struct link *l);   /* the client sees a refused or broken connection */

void link_watch(const struct link *l, struct pollfd ret[2]);
/* Returns NULL, or why the connection failed: the caller resets the link. */
const char *link_step(struct link *l, const struct pollfd fds[2], uint64_t now);
