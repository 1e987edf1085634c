/* process_usage.h - what a server or a command uses: memory and processes below its launcher.
 *
 * Blocks for a millisecond or so: for pool threads and for the bash server. Memory is what all
 * processes hold for themselves (programs and libraries that they map are not counted), plus files
 * in memory of a sandbox of bubblewrap, which belong to no process. Not included: memory that no
 * process has mapped (memfd, full pipes). Where the kernel counts instead, see cgroup.h. */
#pragma once

#include "bundle/confine/process_tree.h"

/* Ceilings of one server, and of one command of the bash bundle. */
#define PROCESS_COUNT_MAX 512
#define PROCESS_TASKS_MAX 1024 /* threads included */

#define PROCESS_LAUNCHER_DEPTH 1 /* its inner process; the outer one is the root */

struct process_usage {
    int64_t memory_bytes;
    unsigned processes, tasks;
};

/* launcher: the outer process of launch.h. The two processes of the launcher are not counted.
 * is_wrapped: it is in bubblewrap, so that /tmp and its like belong to it alone. Memory that
 * several processes share is counted once for each, unless the sum is above memory_max: then it is
 * divided among them, which takes longer. With more than PROCESS_COUNT_MAX processes memory is not
 * looked at: the caller ends them, and must be quick. */
struct process_usage process_usage(const struct process_table *t, int launcher, bool is_wrapped,
                                   int64_t memory_max);
