/* download.h - a URL into a new file.
 *
 * What arrives is written by the pool in pieces; while a piece is being written the sender is
 * held back, so memory stays bounded. The file is complete when `done` says so, and gone
 * otherwise. Loop thread only. */
#pragma once

#include "loop/pool.h"
#include "net/fetch.h"

struct download;

struct download_spec { /* copied */
    struct pool *pool;
    struct fetcher *fetcher;
    str url;
    unsigned fetch_flags;
    const char *path;   /* must not exist */
    uint64_t bytes_max; /* -EMSGSIZE beyond */
};

/* Never before download_start returned, exactly once unless it is cancelled. err: NULL when
 * the file is there. */
typedef void (*download_done)(void *ctx, const struct err *err);

struct download *download_start(const struct download_spec *spec, download_done done, void *ctx);
void download_cancel(struct download *d); /* no callback any more; removes the file */
