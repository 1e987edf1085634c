/* dir_grant.h - permission for one run to use the directory of a user's terminal.
 *
 * The owner of nb's files sends the directory with a message over the server's Unix socket. The
 * grant is part of the run's actor (actor.h): child runs get it, it survives a restart, and it is
 * removed as soon as a message of another person is part of the run. It holds the path and the
 * identity of the directory: a directory that was removed, replaced, or that another mount
 * namespace shows under the same path is refused.
 *
 * Reads the file system: not for the loop thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define DIR_GRANT_PATH_MAX 4000

struct dir_grant {
    str path; /* absolute, without links; empty = none */
    str id;   /* device, inode and time of birth */
};

/* The grant of an existing directory. */
int dir_grant_of(struct arena *a, const char *path, struct dir_grant *ret, struct err *e);

/* Is it still that directory? -EINVAL: this is not a grant; -ENOENT, -ESTALE, -EACCES. */
int dir_grant_check(const struct dir_grant *g, struct err *e);

bool dir_grant_same(const struct dir_grant *x, const struct dir_grant *y);
