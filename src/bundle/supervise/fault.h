/* fault.h - what went wrong with a bundle, for people who may not read its log.
 *
 * The reason of a failure quotes what the server wrote to its standard error, and names files of
 * this machine: that is for admins. Members, models and MCP clients get one of these sentences,
 * which hold no word of the server's. Pure. */
#pragma once

#include "bundle/bundle.h"

/* Why a bundle in this state is not running; "" when it is. own: the reason, when it is nb's own
 * words and names nothing, else empty. code: of the error that led to the state, or 0. */
const char *fault_of_state(enum bundle_state state, int code, const char *own);

/* What became of a request: "did not answer in time". */
const char *fault_of_request(int code);
