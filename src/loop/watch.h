/* watch.h - a callback when any process writes to a file.
 *
 * For small files that stay in place and act as a signal (a file that is replaced by rename is no
 * longer watched). Several writes may cause one call. Loop thread only. */
#pragma once

#include "loop/loop.h"

struct path_watch;

/* 0, or -errno: no such file, no more watches. */
int watch_start(struct loop *l, const char *path, loop_fn fn, void *ctx, struct path_watch **ret);
void watch_stop(struct path_watch *w); /* no call any more; accepts NULL */
