/* log_scrub.h - takes secrets out of text before it reaches a log. */
#pragma once

#include "base/buf.h"

/* Copies `text` into `out`, with every one of the `secrets` (longest first) and everything
 * shaped like a key or a token replaced by "[redacted]". Thread-safe. */
void log_scrub(struct buf *out, str text, const str *secrets, size_t count);
