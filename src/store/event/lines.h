/* lines.h - the lines of a log file, forwards and backwards, in bounded memory.
 *
 * A line ends with a line feed; bytes behind the last line feed are not a line. Lines longer than
 * LINES_MAX_BYTES are skipped and counted. Positions are byte offsets just past a line. Pool
 * threads; pread only, so one fd may serve several readers. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"

#define LINES_MAX_BYTES                                                                            \
    (17 * 1024 * 1024) /* STORE_LINE_MAX and the members that the store adds                       \
                        */

struct line {
    off_t start, end; /* end is past the line feed */
    str text;         /* without it */
};

struct lines {
    int fd;
    off_t at, limit; /* the next line starts at `at`; bytes from `limit` on are not read */
    struct buf window;
    off_t window_at;  /* file offset of the window's first byte */
    int64_t overlong; /* lines that were skipped */
};

/* Reads [from, limit); from must be the start of a line. */
void lines_init(struct lines *l, int fd, off_t from, off_t limit);
void lines_done(struct lines *l);
/* 1 and the next line (borrowed until the next call), 0 at the end, or -errno. */
int lines_next(struct lines *l, struct line *ret);

/* The start of the unfinished line at the end: the offset past the last line feed before size, 0
 * when the file has no line feed. */
int lines_last_start(int fd, off_t size, off_t *ret);

/* The text behind the last line feed, if it is a complete JSON object that only lacks its line
 * feed: 1 and the text (in the arena), 0 or -errno. Its position is size + 1, which it will have
 * when a writer has added the line feed. */
int lines_unended(struct arena *a, int fd, off_t start, off_t size, str *ret_text);

/* Is `pos` 0 or just past a line feed? 1, 0 or -errno. */
int lines_is_boundary(int fd, off_t pos);

/* The lines of [0, end), the last one first. */
struct lines_back {
    int fd;
    off_t at;        /* where the line ends that is returned next */
    off_t window_at; /* file offset of the window's first byte */
    char *window;    /* has the bytes [window_at, at) */
    size_t cap, piece;
};

/* end must be 0 or just past a line feed. */
void lines_back_init(struct lines_back *l, int fd, off_t end);
void lines_back_done(struct lines_back *l);
/* 1 and the line before (borrowed until the next call), 0 at the start of the file, or -errno.
 * Lines that are too long are skipped. */
int lines_back_next(struct lines_back *l, struct line *ret);
