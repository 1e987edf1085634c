/* lock.h - flock(2) with a time limit. The locks hold between processes and between threads.
 * Blocking. */
#pragma once

#include "base/err.h"

#define LOCK_WAIT_MS 5000

/* how: LOCK_SH or LOCK_EX of <sys/file.h>. Waits up to LOCK_WAIT_MS; -EBUSY after that. */
int lock_wait(int fd, int how);
/* Unlocks and closes. The lock belongs to the open file, which a child shares between fork and
 * exec: closing only our descriptor leaves the file locked until that child has executed its
 * program. A negative descriptor is not open. */
void lock_close(int fd);

/* One writer at a time for the files of a directory. The lock is on the directory itself: it leaves
 * no file behind and stays valid when the files in it are renamed. lock_close(*ret_fd) releases it.
 */
int dir_lock(const char *dir, int *ret_fd, struct err *e);

/* The same for a directory with settings: a server that runs holds the lock on its work directory
 * (server/presence.h), so this one is on a file in it. */
#define DIR_LOCK_SETTINGS ".settings.lock"
int dir_lock_settings(const char *dir, int *ret_fd, struct err *e);
