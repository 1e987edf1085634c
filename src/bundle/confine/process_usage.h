/* process_usage.h - memory and processes of a server or a command, below its launcher.
 *
 * Blocks for a millisecond or so: for pool threads and for the bash server. Memory is the private
 * memory of all processes (mapped programs and libraries are not counted), plus the files in memory
 * of a bubblewrap sandbox, which do not belong to a process. Not included: memory that no process
 * has mapped (memfd, full pipes). Where the kernel counts instead, see cgroup.h. */
#pragma once

#include "base/str.h"
#include "bundle/confine/process_tree.h"

/* Limits of one server, and of one command of the bash bundle. */
#define PROCESS_COUNT_MAX 512
#define PROCESS_TASKS_MAX 1024 /* threads included */

#define PROCESS_LAUNCHER_DEPTH 1 /* its inner process; the outer one is the root */

struct process_usage {
    int64_t memory_bytes;
    unsigned processes, tasks;
};

/* launcher: the outer process of launch.h. The two processes of the launcher are not counted.
 * is_wrapped: it runs in bubblewrap, so that /tmp and similar directories belong to it alone.
 * Memory that several processes share is counted once for each, unless the sum is above memory_max:
 * then it is divided among them, which takes longer. With more than PROCESS_COUNT_MAX processes
 * memory is not measured, because the caller has to end them quickly. */
struct process_usage process_usage(const struct process_table *t, int launcher, bool is_wrapped,
                                   int64_t memory_max);

/* ---- measures the size of a directory, bounded in time and depth (disk_usage.c) ----
 *
 * For pool threads. Does not follow links or enter other file systems. A file with several hard
 * links is counted in parts. */

#define DISK_FILES_MAX 300000 /* limit for one bundle, whatever their size */
#define DISK_DEPTH_MAX 64     /* deeper directories are not measured */
#define DISK_LOOK_MS   1000   /* then the measurement ends with the result so far */

struct disk_usage {
    int64_t bytes;
    int64_t files; /* and directories */
};

struct disk_usage disk_usage(const char *path);
