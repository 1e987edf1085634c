/* watch.h - a callback when any process writes to a file, or changes a directory.
 *
 * watch_start is for small files that stay in place and act as a signal (a file that is replaced by
 * rename is no longer watched). Several writes may cause one call. Loop thread only. */
#pragma once

#include "loop/loop.h"

struct path_watch;

/* 0, or -errno: no such file, no more watches. */
int watch_start(struct loop *l, const char *path, loop_fn fn, void *ctx, struct path_watch **ret);
void watch_stop(struct path_watch *w); /* no call any more; accepts NULL */

/* ---- the names in one directory (watch_dir.c) ----
 *
 * For files that are replaced by rename. A file that is written in place is reported when its
 * writer closes it: logs that stay open cause no calls. Directories below are not watched. */

struct dir_watch;

/* name: the entry that was created, written, moved or deleted. NULL: the directory itself was moved
 * or deleted, or changes were lost; stop this watch and start a new one. */
typedef void (*dir_watch_fn)(void *ctx, const char *name);

/* 0, or -errno. -EOPNOTSUPP: other machines may change this file system, and the kernel does not
 * report that. */
int dir_watch_start(struct loop *l, const char *dir, dir_watch_fn fn, void *ctx,
                    struct dir_watch **ret);
void dir_watch_stop(struct dir_watch *w); /* no call any more; accepts NULL */
