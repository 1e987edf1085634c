/* index_list.h - a page of conversations from the index. Blocking. */
#pragma once

#include "store/index/index_sync.h"

/* Fills op->out.listing, or op->err when the query is invalid. Every row is checked against its
 * file and brought up to date first. -errno: the index failed; scan the logs instead. */
int index_list_page(struct index_sync *s, struct store_op *op);
