/* download.h - downloads a URL into a new file.
 *
 * The pool writes the data in pieces; while a piece is being written the sender is paused, so
 * memory stays bounded. After success the file is complete; otherwise it is removed. Loop thread
 * only. */
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

/* Called exactly once unless cancelled, never before download_start has returned. err: NULL when
 * the file is complete. */
typedef void (*download_done)(void *ctx, const struct err *err);

struct download *download_start(const struct download_spec *spec, download_done done, void *ctx);
void download_cancel(struct download *d); /* no callback follows; removes the file */
