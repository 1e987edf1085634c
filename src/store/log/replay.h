/* replay.h - what journals of writers that are gone still hold, put back into the logs.
 *
 * Done when a store is opened, before any log is: after a loss of power a log may end before
 * what a journal has of it. Each record is compared with the log and written where it belongs,
 * also when it is there already: what looks right may be known to the kernel only. The logs are
 * synced, then the journal is deleted. A journal whose writer lives is not touched.
 *
 * A journal is input like any other: it cannot make this write outside the directory, into
 * anything but a log that exists, or over bytes that are different. Blocking; any thread. */
#pragma once

#include "store/event/io.h"

struct replay_report {
    size_t logs; /* that lacked something */
    uint64_t bytes;
    size_t set_aside;      /* records that do not fit their log; they are in <log>.torn */
    size_t unwritable;     /* logs that may not be written; their journal stays */
    char example[256 + 1]; /* one log that was set aside, or is not writable */
};

typedef void (*replay_say)(void *ctx, const char *sentence);
/* What an operator should know of it, if anything. */
void replay_tell(const struct replay_report *r, const char *dir, replay_say say, void *ctx);

/* 0, or -errno with a message: then the journals are still there, and no log may be opened. */
int replay_journals(const struct store_io *io, const char *dir, struct replay_report *ret,
                    struct err *e);
