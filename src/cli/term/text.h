/* text.h - makes foreign text safe for a terminal, and measures its width; times and bars as text.
 *
 * Models, tools and files may send anything. All foreign text passes text_add and the functions
 * like it: control characters become visible pictures, so no escape sequence survives, and
 * characters that reorder text become U+FFFD. The functions on width also accept the sequences that
 * nb writes itself (ESC [ ... m), which have no width. Pure. */
#pragma once

#include <stdio.h>

#include "base/buf.h"

#define TEXT_TAB_COLUMNS 4

void text_add_char(struct buf *out, uint32_t cp); /* never a control character */
void text_add(struct buf *out, str s);            /* keeps line feeds, tabs become spaces */
void text_add_line(struct buf *out, str s);       /* white space becomes single spaces */

size_t text_width(str s); /* columns */
/* At most `width` columns of s; "…" marks what was left out. */
void text_clip(struct buf *out, str s, size_t width);

/* "label text\n", the label padded to `width` columns; nothing for an empty text. On a terminal it
 * is broken at spaces, further lines below the first word of the text. */
void text_print(FILE *out, const char *label, int width, str s);

/* A time in words, relative to now: "just now", "5 min ago", "3 h ago", "yesterday", "4 days ago",
 * "12 Mar", "12 Mar 2025". A time in the future is "just now". */
void ago_add(struct buf *out, int64_t then_ms, int64_t now_ms);

#define BAR_COLUMNS   20
#define BAR_BYTES_MAX (BAR_COLUMNS * 3 + 1)

/* A number between 0 and 1 as a bar of block characters, in eighths of a column; any value above 0
 * is visible. */
void bar_text(char out[BAR_BYTES_MAX], double share);
