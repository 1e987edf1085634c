/* tar.h - archives: POSIX ustar, with pax records for values that ustar cannot store.
 *
 * Writes regular files, and hard links to files written before; reads archives of other programs
 * too, if they contain nothing else but directories. Other types (symbolic links, devices), a name
 * outside of the target directory, and a wrong checksum are errors: an archive is foreign input.
 * Blocking. */
#pragma once

#define TAR_STORE_DIR "store.dir" /* conversations from outside of the work directory */

#include <sys/types.h>

#include "base/err.h"

#define TAR_NAME_MAX 4096u
#define TAR_PAX_MAX  (64u * 1024) /* bytes of the records before one entry */

#define TAR_COPY_BYTES (64 * 1024)
/* A whole block of this size with only zeros can be a hole on disk. */
bool tar_is_hole(const char *block, size_t n);

/* Relative, made of plain segments: no "..", no empty segment, no NUL, not too long. */
bool tar_name_ok(str name);

/* ---- writing ---- */

struct tar_writer {
    FILE *out;             /* borrowed; a regular file, because holes are skipped */
    uint64_t files, bytes; /* written, holes not counted */
};

struct tar_file {
    const char *name;
    unsigned mode;
    int64_t mtime; /* seconds */
    uint64_t size;
};

/* Copies exactly `size` bytes from fd. -EIO when there are fewer; the archive is then useless. */
int tar_add(struct tar_writer *w, const struct tar_file *f, int fd, struct err *e);
/* The file is the one that was added as `target`. */
int tar_add_link(struct tar_writer *w, const struct tar_file *f, const char *target, struct err *e);
int tar_end(struct tar_writer *w, struct err *e);

/* ---- reading ---- */

struct tar_reader {
    FILE *in;      /* borrowed */
    uint64_t left; /* bytes left of the current entry, without padding */
    unsigned padding;
};

struct tar_entry {
    char name[TAR_NAME_MAX];
    char link[TAR_NAME_MAX]; /* the entry that it is a hard link to; empty = a file of its own */
    unsigned mode;
    int64_t mtime;
    uint64_t size;
    bool is_dir;
};

/* 1 and the next entry, after skipping the rest of the previous one; 0 at the end; -EBADMSG with a
 * message for the user. */
int tar_next(struct tar_reader *r, struct tar_entry *ret, struct err *e);
/* Up to n bytes of the entry; 0 at its end, -EBADMSG when the archive ends inside it. */
ssize_t tar_read(struct tar_reader *r, void *p, size_t n, struct err *e);
