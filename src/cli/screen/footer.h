/* footer.h - the cost of an answer and how it ended, as text. Pure. */
#pragma once

#include "base/json/json.h"

/* Tokens, cost and time of an answer. An answer that asked for permission has several reports. */
struct footer_sum {
    int64_t in, out, ms; /* ms: -1 = not known */
    double cost;         /* below 0 = not known */
};

void footer_count(struct footer_sum *sum, const struct json *report);

/* "831 in · 77 out · $0.0042 · 1.1 s · skill review": the sum, and the skill of the last report. */
void footer_add(struct buf *out, const struct footer_sum *sum, const struct json *report);

/* Why an answer is not complete; NULL when it is. */
const char *footer_stop_words(str stop_reason);
