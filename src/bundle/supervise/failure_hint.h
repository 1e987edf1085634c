/* failure_hint.h - why a server failed, in words that help: what it said last, and when the sandbox
 * may be the reason, what to write into its entry. Pure. */
#pragma once

#include "base/err.h"
#include "bundle/entry/entry.h"

/* what: the error as the connection gave it. said: its stderr. sandbox: NULL for a remote. */
void failure_hint(const struct err *what, str said, const struct bundle_sandbox *sandbox,
                  char ret[ERR_MAX]);
