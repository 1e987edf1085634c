/* pid_space.h - a PID namespace whose first process becomes bubblewrap.
 *
 * bubblewrap makes a PID namespace with two processes of its own: one waits outside, one reaps
 * inside. Executed by the first process of a namespace it needs neither: it waits for the program,
 * reaps orphans, and the kernel ends all processes of the namespace together with it. Its parent
 * needs no second launcher either (launch.h): the first process dies with its parent from the very
 * start, and nothing can leave the namespace.
 *
 * That process has the machine's files around it, so the program must not reach it through /proc.
 * The kernel refuses that, because it belongs to the user namespace above that of the program
 * (which is why --unshare-user is required), and /proc is mounted so that processes which cannot be
 * traced are not even listed (hidepid=ptraceable, Linux 5.8). For processes without threads, or
 * before an execve. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

/* Like fork: 0 in the first process of the new namespace, the id of that process in the caller, or
 * -errno. The child has to call pid_space_enter. alive: a pipe; the caller keeps its writing end
 * open. */
pid_t pid_space_fork(int alive[2]);
/* In the child: arranges that it dies with its parent, and mounts /proc. */
int pid_space_enter(int alive[2], struct err *e);

/* The options of bubblewrap for a program in this namespace: the same without those for a namespace
 * of its own. NULL when they do not say --unshare-user. */
char *const *pid_space_options(struct arena *a, char *const *wrap);
