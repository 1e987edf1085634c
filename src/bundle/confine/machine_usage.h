/* machine_usage.h - memory, tasks and free disk of the whole machine, in five system calls.
 *
 * A process cannot take memory, start processes or write files without changing these numbers. A
 * watch compares them with those of its last full measurement, and measures the processes only when
 * they have grown. Any thread; does not block. */
#pragma once

#include "base/str.h"

struct machine_usage {
    int64_t memory_bytes;    /* private memory and files in memory; 0 = unknown */
    int64_t tasks;           /* processes and threads */
    int64_t disk_free_bytes; /* of the file system of `dir` */
};

struct machine_usage machine_usage(const char *dir);
