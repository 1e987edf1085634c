/* ago.h - a time in words, relative to now. Pure. */
#pragma once

#include "base/buf.h"

/* "just now", "5 min ago", "3 h ago", "yesterday", "4 days ago", "12 Mar", "12 Mar 2025". A time in
 * the future is "just now". */
void ago_add(struct buf *out, int64_t then_ms, int64_t now_ms);
