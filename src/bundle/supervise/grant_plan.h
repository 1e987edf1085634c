/* grant_plan.h - the sandbox of one command in the directory of a terminal.
 *
 * It equals the sandbox of the shell in a terminal: the directory can be written, the home
 * directory can be read without its keys, everything else is as on a server. It is planned for each
 * call, on the pool, because the directory may have been removed or replaced since the last call.
 * Loop thread. */
#pragma once

#include "bundle/supervise/bundle_impl.h"
#include "workspace/dir_grant.h"

struct grant_plan; /* in progress; freed after its callback */

/* sandbox: the message of launch.h in base64; empty on error. */
typedef void (*grant_plan_fn)(void *ctx, str sandbox, const struct err *err);

/* For a call of the built-in bundle. Never calls back before it returns. */
struct grant_plan *grant_plan_start(struct bundle *b, const struct dir_grant *g, grant_plan_fn fn,
                                    void *ctx);
void grant_plan_cancel(struct grant_plan *p); /* no callback follows */
