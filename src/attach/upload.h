/* upload.h - a file that is coming in, written to disk piece by piece.
 *
 * The bytes go to a temporary file while they are hashed; the last step syncs it and makes it a
 * file of the library. An upload that is cancelled, or fails, leaves nothing. Memory: at most what
 * was written since upload_write returned false, and UPLOAD_BUFFER twice. Loop thread; disk work is
 * done by the pool. */
#pragma once

#include "attach/attach.h"

#define UPLOAD_BUFFER (128u * 1024)

struct upload;

struct upload_events {
    void (*on_room)(void *ctx); /* upload_write had returned false; it may be called again */
    /* The last call. -EFBIG: larger than one file may be; -EDQUOT: the workspace is full; -EINVAL;
     * -ENOSPC, -EIO. Before upload_finish only with an error. */
    void (*on_done)(void *ctx, const struct err *err, const struct attached *file);
};

struct upload *upload_new(struct attach *a, str user_id, const struct upload_events *ev, void *ctx);
/* The name as given; it is cleaned. Before the first upload_write. */
void upload_name(struct upload *u, str name);
/* Whether as many bytes more would be accepted; for a length that is known at the beginning. */
int upload_check(const struct attach *a, uint64_t bytes, struct err *e);
/* False: wait for on_room, or on_done with an error. */
bool upload_write(struct upload *u, str piece);
void upload_finish(struct upload *u);
void upload_cancel(struct upload *u); /* no callback */
