/* diff_lines.h - the difference of two texts, line by line, as unified text and on the screen.
 *
 * Lines begin with "+", "-" or a space; "@" alone marks lines that are left out. Both sides are
 * foreign text of any size: what is compared is bounded, and longer texts are shown as one removal
 * and one addition. Pure. */
#pragma once

#include "base/buf.h"

#define DIFF_LINES_MAX 5000 /* of each side; further ones are left out, and counted */

/* has_before false: the text is new. */
void diff_lines(struct buf *out, str before, bool has_before, str after);
/* How many lines of such a text are added and removed. */
void diff_count(str diff, size_t *ret_added, size_t *ret_removed);
/* Draws at most `max` of its lines, safe and in colours, each with two columns in front; a longer
 * line is cut, or broken with `is_whole`. Returns how many lines were not drawn. */
size_t diff_draw(struct buf *out, str diff, size_t width, size_t max, bool is_whole,
                 bool has_color);
