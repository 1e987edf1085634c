/* file.h - small files, read and written whole. Blocking: for start-up and pool threads.
 *
 * This floor wraps the operating system where a plain call needs a loop or careful ordering:
 * file.h (whole files), dir.h (names in a directory), lock.h (flock with a time limit), zone.h
 * (time zones). */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/* Reads at most max_bytes; a larger file is -EFBIG. Directories and devices are refused. */
int file_read(struct arena *a, const char *path, size_t max_bytes, str *ret, struct err *e);

/* Writes a temporary file beside `path`, syncs it, renames it over `path` and syncs the
 * directory: readers see the old or the new content, never a part. */
int file_write_atomic(const char *path, str bytes, unsigned mode, struct err *e);

/* mkdir -p with mode 0700 for what is created. */
int file_make_dirs(const char *path, struct err *e);

bool file_exists(const char *path);

/* The first bytes of a file, in one read: for files of the kernel, and for first lines. Empty when
 * it cannot be read. */
str file_head(const char *path, char *p, size_t max);
/* Writes to a file that exists, in one write: for files of the kernel. 0 or -errno. */
int file_put(const char *path, const char *text);

/* Repeat read(2) or write(2) until all n bytes are done. A file that ends early is -EIO. */
int file_read_all(int fd, char *p, size_t n);
int file_write_all(int fd, str bytes);

/* The path of the program that runs, nb. */
const char *file_own_program(struct arena *a);

void file_close(int fd); /* a negative one is not open */
