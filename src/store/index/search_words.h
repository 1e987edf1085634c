/* search_words.h - text and queries as the words of the full-text index.
 *
 * Text is folded by nb (fold.h) and passed to FTS5 as words between spaces, so that the index
 * finds the same messages as a scan. CJK text has no spaces: each pair of neighbouring characters
 * is a word, and so is the last character of a run; a query of one character finds words that
 * begin with it. Besides its text, a message has marks: its sender and the number of its log. An
 * expression finds everything that query_matches accepts and sometimes more, so each hit is
 * checked against the log. Pure; any thread. */
#pragma once

#include "store/event/query.h"

/* Adds the words of a message to out, separated by spaces. */
void search_words(struct buf *out, const struct event_text *text, int64_t log_no);

/* The query as an FTS5 expression; empty when no part of it can be checked in the index. log_no:
 * search this log only; 0 = all. notes_no: and the notes beside it; 0 = none. */
str search_expression(struct arena *a, const struct query *q, int64_t log_no, int64_t notes_no);

/* Calls fn with each word of the expression, all of which a message must have; the order and
 * neighbourhood of words are not part of it. For indexes other than FTS5. */
void search_terms(struct arena *a, const struct query *q,
                  void (*fn)(void *ctx, str word, bool is_prefix), void *ctx);

/* ---- search_rank.c: the relevance of a hit, BM25. Words that occur in few messages weigh more,
 * repetitions of a word weigh less and less, long messages need more of them; titles weigh double.
 * The weights come from the index ---- */

#define RANK_HITS_MAX 5000 /* only the newest hits are ranked: a common word has very many */

struct rank {
    double weight[QUERY_TERMS_MAX];
};

/* How rare a word is: found in `with` of `all` messages. */
double rank_weight(int64_t with, int64_t all);

double rank_score(const struct rank *r, const struct query *q, struct arena *scratch,
                  const struct event_text *text);
