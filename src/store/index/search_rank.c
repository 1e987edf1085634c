#include <math.h>

#include "store/event/fold.h"
#include "store/index/search_words.h"

/* The usual constants of BM25. The mean length is an estimate; the order depends little on it. */
static const double SATURATION = 1.2, LENGTH_SHARE = 0.75, MEAN_BYTES = 500, TITLE_FACTOR = 2;

double rank_weight(int64_t with, int64_t all)
{
    double n = (double)with, total = (double)(all > with ? all : with);
    return log(1 + (total - n + 0.5) / (n + 0.5));
}

static double count_word(str text, str word)
{
    double n = 0;
    for (ptrdiff_t at = 0; (at = str_find(text, word, (size_t)at)) >= 0; at += (ptrdiff_t)word.n)
        n++;
    return n;
}

double rank_score(const struct rank *r, const struct query *q, struct arena *scratch,
                  const struct event_text *text)
{
    str said = fold_text(scratch, text->text), tool = fold_text(scratch, text->tool);
    double length = 1 - LENGTH_SHARE + LENGTH_SHARE * (double)said.n / MEAN_BYTES, score = 0;
    for (size_t i = 0; i < q->n; i++) {
        double n = count_word(said, q->terms[i].text) + count_word(tool, q->terms[i].text);
        score += r->weight[i] * n * (SATURATION + 1) / (n + SATURATION * length);
    }
    return str_eq(text->role, STR("title")) ? score * TITLE_FACTOR : score;
}
