/* lines.h - the lines of a log file, forwards and backwards, in bounded memory.
 *
 * A line counts only with its line feed. Lines longer than LINES_MAX_BYTES are passed over
 * and counted. Positions are byte offsets just past a line. Pool threads; pread only, so
 * one fd may serve several readers. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"

#define LINES_MAX_BYTES (17 * 1024 * 1024) /* STORE_LINE_MAX and what the store adds to it */

struct line {
    off_t start, end; /* end is past the line feed */
    str text;         /* without it */
};

struct lines {
    int fd;
    off_t at, limit; /* next line starts at `at`; nothing from limit on is looked at */
    struct buf window;
    off_t window_at;  /* file offset of the window's first byte */
    int64_t overlong; /* lines passed over */
};

/* Reads [from, limit); from must be the start of a line. */
void lines_init(struct lines *l, int fd, off_t from, off_t limit);
void lines_done(struct lines *l);
/* 1 and the next line (borrowed until the next call), 0 at the end, or -errno. */
int lines_next(struct lines *l, struct line *ret);

/* Where the unfinished line at the end begins: the offset past the last line feed before
 * size, 0 when there is none. */
int lines_last_start(int fd, off_t size, off_t *ret);

/* What follows the last line feed, when it is a whole JSON object that only lacks its own:
 * 1 and the text (in the arena), 0 or -errno. Its position is size + 1, as if the line feed
 * were there already: that is where it will be once a writer has added it. */
int lines_unended(struct arena *a, int fd, off_t start, off_t size, str *ret_text);

/* Is `pos` 0 or just past a line feed? 1, 0 or -errno. */
int lines_is_boundary(int fd, off_t pos);

/* The bytes [*ret_from, end) such that they hold whole lines, at least max_lines of them or
 * max_bytes if the file has so many, and always at least one line; empty when the last line
 * is too long to hold. Copied into the arena. */
int lines_tail(struct arena *a, int fd, off_t end, size_t max_lines, size_t max_bytes,
               off_t *ret_from, str *ret_bytes);
