/* search_find.h - runs a search in the index, and in the ends of the logs that the full-text index
 * does not contain yet. Blocking. */
#pragma once

#include "store/index/index_sync.h"

/* Fills op->out.hits, or op->err when the query is invalid. -errno: the index failed; scan the logs
 * instead. */
int search_find(struct index_sync *s, struct store_op *op);
