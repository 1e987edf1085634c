/* endpoint.h - the URL to which the oldest transport posts messages. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/* Resolves the reference from the stream's "endpoint" event against the URL of the stream:
 * absolute, from the root, or relative. Refuses another origin (-EACCES), because messages carry
 * the user's headers. */
int endpoint_resolve(struct arena *a, str stream_url, str reference, str *ret, struct err *e);
