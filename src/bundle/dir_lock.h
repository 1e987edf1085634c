/* dir_lock.h - one writer at a time for the files of a directory.
 *
 * The lock is on the directory itself: it leaves no file behind and outlives the renaming of
 * what it protects. It holds between processes and between threads. Blocking. */
#pragma once

#include "base/err.h"

#define DIR_LOCK_WAIT_MS 5000

/* Waits up to DIR_LOCK_WAIT_MS; -EBUSY after that. close(*ret_fd) gives it back. */
int dir_lock(const char *dir, int *ret_fd, struct err *e);

/* The same for a directory with settings: a server that runs holds the lock on its work directory
 * (server/presence.h), so this one is on a file in it. */
#define DIR_LOCK_SETTINGS ".settings.lock"
int dir_lock_settings(const char *dir, int *ret_fd, struct err *e);
