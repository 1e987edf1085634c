/* watch.h - a call when a file is written to, by whatever process.
 *
 * For small files that stay in place and say "look again" (a file that is replaced by rename
 * is lost from sight). Several writes may come as one call. Loop thread only. */
#pragma once

#include "loop/loop.h"

struct watch;

/* 0, or -errno: no such file, no more watches. */
int watch_start(struct loop *l, const char *path, loop_fn fn, void *ctx, struct watch **ret);
void watch_stop(struct watch *w); /* no call any more; accepts NULL */
