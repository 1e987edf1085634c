/* recover.h - repairs the end of a log before the first append after it was opened.
 *
 * A crash leaves at most one unfinished line at the end. A last line that is not JSON was never
 * acknowledged: it is copied to <path>.torn and truncated. A last line that is a complete JSON
 * object only lacks its line feed, which is added. Bytes before the last line are not changed.
 * The caller holds the lock on the log. Pool threads. */
#pragma once

#include "store/event/io.h"

struct recovery {
    off_t length;        /* of the log afterwards; it ends in a line feed */
    off_t torn_bytes;    /* of the unfinished line, moved to <path>.torn */
    bool was_terminated; /* a line feed was added */
};

/* 0 or -errno with a message; on failure the log is unchanged or still recoverable. */
int recover_tail(const struct store_io *io, int fd, const char *path, struct recovery *ret,
                 struct err *e);
