/* permit.h - asks a person about tool calls that need permission, one after the other.
 *
 * A run that stops with "waiting" leaves a question: {askId, calls: [{id, name, input}]}.
 * This is the conversation about it at the keyboard: the text to show, what a key means, and
 * the decisions in the end. It neither reads nor draws itself. One owner. */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"

struct permit {
    struct arena arena;
    str ask_id;
    const struct json *calls; /* in the arena */
    size_t at;                /* the call being asked about; all are decided when at the end */
    struct json *decisions;   /* {callId: true, false or "always"} */
    str shell_directory;      /* where commands run unless a call says it; borrowed, may be empty */
};

void permit_init(struct permit *p, const struct json *ask); /* copies it */
void permit_done(struct permit *p);                         /* accepts a zeroed struct */

bool permit_is_complete(const struct permit *p);

/* Does this tool run commands, which are somewhere? */
bool permit_is_shell(str tool);

/* "Allow nb__x {...}? [y]es / [N]o / [a]lways " (without the last where an answer cannot be
 * stored), safe to print. An input that is longer than the line, or has lines of its own, is not
 * part of it: permit_add_details shows that one. Of a command: "Allow bash__x in /dir {...}?" */
void permit_add_question(const struct permit *p, struct buf *out, size_t width, bool has_color);
/* Lines with the whole input, to be printed above the question; nothing when the question holds
 * it. Of a value of more than PERMIT_VALUE_MAX bytes, the rest is counted. */
void permit_add_details(const struct permit *p, struct buf *out, size_t width, bool has_color);

#define PERMIT_VALUE_MAX 8192

enum permit_answer { PERMIT_UNCLEAR, PERMIT_YES, PERMIT_NO, PERMIT_ALWAYS };

/* y, n or Enter, a; anything else is unclear. */
enum permit_answer permit_of_key(char key);
/* Decides the call being asked about. */
void permit_decide(struct permit *p, enum permit_answer answer);
str permit_tool(const struct permit *p); /* its name */

#define PERMIT_NAMES_MAX      16
#define PERMIT_REFUSED_FORMAT "%.*s was not called: it needs permission (--allow '%.*s' gives it)"

/* Names of the calls in a report that were refused because nobody could be asked, each once;
 * at most `max`. */
size_t permit_refused(const struct json *report, str *ret, size_t max);
