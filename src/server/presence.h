/* presence.h - ensures one server per work directory, and has the socket that commands connect
 * to. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/* The socket of the server of a work directory: nb.sock in it. A path that is too long for a Unix
 * socket is replaced by one in the runtime directory of the user (XDG_RUNTIME_DIR, else
 * /tmp/nb-<uid>), named by a hash of the work directory. Creates nothing. */
const char *presence_socket(struct arena *a, const char *work_dir);

/* Creates the directory of that socket, for this user alone, unless it is the work directory.
 * -EACCES when another user owns it or may enter it. */
int presence_make_socket_dir(const char *socket_path, const char *work_dir, struct err *e);

/* Locks the work directory itself (flock), because a lock file could be removed; the lock lasts
 * until *ret_fd is closed or the process ends. -EBUSY when another server has it. On a file system
 * without such locks, *ret_fd is -1 and the result 0. */
int presence_claim(const char *work_dir, int *ret_fd, struct err *e);
