/* search_words.h - texts and questions as the words that the full-text index holds.
 *
 * Texts are folded by us (fold.h) and handed over as words between spaces, so that the
 * index finds what a scan finds. CJK text has no words: each pair of neighbours is one, and
 * the last character of a run is one by itself; a question of one character asks for words
 * that begin with it. Beside what was said, a message holds marks: who said it, and the
 * number of its log. A question made here finds everything that query_matches accepts and
 * sometimes a little more, so each hit is checked against the log. Pure; any thread. */
#pragma once

#include "store/event/query.h"

/* Adds the words of a message to out, separated by spaces. */
void search_words(struct buf *out, const struct event_text *text, int64_t log_no);

/* The question in the language of FTS5; empty when it constrains nothing that the index
 * holds. log_no: of one log only; 0 = of all. notes_no: and of the notes beside it; 0 = none. */
str search_expression(struct arena *a, const struct query *q, int64_t log_no, int64_t notes_no);
