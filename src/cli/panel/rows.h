/* rows.h - pairs of texts in two columns, for lists in the chat: a name and what it means.
 *
 * The texts are foreign and made safe when they are added. The right column is wrapped; in a narrow
 * terminal it stands below the left one. One owner. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#define ROWS_LEFT_MAX 28u                 /* columns */
#define ROWS_OUT_MAX  (16u * 1024 * 1024) /* enough for what rows_draw adds */

struct rows {
    struct arena arena;
    struct row {
        str left, right; /* a title has no right side */
        bool is_title;
    } * items;
    size_t n, cap;
};

void rows_init(struct rows *r);
void rows_done(struct rows *r);

void rows_title(struct rows *r, str text);
void rows_add(struct rows *r, str left, str right);
void rows_say(struct rows *r, const char *left, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Lines of at most `width` columns, each ended by a line feed. */
void rows_draw(const struct rows *r, size_t width, bool has_color, struct buf *out);
