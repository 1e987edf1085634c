/* stat_nowait.h - what a file looks like, if the kernel can say so without waiting for a disk.
 *
 * For the loop thread. The names of a file that is open somewhere are kept in memory, so a look
 * at it succeeds on any local file system; on others, or with an old kernel, it does not, and
 * whoever wants to know asks on a thread that may wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct file_stat {
    dev_t dev;
    ino_t ino;
    uint64_t size;
};

/* False: there is none, or that would have to be looked up. Does not follow a last symbolic
 * link. */
bool stat_nowait(const char *path, struct file_stat *ret);
