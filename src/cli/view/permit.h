/* permit.h - asks the user about tool calls that need permission, one after the other.
 *
 * A run that stops with "waiting" has a question: {askId, calls: [{id, name, input}]}. This module
 * has the text to show, the meaning of each key, and the decisions. It neither reads nor draws. One
 * owner. */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"

struct permit {
    struct arena arena;
    str ask_id;
    const struct json *calls; /* in the arena */
    size_t at;                /* the current call; all are decided when it is at the end */
    struct json *decisions;   /* {callId: true, false or "always"} */
    /* directory of commands, unless a call names one; borrowed, may be empty */
    str shell_directory;
};

void permit_init(struct permit *p, const struct json *ask); /* copies it */
void permit_done(struct permit *p);                         /* accepts a zeroed struct */

bool permit_is_complete(const struct permit *p);

/* Whether this tool runs commands, which have a directory. */
bool permit_is_shell(str tool);

/* "Allow nb__x {...}? [y]es / [N]o / [a]lways " (without the last when the answer cannot be
 * stored), safe to print. An input that is longer than the line, or has several lines, is left out:
 * permit_add_details shows it. For a command: "Allow bash__x in /dir {...}?" */
void permit_add_question(const struct permit *p, struct buf *out, size_t width, bool has_color);
/* Lines with the whole input, printed above the question; nothing when the question contains it.
 * A value is cut after PERMIT_VALUE_MAX bytes; the number of bytes left out is shown. */
void permit_add_details(const struct permit *p, struct buf *out, size_t width, bool has_color);

#define PERMIT_VALUE_MAX 8192

enum permit_answer { PERMIT_UNCLEAR, PERMIT_YES, PERMIT_NO, PERMIT_ALWAYS };

/* y, n or Enter, a; any other key is unclear. */
enum permit_answer permit_of_key(char key);
/* Decides the current call. */
void permit_decide(struct permit *p, enum permit_answer answer);
str permit_tool(const struct permit *p); /* its name */

#define PERMIT_NAMES_MAX      16
#define PERMIT_REFUSED_FORMAT "%.*s was not called: it needs permission (--allow '%.*s' gives it)"

/* Names of the calls in a report that were refused because there was nobody to ask, each once; at
 * most `max`. */
size_t permit_refused(const struct json *report, str *ret, size_t max);
