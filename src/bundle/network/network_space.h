/* network_space.h - a network namespace that contains only gates.
 *
 * A gate is a socket that listens inside the namespace and belongs to the process outside that
 * decides (network_proxy.h). The namespace has one interface, the loopback, so the machine, its
 * network and its abstract sockets cannot be reached. Each declared destination gets an address and
 * a gate; with "public" every public internet address leads to the gates of the common ports, and
 * all others are unreachable. Names are answered at the addresses in /etc/resolv.conf, so that no
 * file has to differ inside.
 *
 * Everything is set up before the server starts, by a process with the rights to do so; the server
 * has no capability in the user namespace that owns this one. */
#pragma once

#include "bundle/network/network_rules.h"

enum network_gate_kind { NETWORK_GATE_STREAM, NETWORK_GATE_NAMES, NETWORK_GATES_DONE };

#define NETWORK_GATES_MAX (2 * NETWORK_DESTS_MAX + 48)

/* Moves the caller into a new namespace and sends its gates to `socket`, where network_gate_receive
 * reads them at the other end. For an ordinary user this also creates a user namespace. Leaves
 * nothing allocated. */
int network_space_enter(const struct network_rules *r, int socket, struct err *e);

/* -EPIPE: the other end closed before all gates were sent. *ret_fd is -1 for GATES_DONE. */
int network_gate_receive(int socket, enum network_gate_kind *ret, int *ret_fd);

/* The address that represents a declared name inside, and the reverse: an index, or -1. */
void network_dest_address(size_t index, struct network_ip *ret);
int network_dest_of(const struct network_ip *ip);
