/* endpoint.h - where the oldest transport wants its messages. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/* Resolves the reference that the stream gave against the stream's own URL: absolute, or from
 * the root, or relative. Another origin is refused (-EACCES): messages carry our headers. */
int endpoint_resolve(struct arena *a, str stream_url, str reference, str *ret, struct err *e);
