/* index_list.h - a page of conversations from the index. Blocking. */
#pragma once

#include "store/index/index_sync.h"

/* Fills op->out.listing, or op->err when the question is wrong. Every row has been checked
 * against its file; rows that were behind are caught up first. -errno: ask another way. */
int index_list_page(struct index_sync *s, struct store_op *op);
