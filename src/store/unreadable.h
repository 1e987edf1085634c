/* unreadable.h - logs that are there and cannot be read: left out of lists, but not in silence.
 *
 * Each is logged once, when it is found, and named with every list until it can be read or is
 * gone. Any thread. */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "store/store.h"

#define UNREADABLE_MAX 100 /* the rest is left out in silence */

struct unreadable {
    pthread_mutex_t lock;
    struct map why; /* id -> message, on the heap */
};

void unreadable_init(struct unreadable *u);
void unreadable_done(struct unreadable *u);

void unreadable_add(struct store *s, str id, const struct err *why);
/* Looks at them again and names those that are still so. Blocking. */
void unreadable_name(struct store *s, struct arena *a, struct store_listing *ret);
