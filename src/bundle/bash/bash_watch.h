/* bash_watch.h - limits of each command of the bash bundle.
 *
 * Every command may use the memory in the entry of the bundle and PROCESS_COUNT_MAX processes. With
 * cgroups the kernel enforces both, or one of them (cgroup.h). For the rest the server measures
 * /proc while commands run. A command that exceeds a limit is ended, no other command is, and its
 * answer names the limit. One thread. */
#pragma once

#include "bundle/bash/bash_run.h"

struct bash_watch {
    int64_t memory_bytes; /* of one command; 0 = no limit */
    bool is_wrapped;      /* commands are in bubblewrap */
    uint64_t due_ms;      /* time of the next step; 0 = now */
    uint64_t look_ms;     /* time of the next full measurement, unless processes become many */
    unsigned long tasks;  /* of the whole machine at the last measurement */
};

/* True when it has to be measured: false when it has ended, or is about to. */
bool bash_watch_needs(const struct bash_run *r);

/* Measures all of them when it is time, and ends those over a limit. due_ms is the next time. */
void bash_watch_step(struct bash_watch *w, struct bash_run **runs, size_t n, uint64_t now_ms);
