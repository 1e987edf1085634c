/* picker.h - choosing one of many lines with a search: keys in, text out.
 *
 * A pure state machine. Typed words narrow the list to the lines that contain all of them; arrows,
 * Ctrl-P and Ctrl-N move, Enter chooses, Esc, Ctrl-C and Ctrl-D leave. Labels are foreign and made
 * safe here. One owner, loop thread. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#define PICKER_ITEMS_MAX 1000
#define PICKER_LINES     10 /* shown at a time */
#define PICKER_QUERY_MAX 200

struct picker_item {
    str value;         /* what is chosen */
    str label, detail; /* what is shown; safe */
};

struct picker {
    struct arena arena;
    const char *title;
    struct picker_item *items;
    size_t n, cap;
    struct buf query;
    size_t *matches; /* indexes of the lines that have the query */
    size_t nmatches, at;
};

enum picker_state { PICKER_OPEN, PICKER_CHOSEN, PICKER_LEFT };

void picker_init(struct picker *p, const char *title);
void picker_done(struct picker *p);
/* Copies the texts. Ignored beyond PICKER_ITEMS_MAX. */
void picker_add(struct picker *p, str value, str label, str detail);

/* Bytes of the keyboard, whole keys; those behind the last one that matters are dropped. */
enum picker_state picker_keys(struct picker *p, str bytes);
str picker_value(const struct picker *p); /* of the current line; empty if none matches */

/* Lines of at most `width` columns, joined by line feeds; the cursor is in the first one, in
 * *ret_col. */
void picker_draw(const struct picker *p, size_t width, bool has_color, struct buf *out,
                 size_t *ret_col);
