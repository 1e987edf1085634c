/* roster_lock.h - {workDir}/directory.lock: one writer of users and workspaces at a time.
 *
 * The file itself is never removed. Writers write a new mark to it, so that servers that watch it
 * read the roster again. Blocking, for at most LOCK_WAIT_MS. */
#pragma once

#include "base/err.h"

struct roster_lock {
    int fd; /* -1: the file does not exist, so there was no writer */
};

/* A shared lock on a file that does not exist succeeds: there was no writer yet. -EBUSY when
 * another process or thread holds it for too long. */
int roster_lock_take(struct roster_lock *ret, const char *work_dir, bool is_exclusive,
                     struct err *e);
void roster_lock_drop(struct roster_lock *l);

uint64_t roster_lock_mark(const struct roster_lock *l); /* 0 = none yet */
int roster_lock_set_mark(struct roster_lock *l,
                         struct err *e); /* a new one; exclusive locks only */

/* The path, for watching; `create` makes the file, but no directory (-ENOENT). */
int roster_lock_path(char *ret, size_t size, const char *work_dir, bool create, struct err *e);
