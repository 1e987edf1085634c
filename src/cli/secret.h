/* secret.h - a line that should not be seen: read from the terminal without echo, or from a
 * pipe. */
#pragma once

#include "base/arena.h"

#define SECRET_MAX 8192

/* False when there is nothing, or more than SECRET_MAX bytes. The line feed is taken off. */
bool secret_read(struct arena *a, const char *prompt, str *ret);
