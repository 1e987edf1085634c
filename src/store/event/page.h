/* page.h - a page of events out of a log file: forwards from a position, or backwards from
 * the end, reading no more of the file than the page needs. Pool threads. */
#pragma once

#include <sys/types.h>

#include "store/store.h"

struct blob_place;

struct page_source {
    int fd;
    off_t limit;     /* bytes from here on are not read */
    bool is_bounded; /* the limit is the acknowledged length, not the end of the file */
    const struct blob_place *blobs; /* for range.with_blobs and with_files */
    /* The event that a line represents; NULL: the line itself (file_store.h). */
    str (*event)(struct arena *a, str line);
};

/* Events and lines are in the arena. The maxima of the range must be set. -errno. */
int page_read(struct arena *a, const struct page_source *source, const struct store_range *range,
              struct store_page *ret);
