/* aws_frames.h - an incremental reader of application/vnd.amazon.eventstream.
 *
 * A frame is: its length, the length of its headers, a checksum of these two, headers, payload,
 * and a checksum of all. Accepts any chunking. Lengths and both checksums are verified before
 * anything is delivered; a frame is bounded. */
#pragma once

#include "base/buf.h"

struct aws_frame {
    str message_type; /* "event", "exception", "error" */
    str name;         /* of the event or the exception */
    str payload;
};

/* The slices live for the call. The callback must not free or feed the reader. */
typedef void (*aws_frame_fn)(void *ctx, const struct aws_frame *f);

struct aws_frames {
    struct buf bytes; /* of the frame that is not complete */
    size_t max;
    bool has_failed;
    aws_frame_fn on_frame;
    void *ctx;
};

void aws_frames_init(struct aws_frames *r, size_t max_frame_bytes, aws_frame_fn fn, void *ctx);
void aws_frames_done(struct aws_frames *r);
/* 0, or from now on -EBADMSG (no frames, or damaged ones) or -EMSGSIZE. */
int aws_frames_feed(struct aws_frames *r, str bytes);
