/* network_probe.h - whether servers can have a network of their own on this machine.
 *
 * Tried, not guessed: a namespace with its gates, and bubblewrap inside it. Blocks for some 10 ms;
 * sets has_network, else why_no_network. */
#pragma once

#include "bundle/sandbox/sandbox.h"

void network_look(struct sandbox_offer *offer);
