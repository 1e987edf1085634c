/* repair.h - repairs a log explicitly, in the same way as opening it for writing does.
 *
 * An unfinished last line is moved to <log>.torn, or completed with the line feed it lacks. Lines
 * in the middle that cannot be parsed stay in place, and readers skip them, because a later version
 * may be able to read them. A lost line 1 is only reported: it names the owner, which a person must
 * choose. Loop thread. */
#pragma once

#include "store/store.h"

struct repair_report {
    int64_t torn_bytes;  /* moved to <log>.torn */
    bool was_terminated; /* a line feed was added */
    int64_t bad_lines;   /* in the middle, not changed */
    bool lacks_header;   /* line 1 is lost or damaged: use store_mend_header */
};

typedef void (*repair_fn)(void *ctx, const struct err *err, const struct repair_report *r);

/* -EBUSY: another process has the log open, and repaired it when opening. -ENOTSUP for stores
 * without files. */
struct store_op *store_repair(struct store *s, str id, repair_fn fn, void *ctx);

/* Writes a new line 1 (the id of the file name, this owner, the time of the first event) before the
 * remaining lines, which are copied unchanged. The damaged log is kept as <log>.damaged.
 * -EALREADY: line 1 is not damaged. -ENOTSUP for stores other than jsonl. A hash chain stays broken
 * at its start. */
struct store_op *store_mend_header(struct store *s, str id, str owner_id, store_done_fn fn,
                                   void *ctx);
