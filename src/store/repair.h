/* repair.h - what opening a log for writing mends, done on purpose.
 *
 * A tail that a crash left behind is moved to <log>.torn, or ended with the line feed it
 * lacks. Lines in the middle that cannot be read stay where they are and are passed over by
 * readers, because a later reader may know better. A lost line 1 is only reported: without it
 * nobody owns the log, and who is to own it is for a person to say. Loop thread. */
#pragma once

#include "store/store.h"

struct repair_report {
    int64_t torn_bytes;  /* moved aside */
    bool was_terminated; /* a line feed was added */
    int64_t bad_lines;   /* in the middle, left alone */
    bool lacks_header;   /* line 1 is lost or damaged: store_mend_header mends that */
};

typedef void (*repair_fn)(void *ctx, const struct err *err, const struct repair_report *r);

/* -EBUSY: another process has it open, and mended it then. -ENOTSUP for stores without files. */
struct store_op *store_repair(struct store *s, str id, repair_fn fn, void *ctx);

/* Puts a new line 1 in front of the lines that are left, byte for byte: the id of the file
 * name, this owner, the time of the first event. The log as it was is kept as <log>.damaged.
 * -EALREADY: line 1 is sound. -ENOTSUP for other stores than jsonl. A hash chain stays broken
 * at its start. */
struct store_op *store_mend_header(struct store *s, str id, str owner_id, store_done_fn fn,
                                   void *ctx);
