/* cgroup.h - memory ceilings that the kernel keeps, where nb was given a part of its tree.
 *
 * Needs cgroup v2 and a delegated cgroup (a systemd unit with Delegate=memory): elsewhere the
 * tree belongs to somebody else and is left alone. nb moves into a leaf of its own, because
 * the kernel wants processes in leaves only; each server gets a leaf beside it. Blocks for
 * microseconds. */
#pragma once

#include "base/arena.h"

struct cgroup_place {
    const char *self;  /* "/proc/self/cgroup" */
    const char *mount; /* "/sys/fs/cgroup" */
};
extern const struct cgroup_place CGROUP_SYSTEM;

/* A fresh cgroup with this ceiling: its path in the arena, or NULL where there can be none. The
 * server joins it by writing to its cgroup.procs (launch.h). */
const char *cgroup_make(struct arena *a, const struct cgroup_place *place, str name,
                        int64_t memory_max_bytes);
bool cgroup_ran_out(const char *path); /* the kernel has ended something for want of memory */
void cgroup_remove(const char *path);  /* when its processes have ended */
