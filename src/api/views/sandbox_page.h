/* sandbox_page.h - the document around an interface (the "sandbox proxy" of MCP Apps).
 *
 * It holds one frame with an opaque origin, puts the HTML that the page sends into it, and passes
 * messages between the two. Its response headers carry the policy of the interface, which the frame
 * inherits. The document itself holds nothing of the interface, so it needs no login: the id of the
 * view cannot be guessed. */
#pragma once

#include "api/views/views.h"

/* For the listener that serves these documents and nothing else. */
struct http_handlers sandbox_handlers(struct api *api);
