/* lock.h - {workDir}/directory.lock: one writer of users and workspaces at a time.
 *
 * The file itself is never removed. Writers leave a new mark in it, so that whoever watches it
 * knows when to read again. Blocking, for at most LOCK_WAIT_MS. */
#pragma once

#include "base/err.h"

#define LOCK_WAIT_MS 5000

struct lock {
    int fd; /* -1: there is no file, hence no writer */
};

/* A shared lock on a file that does not exist succeeds: nobody ever wrote. -EBUSY when
 * somebody else holds it for too long. */
int lock_take(struct lock *ret, const char *work_dir, bool is_exclusive, struct err *e);
void lock_drop(struct lock *l);

uint64_t lock_mark(const struct lock *l);         /* 0 = none yet */
int lock_set_mark(struct lock *l, struct err *e); /* a new one; exclusive locks only */

/* The path, for watching; `create` makes the file, but no directory (-ENOENT). */
int lock_path(char *ret, size_t size, const char *work_dir, bool create, struct err *e);

/* flock(2) with `how` (LOCK_SH or LOCK_EX) on any file, for at most LOCK_WAIT_MS; else -EBUSY. */
int lock_wait(int fd, int how);
