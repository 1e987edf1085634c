/* repair.h - what opening a log for writing mends, done on purpose.
 *
 * A tail that a crash left behind is moved to <log>.torn, or ended with the line feed it
 * lacks. Nothing else is ever changed: lines in the middle that cannot be read stay where they
 * are and are passed over by readers, because a later reader may know better. Loop thread. */
#pragma once

#include "store/store.h"

struct repair_report {
    int64_t torn_bytes;  /* moved aside */
    bool was_terminated; /* a line feed was added */
    int64_t bad_lines;   /* in the middle, left alone */
};

typedef void (*repair_fn)(void *ctx, const struct err *err, const struct repair_report *r);

/* -EBUSY: another process has it open, and mended it then. -ENOTSUP for stores without files. */
struct store_op *store_repair(struct store *s, str id, repair_fn fn, void *ctx);
