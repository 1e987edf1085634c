/* bash_watch.h - limits of each command of the bash bundle.
 *
 * Every command has the memory that the entry of the bundle says and PROCESS_COUNT_MAX processes
 * for itself. With cgroups the kernel keeps both, or one of them (cgroup.h). For the rest the
 * server looks at /proc while commands run. A command that meets a limit is ended, that command
 * only, and its answer names the limit. One thread. */
#pragma once

#include "bundle/bash/bash_run.h"

struct bash_watch {
    int64_t memory_bytes; /* of one command; 0 = no limit */
    bool is_wrapped;      /* commands are in bubblewrap */
    uint64_t due_ms;      /* of the next step; 0 = now */
    uint64_t look_ms;     /* of the next look at all processes, unless they become many */
    unsigned long tasks;  /* of the whole machine at the last look */
};

/* Whether it has to be looked at: false when it has ended, or is about to. */
bool bash_watch_needs(const struct bash_run *r);

/* Looks at all of them when it is time, and ends those over a limit. due_ms says when next. */
void bash_watch_step(struct bash_watch *w, struct bash_run **runs, size_t n, uint64_t now_ms);
