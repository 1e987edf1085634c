/* tempdir.h - a directory of a test's own, and its end with everything in it. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct tempdir {
    char path[64];
};

static inline int tempdir_make(struct tempdir *d)
{
    snprintf(d->path, sizeof d->path, "/tmp/nb-unit-XXXXXX");
    return mkdtemp(d->path) ? 0 : -1;
}

/* Where syncs cost nothing, if there is such a place. */
static inline int tempdir_make_in_memory(struct tempdir *d)
{
    snprintf(d->path, sizeof d->path, "/dev/shm/nb-unit-XXXXXX");
    return mkdtemp(d->path) ? 0 : tempdir_make(d);
}

static inline int tempdir_remove_one(const char *path, const struct stat *st, int type,
                                     struct FTW *ftw)
{
    return remove(path);
}

static inline int tempdir_drop(struct tempdir *d)
{
    return nftw(d->path, tempdir_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
