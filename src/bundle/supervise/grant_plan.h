/* grant_plan.h - the sandbox of one command in the directory of a terminal.
 *
 * It is the sandbox that the shell of a terminal has: the directory is written, the home is read
 * without its keys, everything else is as on a server. Planned for each call, on the pool, because
 * the directory may have been removed or replaced since the last one. Loop thread. */
#pragma once

#include "bundle/supervise/bundle_impl.h"
#include "workspace/dir_grant.h"

struct grant_plan; /* under way; dies with its callback */

/* sandbox: the message of launch.h in base64; empty when there is an error. */
typedef void (*grant_plan_fn)(void *ctx, str sandbox, const struct err *err);

/* Of a call of the built-in bundle. Never calls back before it returns. */
struct grant_plan *grant_plan_start(struct bundle *b, const struct dir_grant *g, grant_plan_fn fn,
                                    void *ctx);
void grant_plan_cancel(struct grant_plan *p); /* no call back any more */
