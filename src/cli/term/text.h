/* text.h - foreign text made safe for a terminal, and how wide it is there.
 *
 * Models, tools and files may send anything. Nothing of theirs reaches the terminal but
 * through text_add and its kin: control characters become visible pictures, so no escape
 * sequence survives, and characters that reorder text become U+FFFD. The functions on width
 * also know the sequences that we write ourselves (ESC [ ... m), which take no room. Pure. */
#pragma once

#include <stdio.h>

#include "base/buf.h"

#define TEXT_TAB_COLUMNS 4

void text_add_char(struct buf *out, uint32_t cp); /* never a control character */
void text_add(struct buf *out, str s);            /* keeps line feeds, tabs become spaces */
void text_add_line(struct buf *out, str s);       /* white space becomes single spaces */

size_t text_width(str s); /* columns */
/* At most `width` columns of s; what is left out is shown by "…". */
void text_clip(struct buf *out, str s, size_t width);

/* "label text\n", the label padded to `width` columns; nothing for an empty text. */
void text_print(FILE *out, const char *label, int width, str s);
