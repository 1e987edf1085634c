/* fold.h - folds text for searching: lower case, no accents, one space between words.
 *
 * The index and the scan fold in the same way, so that they find the same messages. CJK text has
 * no spaces: there every character may begin or end a word. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

struct casefold_iter { /* iterates over a text character by character */
    str rest;
    size_t at;
};

void fold_init(struct casefold_iter *f, str text);
/* The next character, folded; anything that is not part of a word becomes a space. *ret_at is its
 * byte offset in the text. False at the end. */
bool fold_next(struct casefold_iter *f, uint32_t *ret_cp, size_t *ret_at);

str fold_text(struct arena *a, str text);
bool fold_is_cjk(uint32_t cp);
