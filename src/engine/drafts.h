/* drafts.h - tool calls that the model has begun to write.
 *
 * A call is a draft from its announcement to the end of the model's answer; then the answer has it,
 * with complete arguments. Loop thread only. */
#pragma once

#include "base/arena.h"

#define DRAFTS_MAX 128 /* of one answer; later ones are not kept */

struct draft {
    str id, name;
    str ui_uri; /* resource of the tool's interface; empty = none */
};

struct drafts {
    struct arena arena;
    struct draft *items;
    size_t n, cap;
};

void drafts_init(struct drafts *d);
void drafts_done(struct drafts *d);

void drafts_begin(struct drafts *d, const struct draft *call); /* copied */
void drafts_clear(struct drafts *d);                           /* the answer has ended */

const struct draft *drafts_find(const struct drafts *d, str id); /* or NULL */
