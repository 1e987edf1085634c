/* screen.h - the bottom of a terminal, which can still change, below the text that cannot.
 *
 * Text printed through screen_update is final and scrolls away as usual. Below it is the region: a
 * few lines that every update may replace, taller than the screen or not; only lines that differ
 * are written. Every update reads the size of the terminal, so the next update after a resize draws
 * the region correctly. Each update is one write. Loop thread only. */
#pragma once

#include "base/buf.h"

struct screen {
    int fd;               /* a terminal; borrowed */
    struct buf out;       /* being composed */
    struct buf drawn;     /* the region's lines on the screen, joined by '\n' */
    size_t lines, cursor; /* of the region: how many, and in which one the cursor is */
    size_t cursor_col;
    size_t cols;   /* when it was drawn */
    bool is_plain; /* only final text is written, and no sequence */
};

struct screen_region {
    str text;        /* lines joined by '\n'; empty = no region */
    size_t row, col; /* of the cursor */
};

#define SCREEN_AT_END ((size_t)-1) /* as row: after the last character */

void screen_init(struct screen *s, int fd);
void screen_done(struct screen *s); /* leaves everything on the screen, with the cursor below it */

size_t screen_width(const struct screen *s); /* columns that lines may use */

/* Prints `final` (whole lines, each ended by '\n') above the region and replaces the region. */
void screen_update(struct screen *s, str final, const struct screen_region *region);
/* Writes a sequence of picture.h below everything; the region is gone. */
void screen_picture(struct screen *s, str sequence);
/* Other code has written to the terminal: the next region is drawn at the current cursor. */
void screen_forget(struct screen *s);
/* Clears the screen and the region. */
void screen_wipe(struct screen *s);
