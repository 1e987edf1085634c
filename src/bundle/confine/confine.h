/* confine.h - Landlock and seccomp, for the calling process and all processes that it starts.
 *
 * The sandbox where bubblewrap does not work; bubblewrap gets the same list of refused system calls
 * (confine_bwrap_filter). Landlock limits which files can be opened; seccomp
 * removes what Landlock does not cover: sockets (all of them without network; local sockets always,
 * because nb's own would be among them), changing modes and owners, tracing, mounts, keys,
 * io_uring. It cannot be undone. */
#pragma once

#include "base/err.h"
#include "bundle/confine/path_list.h"

struct confine_spec {
    struct path_list read, write;         /* declared */
    struct path_list program_files;       /* read */
    struct path_list hide;                /* inside them, but not readable */
    struct path_list own_read, own_write; /* readable and writable even if hidden */
    bool network;
};

int confine_landlock_abi(void); /* 0 = the kernel does not have Landlock */
bool confine_has_seccomp(void);

/* Paths that do not exist are skipped. */
int confine_self(struct arena *a, const struct confine_spec *spec, struct err *e);

/* The seccomp half. abi: calls that Landlock covers need not be refused. */
int confine_syscalls(bool network, int landlock_abi, struct err *e);

/* The filter for a server in bubblewrap's namespaces, as a file for its --seccomp: no new
 * namespaces, and no kernel interfaces that a server does not need. bubblewrap limits files and
 * addresses. */
int confine_bwrap_filter(int *ret_fd, struct err *e);

/* For a process that needs nothing but the descriptors and the memory that it has: it can open no
 * file, socket or process, and run no code that is not loaded yet. */
int confine_to_pipes(struct err *e);
