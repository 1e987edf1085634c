/* stat_nowait.h - stat() of a file, if the kernel can answer without waiting for a disk.
 *
 * For the loop thread. The kernel keeps the directory entries of open files in memory, so this
 * succeeds for such files on any local file system. On other file systems, or with an old kernel,
 * it fails, and the caller must use a thread that may block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct file_stat {
    dev_t dev;
    ino_t ino;
    uint64_t size;
};

/* False: the file does not exist, or the kernel would have to wait. Does not follow a symbolic link
 * at the end of the path. */
bool stat_nowait(const char *path, struct file_stat *ret);
