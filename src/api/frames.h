/* frames.h - messages of the bus as server-sent events.
 *
 * What a client sees differs from what the log holds: an llm.response becomes llm.done, a
 * tool.done carries its text as `output`, a user.message the sender's name. A message of the bus
 * is turned into a frame once, and all streams share it.
 *
 * A frame has one of two forms. In the stream of a conversation its id is the position; in a
 * stream with several conversations conversationId and position are part of the data. */
#pragma once

#include "base/buf.h"
#include "bus/bus.h"
#include "http/sse.h"

struct frame_names { /* who is called what; the answer may be empty */
    str (*find)(void *ctx, str user_id);
    void *ctx;
};

enum frame_form { FRAME_OWN, FRAME_MIXED };

/* The frame of a bus message about a conversation, made on first use and kept with the message;
 * NULL when clients do not get to see this type. Borrowed from the message. */
struct sse_frame *frame_of_msg(struct bus_msg *msg, const struct frame_names *names, str conv_id,
                               enum frame_form form);

/* Writes a log line the way clients see it and returns its event name; STR_NONE, and nothing
 * written, when they do not. `names` may be NULL. */
str frame_data(str line, const struct frame_names *names, struct buf *out);

/* The frame of a line read from the log. The caller unrefs it; NULL as above. */
struct sse_frame *frame_of_line(uint64_t pos, str line, const struct frame_names *names,
                                str conv_id, enum frame_form form);

/* Of something that is not in the log; data is a JSON object. */
struct sse_frame *frame_of_data(str event, str data, str conv_id, enum frame_form form);
