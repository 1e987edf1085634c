/* event.h - the lines of a log: how to read the head of one, and how to build one. The types are in
 * bus/vocabulary.h.
 *
 * A log line is one JSON object. Lines with "type" are events; lines with "role" and no "type" are
 * messages of an older format, which nb will always read. Pure; any thread. */
#pragma once

#include "base/json/json.h"
#include "bus/vocabulary.h"

struct event_head {
    enum event_type type;
    str type_name; /* borrowed from the line; "message" for a legacy message */
    str ts;        /* raw JSON value, or STR_NONE */
};

/* Reads the top level of a complete line without building a tree. False: not an event. */
bool event_scan(str line, struct event_head *ret);
/* The same for a line that is known to be valid JSON: stops after the members it needs, which come
 * first. */
bool event_peek(str line, struct event_head *ret);

/* Makes the stored line of an event that is to be appended: valid JSON, an object with a type (or
 * a message of the older format, from an import), on one line, with a ts, and a line feed at the
 * end. The result is in the arena. -EINVAL, -E2BIG. */
int event_prepare(struct arena *a, str in, int64_t now_ms, str *ret_line, struct err *e);

/* Is this run.done the end of a run that waits for a permission? The run that resumes it completes
 * the answer, so only the end of that run is counted as a message. */
bool event_is_waiting(str run_done_line);

/* Writes {"ts":now,"type":name, and leaves the object open for more members; close it with jw_end.
 */
void event_begin(struct json_writer *w, struct buf *out, enum event_type t, int64_t now_ms);
/* The same without a time, which event_prepare adds when the line is written. For lines that go
 * behind others: with a time of their own they could be older than those before them. */
void event_begin_undated(struct json_writer *w, struct buf *out, enum event_type t);

/* The line with a ts in front if it has none: its own time under another name (event_time), or
 * *last_ms, which is updated with the time of each line. v is the parsed line. */
str event_dated(struct arena *a, str line, const struct json *v, int64_t *last_ms);

/* The time of a line: an ISO string or epoch milliseconds, under "ts", "timestamp" or
 * "createdAt". False when there is none. */
bool event_time(const struct json *line, int64_t *ret_ms);
/* The same as an ISO string in the arena; empty when there is none. */
str event_iso(struct arena *a, const struct json *line);
