/* recover.h - what a log needs before the first append after it was opened.
 *
 * A crash leaves at most one unfinished line at the end. A tail that is not JSON was never
 * acknowledged: it is copied to <path>.torn and cut off. A tail that is a whole JSON object
 * only lacks its line feed and gets it. Nothing before the tail is touched. The caller holds
 * the lock on the log. Pool threads. */
#pragma once

#include "store/event/io.h"

struct recovery {
    off_t length;        /* of the log afterwards; it ends in a line feed */
    off_t torn_bytes;    /* moved to <path>.torn */
    bool was_terminated; /* a line feed was added */
};

/* 0 or -errno with a message; on failure the log is unchanged or still recoverable. */
int recover_tail(const struct store_io *io, int fd, const char *path, struct recovery *ret,
                 struct err *e);
