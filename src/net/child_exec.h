/* child_exec.h - fork and exec with three pipes; the part of child.c below the loop. */
#pragma once

#include <sys/types.h>

#include "net/child.h"

struct child_process {
    pid_t pid;
    int pidfd;
    int in, out, err; /* our ends of the pipes; the caller owns all four descriptors */
};

/* Returns when the program has been started, or could not be: 0, or -errno with a message. */
int child_exec(const struct child_spec *spec, struct child_process *ret, struct err *e);
