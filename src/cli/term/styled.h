/* styled.h - text with a style per byte: written once, wrapped to any width, then printed.
 *
 * Every printed piece begins and ends in the terminal's plain state, so lines can be drawn
 * separately. The text must already be safe (text.h). One owner, loop thread. */
#pragma once

#include "base/buf.h"

enum style {
    STYLE_BOLD = 1,
    STYLE_DIM = 2,
    STYLE_ITALIC = 4,
    STYLE_UNDERLINE = 8,
    STYLE_STRIKE = 16,
    STYLE_CYAN = 32,
    STYLE_GREEN = 64,
    STYLE_RED = 128,
};

/* One piece of text in one style. */
void style_add(struct buf *out, bool has_color, unsigned style, str text);

struct styled {
    struct buf text, style; /* of equal length */
};

void styled_init(struct styled *t, size_t max_bytes);
void styled_done(struct styled *t);
void styled_clear(struct styled *t);
void styled_add(struct styled *t, str s, unsigned style);

struct styled_line {
    size_t from, to, width;
};

/* The line that starts at *at and has at most `width` columns (but at least one character),
 * broken at spaces, between wide characters, or in the middle of a word that is too long.
 * Moves *at to the next one; false when *at has reached `end`. */
bool styled_wrap(const struct styled *t, size_t *at, size_t end, size_t width,
                 struct styled_line *ret);
size_t styled_width(const struct styled *t, size_t from, size_t to);
void styled_emit(struct buf *out, bool has_color, const struct styled *t, size_t from, size_t to);
