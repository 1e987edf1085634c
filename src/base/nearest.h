/* nearest.h - which known word a mistyped one may have meant.
 *
 *     struct nearest n = nearest_to(wanted);
 *     for each known word: nearest_offer(&n, word);
 *     if (n.best) "did you mean '%s'?"
 *
 * Only words that differ by a few letters are offered: no suggestion is better than a wrong one. */
#pragma once

#include "base/err.h"

#define NEAREST_WORD_MAX 128 /* bytes of a word that are looked at */

struct nearest {
    str wanted;
    const char *best; /* the caller's word, or NULL */
    size_t distance;  /* of `best`; without one, the first that is too far */
};

struct nearest nearest_to(str wanted);
void nearest_offer(struct nearest *n, const char *word);

/* Ends the message with "; did you mean 'best'?", if there is one. */
void nearest_hint(struct err *e, const char *best);

/* Letters to insert, delete, replace or swap with their neighbour to turn a into b. ASCII case is
 * ignored. */
size_t edit_distance(str a, str b);

/* How far apart two words may be to be taken for each other. */
size_t edit_distance_allowed(str wanted);
