/* term_answer.h - the answer of a terminal to the question what it can do (DA1), which comes
 * between the keys: ESC [ ? 62 ; 4 ; 22 c. It is taken out of them, so that nothing takes it for
 * typed keys. Only one that was asked for, once, and short. Pure. */
#pragma once

#include "base/str.h"

#define TERM_QUESTION   "\x1b[c"
#define TERM_ANSWER_MAX 64u

struct term_answer {
    bool is_awaited;
    bool has_sixel;             /* 4 is among what it can do */
    char held[TERM_ANSWER_MAX]; /* the beginning of the answer */
    size_t n;
};

/* Copies keys to `to`, which has room for TERM_ANSWER_MAX bytes more than there are; returns how
 * many. The beginning of an answer is held back until the rest comes; no key begins like it. */
size_t term_answer_take(struct term_answer *t, str keys, char *to);
