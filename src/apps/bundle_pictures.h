/* bundle_pictures.h - pictures in the result of a bundle's tool, as the model gets them.
 *
 * The log keeps the result as it came; beside it, `views` of tool.done has a new picture for each:
 * of a size that every provider takes, without metadata, or the reason why there is none. Only
 * calls of the agent need them: views of interfaces and clients of /mcp get the result itself. Loop
 * thread. */
#pragma once

#include "apps/bundle_impl.h"

struct bundle_pictures;

/* NULL: the result has no pictures, or the caller is not the agent. Else done(ctx) follows, when
 * res->views is set; res and what it points to stay until then. */
struct bundle_pictures *bundle_pictures_start(struct runtime *rt, struct tool_call *call,
                                              struct tool_result *res, loop_fn done, void *ctx);
bool bundle_pictures_needed(const struct tool_call *call, const struct tool_result *res);
void bundle_pictures_cancel(struct bundle_pictures *p); /* no callback; accepts NULL */
