/* tar.h - files in one file: POSIX ustar, with pax records for what ustar cannot say.
 *
 * Writes regular files only; reads archives of other programs too, as far as they hold regular
 * files and directories. Whatever else is in one (links, devices), a name that leads out of
 * the directory it is unpacked to, and a checksum that is wrong are errors: an archive is
 * foreign input. Blocking. */
#pragma once

#define TAR_STORE_DIR "store.dir" /* conversations from outside of the work directory */

#include <sys/types.h>

#include "base/err.h"

#define TAR_NAME_MAX 4096u
#define TAR_PAX_MAX  (64u * 1024) /* of the records before one entry */

#define TAR_COPY_BYTES (64 * 1024)
/* A whole block of this size that holds nothing but zeros: on disk it can be a hole. */
bool tar_is_hole(const char *block, size_t n);

/* Relative, made of plain segments: no "..", no empty one, no NUL, not too long. */
bool tar_name_ok(str name);

/* ---- writing ---- */

struct tar_writer {
    FILE *out;             /* borrowed; a file, for holes are passed over */
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
int tar_end(struct tar_writer *w, struct err *e);

/* ---- reading ---- */

struct tar_reader {
    FILE *in;      /* borrowed */
    uint64_t left; /* of the entry under way, padding not counted */
    unsigned padding;
};

struct tar_entry {
    char name[TAR_NAME_MAX];
    unsigned mode;
    int64_t mtime;
    uint64_t size;
    bool is_dir;
};

/* 1 and the next entry, whatever was left of the one before is passed over; 0 at the end;
 * -EBADMSG with a message for people. */
int tar_next(struct tar_reader *r, struct tar_entry *ret, struct err *e);
/* Up to n bytes of the entry; 0 at its end, -EBADMSG when the archive ends inside it. */
ssize_t tar_read(struct tar_reader *r, void *p, size_t n, struct err *e);
