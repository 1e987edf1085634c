/* listing.h - the rules of a list: who sees what, in which order, and where a page ends.
 * One place for all backends and the index. Pure; any thread. */
#pragma once

#include "store/store.h"

bool listing_wants(const struct store_query *q, const struct conv *c);

/* Child runs have the access of their parent, which their own log does not tell: before
 * listing_wants, c->acl has to be that of the topmost parent, or LISTING_NOBODY when a parent is
 * missing or more than LISTING_PARENTS_MAX are named. */
#define LISTING_PARENTS_MAX 8
#define LISTING_NOBODY      ((struct conv_acl){.owner_id = STR_INIT("-")})
bool listing_asks_parent(const struct store_query *q, const struct conv *c);

/* Whether c comes behind the place of the cursor of q, if it has one. */
bool listing_is_after(const struct store_query *q, const struct conv *place, const struct conv *c);

/* A cursor names the last conversation of a page by its place in the order, so that it
 * still works when that conversation is gone. -EINVAL. */
int listing_cursor_parse(str cursor, struct conv *ret_place, struct err *e);

/* Sorts, counts and cuts the page out of everything that matches. convs is reordered. */
int listing_page(struct arena *a, const struct store_query *q, struct conv *convs, size_t n,
                 struct store_listing *ret, struct err *e);
