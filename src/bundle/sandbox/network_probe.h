/* network_probe.h - tests whether servers can have a network namespace on this machine.
 *
 * It runs a real test: a namespace with its gates, and bubblewrap inside it. Blocks for some 10 ms;
 * sets has_network, or else why_no_network. */
#pragma once

#include "bundle/sandbox/sandbox.h"

void network_look(struct sandbox_offer *offer);
