/* search_rank.h - how much a hit has to do with the question: BM25.
 *
 * Words that few messages contain weigh more, repeated words count ever less, long messages
 * need more of them; titles count double. Pure, but for the weights, which come from the
 * index. */
#pragma once

#include "store/event/query.h"

#define RANK_HITS_MAX 5000 /* only the newest: a common word has no end of hits */

struct rank {
    double weight[QUERY_TERMS_MAX];
};

/* How rare a word is: found in `with` of `all` messages. */
double rank_weight(int64_t with, int64_t all);

double rank_score(const struct rank *r, const struct query *q, struct arena *scratch,
                  const struct event_text *text);
