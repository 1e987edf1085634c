/* disk_usage.h - how much a directory holds, by a look that is bounded in time and depth.
 *
 * For pool threads. Links are not followed, other file systems are not entered. A file with several
 * names is counted in parts. */
#pragma once

#include "base/str.h"

#define DISK_FILES_MAX 300000 /* of one bundle: more count as too much, whatever they hold */
#define DISK_DEPTH_MAX 64     /* directories below are not looked at */
#define DISK_LOOK_MS   1000   /* then the look ends, and what it has found so far counts */

struct disk_usage {
    int64_t bytes;
    int64_t files; /* and directories */
};

struct disk_usage disk_usage(const char *path);
