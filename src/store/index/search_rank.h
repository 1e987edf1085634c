/* search_rank.h - the relevance of a hit: BM25.
 *
 * Words that occur in few messages weigh more, repetitions of a word weigh less and less, long
 * messages need more of them; titles weigh double. Pure; the weights come from the index. */
#pragma once

#include "store/event/query.h"

#define RANK_HITS_MAX 5000 /* only the newest hits are ranked: a common word has very many */

struct rank {
    double weight[QUERY_TERMS_MAX];
};

/* How rare a word is: found in `with` of `all` messages. */
double rank_weight(int64_t with, int64_t all);

double rank_score(const struct rank *r, const struct query *q, struct arena *scratch,
                  const struct event_text *text);
