/* fault.h - failures of a bundle, for people who may not read its log.
 *
 * The reason of a failure quotes the server's stderr and names files of this machine, so only
 * admins see it. Members, models and MCP clients get one of these sentences, which contain no text
 * of the server. Pure. */
#pragma once

#include "bundle/bundle.h"

/* Why a bundle in this state is not running; "" when it is. own: the reason if nb wrote it and it
 * names no file or server text, else empty. code: of the error that caused the state, or 0. */
const char *fault_of_state(enum bundle_state state, int code, const char *own);

/* How a request failed: "did not answer in time". */
const char *fault_of_request(int code);
