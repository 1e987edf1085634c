/* frames.h - bus messages as server-sent events.
 *
 * Clients see a different form than the log: an llm.response becomes llm.done, a tool.done has its
 * text as `output` and its other parts in short, a user.message has the sender's name. A bus
 * message is converted to a frame once, and all streams share the frame.
 *
 * A frame has one of two forms. In the stream of one conversation its id is the position; in a
 * stream with several conversations, conversationId and position are part of the data. */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"
#include "bus/bus.h"
#include "http/sse.h"

struct frame_names { /* display name of a user; may return an empty text */
    str (*find)(void *ctx, str user_id);
    void *ctx;
};

enum frame_form { FRAME_OWN, FRAME_MIXED };

/* The frame of a bus message about a conversation, created on first use and cached in the message;
 * NULL when clients do not receive this type. Borrowed from the message. */
struct sse_frame *frame_of_msg(struct bus_msg *msg, const struct frame_names *names, str conv_id,
                               enum frame_form form);

/* Writes a log line in the form for clients and returns its event name; STR_NONE, and nothing
 * written, when clients do not receive it. `names` may be NULL. */
str frame_data(str line, const struct frame_names *names, str conv_id, struct buf *out);

/* The content of a message for clients: of the blocks that only their provider understands, the
 * thoughts, in one form (type `reasoning`); the other parts as the log has them. */
void frame_write_content(struct json_writer *w, struct arena *a, const struct json *content);

struct frame_call { /* a tool call */
    str conv_id, id;
};
/* Members of an object for clients: the text of a tool result as `output`; if it has more than
 * text, its `parts` (store/event/parts.h) with addresses; if it is a blob, `blob` with the address.
 * `result` is as the log has it; NULL = none. */
void frame_write_result(struct json_writer *w, struct arena *a, const struct frame_call *call,
                        const struct json *result);

/* The frame of a line read from the log. The caller unrefs it; NULL as above. */
struct sse_frame *frame_of_line(uint64_t pos, str line, const struct frame_names *names,
                                str conv_id, enum frame_form form);

/* A frame for something that is not in the log; data is a JSON object. */
struct sse_frame *frame_of_data(str event, str data, str conv_id, enum frame_form form);
