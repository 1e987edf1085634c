/* dir_grant.h - a directory of somebody's terminal, lent to one run of a server.
 *
 * The owner of nb's files sends it with a message through the server's Unix socket. It is part of
 * the run's actor (actor.h), so that it reaches child runs and survives a restart, and so that it
 * is gone as soon as words of anybody else are in the run. It names the directory itself as well
 * as the way to it: a directory that was removed, replaced, or that another mount namespace shows
 * under the same path is refused.
 *
 * Looks at files: not on the loop thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define DIR_GRANT_PATH_MAX 4000

struct dir_grant {
    str path; /* absolute, without links; empty = none */
    str id;   /* device, inode and time of birth */
};

/* The grant of a directory that is there now. The message says what is wrong with it. */
int dir_grant_of(struct arena *a, const char *path, struct dir_grant *ret, struct err *e);

/* Is it still that directory? -EINVAL: it never was a grant; -ENOENT, -ESTALE, -EACCES. */
int dir_grant_check(const struct dir_grant *g, struct err *e);

bool dir_grant_same(const struct dir_grant *x, const struct dir_grant *y);
