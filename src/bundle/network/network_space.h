/* network_space.h - a network namespace with nothing in it but gates.
 *
 * A gate is a socket that listens inside the namespace and belongs to the process outside that
 * decides (network_proxy.h). The namespace has one interface, the loopback, and so no way to the
 * machine, its network or its abstract sockets. Declared destinations get an address and a gate of
 * their own; with "public" every address of the open internet leads to the gates of the common
 * ports, and all others are unreachable. Names are answered at the addresses that /etc/resolv.conf
 * names, so that no file need be different inside.
 *
 * Everything is set up before the server starts, by a process that may; the server has no
 * capability in the user namespace that owns this one. */
#pragma once

#include "bundle/network/network_rules.h"

enum network_gate_kind { NETWORK_GATE_STREAM, NETWORK_GATE_NAMES, NETWORK_GATES_DONE };

#define NETWORK_GATES_MAX (2 * NETWORK_DESTS_MAX + 48)

/* Moves the caller into a new namespace and sends its gates to `socket`, which network_gate_receive
 * reads at the other end. As an ordinary user this makes a user namespace as well. Allocates
 * nothing that lasts. */
int network_space_enter(const struct network_rules *r, int socket, struct err *e);

/* -EPIPE: the other end has gone before all gates were sent. *ret_fd is -1 for GATES_DONE. */
int network_gate_receive(int socket, enum network_gate_kind *ret, int *ret_fd);

/* The address that stands for a declared name inside, and back: an index, or -1. */
void network_dest_address(size_t index, struct network_ip *ret);
int network_dest_of(const struct network_ip *ip);
