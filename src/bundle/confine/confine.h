/* confine.h - Landlock and seccomp, for the process that calls it and all that follow from it.
 *
 * The sandbox where bubblewrap does not work. Landlock says which files may be opened; what
 * it does not cover is taken away by seccomp: sockets (all of them without network; those of
 * the machine itself always, for nb's own would be among them), changing modes and owners,
 * tracing, mounts, keys, io_uring. There is no way back. */
#pragma once

#include "base/err.h"
#include "bundle/confine/path_list.h"

struct confine_spec {
    struct path_list read, write;         /* declared */
    struct path_list program_files;       /* read */
    struct path_list hide;                /* inside them, and not to be opened */
    struct path_list own_read, own_write; /* in spite of that */
    bool network;
};

int confine_landlock_abi(void); /* 0 = the kernel has none */
bool confine_has_seccomp(void);

/* Files that do not exist are left out. */
int confine_self(struct arena *a, const struct confine_spec *spec, struct err *e);

/* Its second half. abi: what Landlock covers need not be taken away. */
int confine_syscalls(bool network, int landlock_abi, struct err *e);

/* The filter for a server in bubblewrap's namespaces, as a file for its --seccomp: no namespaces
 * of its own, and none of the kernel's doors that no server needs. Files and addresses are left
 * to bubblewrap. */
int confine_bwrap_filter(int *ret_fd, struct err *e);
