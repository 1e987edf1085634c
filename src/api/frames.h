/* frames.h - messages of the bus as server-sent events.
 *
 * What a client sees differs from what the log holds: an llm.response becomes llm.done, a
 * tool.done carries its text as `output`. Each message is turned into a frame once, and all
 * streams share it. */
#pragma once

#include "base/buf.h"
#include "bus/bus.h"
#include "http/sse.h"

/* The frame of a bus message, made on first use and kept with the message; NULL when clients
 * do not get to see this type. Borrowed from the message. */
struct sse_frame *frame_of_msg(struct bus_msg *msg);

/* Writes a log line the way clients see it and returns its event name; STR_NONE, and nothing
 * written, when they do not. */
str frame_data(str line, struct buf *out);

/* The frame of a line read from the log. The caller unrefs it; NULL as above. */
struct sse_frame *frame_of_line(uint64_t pos, str line);
