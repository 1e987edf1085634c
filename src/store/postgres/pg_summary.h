/* pg_summary.h - everything that is derived from the log of a conversation, as one JSON text.
 *
 * It is written in the transaction that appends lines, so that a conversation is one row however
 * long its log is, and an append continues deriving where the last one stopped. Costs are sums at
 * the prices of the time: the text names the price of each model, and when one of them has changed
 * since, the log is read again. Pure; any thread. */
#pragma once

#include "store/event/derive.h"
#include "store/index/index_price.h"

/* A derivation that notes the models whose prices it asks for. */
struct pg_derive {
    struct index_price price;
    struct derive derive;
};

void pg_derive_init(struct pg_derive *d, const struct store_env *env);
void pg_derive_done(struct pg_derive *d); /* accepts a zeroed struct */

str pg_summary_write(struct arena *a, const struct pg_derive *d);
/* d is as initialised. 0; -ESTALE: a price has changed; -EINVAL: not a summary. */
int pg_summary_read(struct pg_derive *d, str text, store_pos end);
