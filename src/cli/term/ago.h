/* ago.h - when something was, the way people say it. Pure. */
#pragma once

#include "base/buf.h"

/* "just now", "5 min ago", "3 h ago", "yesterday", "4 days ago", "12 Mar", "12 Mar 2025". A
 * time ahead of the clock is "just now". */
void ago_add(struct buf *out, int64_t then_ms, int64_t now_ms);
