/* page.h - a page of events out of a log file: forwards from a position, or backwards from
 * the end, reading no more of the file than the page needs. Pool threads. */
#pragma once

#include <sys/types.h>

#include "store/store.h"

struct page_source {
    int fd;
    off_t limit;          /* nothing from here on is looked at */
    bool is_bounded;      /* the limit is what was acknowledged, not where the file ends */
    const char *blob_dir; /* for range.with_blobs */
    /* The event that a line stands for; NULL: the line itself (files.h). */
    str (*event)(struct arena *a, str line);
};

/* Events and lines live in the arena. The range's maxima must be set. -errno. */
int page_read(struct arena *a, const struct page_source *source, const struct store_range *range,
              struct store_page *ret);
