/* counts.h - how much of one kind of work each person has in progress.
 *
 * The table contains only people with something in progress. Loop thread only. */
#pragma once

#include "base/map.h"

struct person_counts {
    struct map people; /* user id -> size_t */
    size_t total;      /* of all people */
};

void counts_init(struct person_counts *c);
void counts_done(
    struct person_counts *c); /* whatever is still in progress does not call counts_end */

/* False when the person has `max` in progress already (SIZE_MAX = no limit). */
bool counts_begin(struct person_counts *c, str user_id, size_t max);
void counts_end(struct person_counts *c,
                str user_id); /* once for each counts_begin that was true */
