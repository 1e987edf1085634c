/* tool_lines.h - one line for each tool call of an answer: while it runs, then its result.
 *
 * "⠋ name {input}" becomes "✓ name input → output (3 ms)" or "✗ name input → reason (3 ms)", with
 * "[2]" when there is more of it. The input is its only value, or the whole object; a call with
 * lines below it has none, because they show it. Lines of finished calls are returned in the order
 * of the calls, so a fast call waits for those before it. All text is made safe to print here. One
 * owner, loop thread. */
#pragma once

#include "base/json/json.h"

#define TOOL_LINES_MAX 64 /* shown while they run; further ones appear when they end */

struct tool_line {
    char *id, *name, *input; /* owned */
    char *subject;           /* the input in the finished line; owned, or NULL */
    char *result;            /* the finished line, or NULL while it runs */
};

struct tool_lines {
    struct tool_line items[TOOL_LINES_MAX];
    size_t n;
    bool has_color;
};

void tool_lines_done(struct tool_lines *t); /* removes all of them */

void tool_lines_start(struct tool_lines *t, str id, str name, const struct json *input);
struct tool_end {
    bool ok;
    int64_t ms;
    str output;
    size_t number; /* under which all of it can be seen (view/folds.h); 0 = it has none */
    str below;     /* lines for below it, safe, the last one without a line feed; or empty */
};

/* Whether one line of `width` columns has all of the output. */
bool tool_lines_is_cut(const struct tool_lines *t, str id, str name, const struct tool_end *end,
                       size_t width);
/* The line fits `width` columns. */
void tool_lines_finish(struct tool_lines *t, str id, str name, const struct tool_end *end,
                       size_t width);
void tool_lines_stop(struct tool_lines *t, size_t width); /* no call will end any more */

/* Appends the final lines, each ended by a line feed, and removes them. */
void tool_lines_take(struct tool_lines *t, struct buf *out);
/* The other calls in their current state, joined by line feeds. `spinner` is one column wide. */
void tool_lines_draw(const struct tool_lines *t, str spinner, struct buf *out);
