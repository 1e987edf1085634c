/* replay.h - restores logs from the journals of processes that have ended.
 *
 * Runs when a store is opened, before any log is opened: after a power loss a log may lack bytes
 * that a journal has. Each record is compared with the log and written at its offset, even when
 * the log already has the same bytes, because those may be only in the page cache. The logs are
 * synced, then the journal is deleted. A journal whose process is alive is not touched.
 *
 * A journal is untrusted input: replay never writes outside the directory, creates only logs
 * whose first bytes the journal has, and never overwrites bytes that differ from the record (zeros
 * excepted). Blocking; any thread. */
#pragma once

#include "store/event/io.h"

struct replay_report {
    size_t logs;           /* that lacked bytes */
    uint64_t bytes;        /* restored */
    size_t set_aside;      /* records that do not match their log; saved in <log>.torn */
    size_t unwritable;     /* logs without write permission; their journal is kept */
    char example[256 + 1]; /* one log with a record that was set aside, or without permission */
};

typedef void (*replay_say)(void *ctx, const char *sentence);
/* Calls `say` with each sentence that an operator should read; not at all when nothing happened. */
void replay_tell(const struct replay_report *r, const char *dir, replay_say say, void *ctx);

/* 0, or -errno with a message: then journals are left, and no log may be opened. */
int replay_journals(const struct store_io *io, const char *dir, struct replay_report *ret,
                    struct err *e);
