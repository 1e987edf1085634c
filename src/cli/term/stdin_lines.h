/* stdin_lines.h - protocols over stdin and stdout: one message per line.
 *
 * line_splitter cuts bytes into lines; a line that is longer than the limit is reported once,
 * skipped up to its end, and never held in memory. stdin_lines reads the standard input on the
 * loop, from a pipe, a socket, a terminal or a file. One owner; loop thread only. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"

struct line_events {
    void (*on_line)(void *ctx, str line); /* trimmed, not empty; borrowed */
    void (*on_too_long)(void *ctx);
    void (*on_end)(void *ctx); /* of the input; never for a splitter */
};

struct line_splitter {
    struct buf line;
    bool is_skipping; /* the rest of a line that is too long */
};

void line_splitter_init(struct line_splitter *s, size_t line_max);
void line_splitter_done(struct line_splitter *s);
void line_splitter_feed(struct line_splitter *s, str bytes, const struct line_events *ev,
                        void *ctx);

struct stdin_lines;

/* Starts reading. The last line is accepted without a line feed. A file is read before this
 * returns. NULL: the input cannot be read. Events may come until stdin_lines_free. */
struct stdin_lines *stdin_lines_new(struct loop *l, size_t line_max, const struct line_events *ev,
                                    void *ctx, struct err *e);
/* A reader that is paused keeps no more than one chunk. No effect on a file. */
void stdin_lines_pause(struct stdin_lines *s, bool is_paused);
void stdin_lines_free(struct stdin_lines *s); /* accepts NULL; memory is freed by the loop */

/* Writes a line to stdout. A pipe whose reader takes nothing for STDOUT_WAIT_MS, or that is closed,
 * is an error: -ETIMEDOUT, -EPIPE. */
#define STDOUT_WAIT_MS 30000
int stdout_line(str line);
