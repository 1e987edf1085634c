/* failure_hint.h - explains why a server failed: its last line of stderr, and when the sandbox may
 * be the reason, what to write into its entry. Pure. */
#pragma once

#include "base/err.h"
#include "bundle/entry/entry.h"

/* what: the error of the connection. stderr_text: the server's stderr. sandbox: NULL for a remote
 * server. */
void failure_hint(const struct err *what, str stderr_text, const struct bundle_sandbox *sandbox,
                  char ret[ERR_MAX]);
