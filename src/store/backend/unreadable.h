/* unreadable.h - logs that exist but cannot be read: left out of lists, and reported.
 *
 * Each is logged once, when it is found, and reported with every list until it can be read or is
 * deleted. Any thread. */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "store/store.h"

#define UNREADABLE_MAX 100 /* further logs are not reported */

struct unreadable {
    pthread_mutex_t lock;
    struct map why; /* id -> message, on the heap */
};

void unreadable_init(struct unreadable *u);
void unreadable_done(struct unreadable *u);

void unreadable_add(struct store *s, str id, const struct err *why);
/* Checks these logs again and reports those that are still unreadable. Blocking. */
void unreadable_name(struct store *s, struct arena *a, struct store_listing *ret);
