/* resume.h - uploads that come in several requests (partial.h), from the loop thread: their
 * beginning, their state and their end. The bytes themselves come through upload_resume (upload.h).
 * Callbacks never come before the call has returned. */
#pragma once

#include "attach/attach.h"
#include "attach/partial.h"

struct resume_op; /* a pending call; valid until its callback */

/* After resume_drop `p` is NULL. */
typedef void (*resume_fn)(void *ctx, const struct err *err, const struct partial *p);

/* The name as given; it is cleaned. All bytes are counted from now on. -EFBIG, -EDQUOT, -EUSERS. */
struct resume_op *resume_begin(struct attach *a, str user_id, str name, uint64_t bytes,
                               resume_fn fn, void *ctx);
struct resume_op *resume_look(struct attach *a, str user_id, str id, resume_fn fn, void *ctx);
struct resume_op *resume_drop(struct attach *a, str user_id, str id, resume_fn fn, void *ctx);

void resume_cancel(struct resume_op *op); /* no callback; accepts NULL */
