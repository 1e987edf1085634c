/* search_find.h - answers a search from the index, and from the ends of the logs that the
 * index has not reached. Blocking. */
#pragma once

#include "store/index/index_sync.h"

/* Fills op->out.hits, or op->err when the question is wrong. -errno: ask another way. */
int search_find(struct index_sync *s, struct store_op *op);
