/* index_price.h - the prices that the costs in the index were computed with.
 *
 * Costs are summed up once, when a log is read. The price of each model is saved with the sums;
 * when a price has changed since, the sums are wrong and the index is created again. Private to
 * store/; the thread that holds the connection. */
#pragma once

#include "base/map.h"
#include "store/store.h"

struct index_db;

/* A store_env whose prices are those of `real`, with the models asked for remembered. */
struct index_price {
    const struct store_env *real;
    struct store_env env;
    struct map models;
};

void index_price_init(struct index_price *p, const struct store_env *real);
void index_price_done(struct index_price *p);
int index_price_save(struct index_price *p, struct index_db *db); /* inside a transaction */

bool index_price_agrees(struct index_db *db);

/* The cost of a fixed usage: it changes when any price of the model changes. -1: unknown. */
double index_price_probe(const struct store_env *env, str model);
