/* io.h - the system calls that a durable write depends on, as a table.
 *
 * The appender has such a table, so that a test can make any single call fail. Every function
 * returns a result >= 0 or a negative errno. Any thread. */
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"

struct store_io {
    int (*open)(const struct store_io *io, const char *path, int flags, mode_t mode);
    ssize_t (*writev)(const struct store_io *io, int fd, const struct iovec *iov, int n);
    ssize_t (*pwrite)(const struct store_io *io, int fd, str bytes, off_t at);
    int (*sync)(const struct store_io *io, int fd);     /* fdatasync */
    int (*sync_dir)(const struct store_io *io, int fd); /* fsync: fdatasync may skip entries */
    int (*truncate)(const struct store_io *io, int fd, off_t size);
    int (*rename)(const struct store_io *io, const char *from, const char *to);
    int (*link)(const struct store_io *io, const char *from, const char *to);
    int (*unlink)(const struct store_io *io, const char *path); /* rmdir for directories */
    int (*mkdir)(const struct store_io *io, const char *path, mode_t mode);
    void *ctx;
};

extern const struct store_io store_io_system;

/* These write all bytes, or return the first error. */
int io_write(const struct store_io *io, int fd, str bytes);
int io_writev(const struct store_io *io, int fd, struct iovec *iov, size_t n); /* uses up iov */
int io_pwrite(const struct store_io *io, int fd, str bytes, off_t at);

/* Appends the bytes [at, end) of one file to another. */
int io_copy(const struct store_io *io, int from, off_t at, off_t end, int to);

int io_sync_dir(const struct store_io *io, const char *path);    /* the directory itself */
int io_sync_parent(const struct store_io *io, const char *path); /* the one that holds path */

/* The same calls, but both kinds of sync do nothing: for files of a store that syncs nothing. */
struct store_io io_unsynced(const struct store_io *io);

int io_mkdir_all(const struct store_io *io, const char *path); /* mode 0700; existing is fine */
int io_remove_tree(const struct store_io *io, const char *path, int depth); /* absent is fine */
