/* dial.h - copies of the description of a server (struct mcp_dial), with its default times, and of
 * a request. */
#pragma once

#include "base/arena.h"
#include "mcp/client.h"

struct mcp_dial dial_copy(struct arena *a, const struct mcp_dial *dial);
/* A request that lives as long as the arena. Members that the caller keeps (is_kept) are not
 * copied. */
struct mcp_request dial_copy_request(struct arena *a, const struct mcp_request *req);
