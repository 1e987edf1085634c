/* footer.h - what an answer cost and how it ended, in words. Pure. */
#pragma once

#include "base/json.h"

/* "831 in · 77 out · $0.0042 · 1.1 s · skill review", from the report of a finished turn. */
void footer_add(struct buf *out, const struct json *report);

/* Why an answer is not complete; NULL when it is. */
const char *footer_stop_words(str stop_reason);
