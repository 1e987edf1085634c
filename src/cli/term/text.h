/* text.h - makes foreign text safe for a terminal, and measures its width.
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

/* "label text\n", the label padded to `width` columns; nothing for an empty text. */
void text_print(FILE *out, const char *label, int width, str s);
