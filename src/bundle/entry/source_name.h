/* source_name.h - the server name of a bundle: the prefix of its tools.
 *
 * nb's own sources of tools (nb, conversations, bash, skills) have names that no bundle may use,
 * and no bundle may use a name that a person or a model could confuse with them: other case,
 * letters that look the same, hidden characters, other separators, one letter more or less,
 * "nb-..." or "conversations--...". Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define BUNDLE_NAME_MAX 40

/* "@scope/My_Server" -> "my-server". -EINVAL: it is empty or too long. -EPERM: it is reserved. */
int bundle_server_name(struct arena *a, str source, str *ret, struct err *e);

/* For a name that was not chosen by a person: a reserved name gets `prefix` in front
 * ("@x/conversations" with "x" -> "x-conversations"). */
int bundle_derived_name(struct arena *a, str source, str prefix, str *ret, struct err *e);

/* nb's own source that this name equals or could be confused with; NULL when there is none. */
const char *bundle_reserved_name(struct arena *a, str name);
