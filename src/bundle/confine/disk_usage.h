/* disk_usage.h - measures the size of a directory, bounded in time and depth.
 *
 * For pool threads. Does not follow links or enter other file systems. A file with several hard
 * links is counted in parts. */
#pragma once

#include "base/str.h"

#define DISK_FILES_MAX 300000 /* limit for one bundle, whatever their size */
#define DISK_DEPTH_MAX 64     /* deeper directories are not measured */
#define DISK_LOOK_MS   1000   /* then the measurement ends with the result so far */

struct disk_usage {
    int64_t bytes;
    int64_t files; /* and directories */
};

struct disk_usage disk_usage(const char *path);
