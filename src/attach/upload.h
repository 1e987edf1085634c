/* upload.h - a file that is coming in, written to disk piece by piece.
 *
 * The bytes go to a temporary file while they are hashed; the last step syncs it and makes it a
 * file of the library. An upload that is cancelled, or fails, leaves nothing. Memory: at most what
 * was written since upload_write returned false, and UPLOAD_BUFFER twice. Loop thread; disk work is
 * done by the pool. */
#pragma once

#include "attach/attach.h"

#define UPLOAD_BUFFER (64u * 1024) /* with a hundred clients it counts */

struct upload;

struct upload_events {
    void (*on_room)(void *ctx); /* upload_write had returned false; it may be called again */
    /* The last call. -EFBIG: larger than one file may be; -EDQUOT: the workspace is full; -EINVAL;
     * -ENOSPC, -EIO. Before upload_finish only with an error. No file and no error: a part was
     * written (upload_resume), and more is to come. */
    void (*on_done)(void *ctx, const struct err *err, const struct attached *file);
};

struct upload *upload_new(struct attach *a, str user_id, const struct upload_events *ev, void *ctx);
/* The next bytes of an upload that was begun with resume_begin; the ones behind its last make it a
 * file. Cancelling, or a failure, keeps what was written. Also -ENOENT, -EBUSY, -ESTALE, as
 * partial_open; -EFBIG: more bytes than were announced. */
struct upload *upload_resume(struct attach *a, str user_id, str id, uint64_t offset,
                             const struct upload_events *ev, void *ctx);
/* The name as given; it is cleaned. Before the first upload_write. */
void upload_name(struct upload *u, str name);
/* Whether as many bytes more would be accepted; for a length that is known at the beginning. */
int upload_check(const struct attach *a, uint64_t bytes, struct err *e);
/* False: wait for on_room, or on_done with an error. */
bool upload_write(struct upload *u, str piece);
void upload_finish(struct upload *u); /* also when the last piece was refused; on_done says so */
/* Instead of both: reads as many bytes from fd, which it takes over; -EINVAL if there are fewer. */
void upload_take(struct upload *u, int fd, uint64_t bytes);
void upload_cancel(struct upload *u); /* no callback */
