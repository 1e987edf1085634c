/* presence.h - one server per work directory, and the socket where commands find it. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/* The socket of the server of a work directory: nb.sock in it. A path that is too long for a Unix
 * socket is replaced by one in the runtime directory of the user (XDG_RUNTIME_DIR, else
 * /tmp/nb-<uid>), named by a hash of the work directory. Nothing is made. */
const char *presence_socket(struct arena *a, const char *work_dir);

/* Makes the directory of that socket, if it is not the work directory: for this user alone.
 * -EACCES when somebody else owns it or may enter it. */
int presence_make_socket_dir(const char *socket_path, const char *work_dir, struct err *e);

/* Locks the work directory itself (flock), which cannot be removed as a lock file could, until
 * *ret_fd is closed or the process ends. -EBUSY when another server has it. A file system without
 * such locks gives *ret_fd -1 and 0. */
int presence_claim(const char *work_dir, int *ret_fd, struct err *e);
