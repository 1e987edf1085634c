/* cgroup.h - limits that the kernel enforces, where a part of the cgroup tree was delegated to nb.
 *
 * Needs cgroup v2 and a delegated cgroup (a systemd unit with Delegate=yes): elsewhere the tree
 * belongs to another program and stays unchanged. nb moves into a leaf of its own, because the
 * kernel allows processes in leaves only; each server gets a leaf beside it. The bash bundle gets a
 * group instead of a leaf, with one leaf in it for each command. Controllers that were not
 * delegated are skipped: cgroup_controllers returns the available ones.
 *
 * Where the pids controller still belongs to cgroup v1, root can use it below its own cgroup
 * without moving: then only the number of processes is limited. This matters because the kernel
 * does not enforce RLIMIT_NPROC for root. Blocks for microseconds. */
#pragma once

#include "base/arena.h"

struct cgroup_place {
    const char *self;  /* "/proc/self/cgroup" */
    const char *mount; /* "/sys/fs/cgroup" */
};
extern const struct cgroup_place CGROUP_SYSTEM;

struct cgroup_limits { /* 0 = none */
    int64_t memory_bytes;
    int64_t tasks; /* processes and threads */
};

/* "memory pids cpu", or a part of it: the controllers that limit servers here. Empty: none. Changes
 * nothing. */
str cgroup_controllers(struct arena *a, const struct cgroup_place *place);

/* Creates a cgroup with these limits: its path in the arena, or NULL where there can be none. The
 * server joins it by writing to its cgroup.procs (launch.h). */
const char *cgroup_make(struct arena *a, const struct cgroup_place *place, str name,
                        const struct cgroup_limits *limits);
/* Creates a cgroup for leaves, without limits of its own; its path or NULL. */
const char *cgroup_make_group(struct arena *a, const struct cgroup_place *place, str name);
const char *cgroup_make_leaf(struct arena *a, str group, const struct cgroup_limits *limits);

/* the kernel has killed a process because of the memory limit */
bool cgroup_ran_out(const char *path);
bool cgroup_was_full(const char *path);   /* the kernel has refused to create a process */
bool cgroup_has_memory(const char *path); /* the kernel counts its memory */
void cgroup_kill(const char *path);       /* all processes in it, if the kernel supports that */
void cgroup_sweep(const char *group, int min_age_s); /* removes leaves without processes */
void cgroup_remove(const char *path); /* after its processes have ended; leaves first */
