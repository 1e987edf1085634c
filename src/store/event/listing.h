/* listing.h - the rules of a list: access, order, and pages. Shared by all backends and the index.
 * Pure; any thread. */
#pragma once

#include "store/store.h"

bool listing_wants(const struct store_query *q, const struct conv *c);

/* Do its marks or its ids select a few conversations, and not only leave some out? */
bool listing_selects(const struct store_query *q);
/* Does a conversation with this mark pass the filters of pins and archive? */
bool listing_takes_mark(const struct store_query *q, const struct mark *m);

/* A child run has the access of its parent, which is not in its own log: before listing_wants,
 * c->acl must be set to that of the topmost parent, or to LISTING_NOBODY when a parent is missing
 * or there are more than LISTING_PARENTS_MAX. */
#define LISTING_PARENTS_MAX 8
#define LISTING_NOBODY      ((struct conv_acl){.owner_id = STR_INIT("-")})
bool listing_asks_parent(const struct store_query *q, const struct conv *c);

/* Is c behind the place of the cursor of q? True when q has no cursor. */
bool listing_is_after(const struct store_query *q, const struct conv *place, const struct conv *c);

/* A cursor describes the place of the last conversation of a page in the order, so that it still
 * works when that conversation is deleted. -EINVAL. */
int listing_cursor_parse(str cursor, struct conv *ret_place, struct err *e);

/* Sorts and counts all matching conversations and returns one page. convs is reordered. */
int listing_page(struct arena *a, const struct store_query *q, struct conv *convs, size_t n,
                 struct store_listing *ret, struct err *e);
