/* cgroup.h - ceilings that the kernel keeps, where nb was given a part of its tree.
 *
 * Needs cgroup v2 and a delegated cgroup (a systemd unit with Delegate=yes): elsewhere the tree
 * belongs to somebody else and is left alone. nb moves into a leaf of its own, because the kernel
 * wants processes in leaves only; each server gets a leaf beside it. The bash bundle gets a group
 * instead of a leaf, with one leaf in it for each command. Controllers that were not delegated are
 * left out: cgroup_controllers says which are there.
 *
 * Where the controller of processes is still one of cgroup v1, root can use it below its own cgroup
 * without moving: then the number of processes is limited, and nothing else. It matters because the
 * kernel does not keep RLIMIT_NPROC for root. Blocks for microseconds. */
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

/* "memory pids cpu", or a part of it: what limits servers here. Empty: nothing does. Nothing is
 * made or changed. */
str cgroup_controllers(struct arena *a, const struct cgroup_place *place);

/* A fresh cgroup with these ceilings: its path in the arena, or NULL where there can be none. The
 * server joins it by writing to its cgroup.procs (launch.h). */
const char *cgroup_make(struct arena *a, const struct cgroup_place *place, str name,
                        const struct cgroup_limits *limits);
/* A fresh cgroup for leaves, without ceilings of its own; the same path or NULL. */
const char *cgroup_make_group(struct arena *a, const struct cgroup_place *place, str name);
const char *cgroup_make_leaf(struct arena *a, str group, const struct cgroup_limits *limits);

bool cgroup_ran_out(const char *path);    /* the kernel has ended something for want of memory */
bool cgroup_was_full(const char *path);   /* the kernel has refused a process */
bool cgroup_has_memory(const char *path); /* the kernel counts its memory */
void cgroup_kill(const char *path);       /* all processes in it, where the kernel can */
void cgroup_sweep(const char *group, int min_age_s); /* leaves without processes */
void cgroup_remove(const char *path); /* when its processes have ended; leaves first */
