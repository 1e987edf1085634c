/* shared_rate.h - requests of a minute that other servers have counted.
 *
 * Each server counts in memory (api/ingress/rate.h) and adds what it counted to nb_window once a
 * second; the answer has the count of all. So people get their limit once, not once for each
 * server, give or take what they send within a second. While the database cannot be reached, each
 * server counts alone. Loop thread. */
#pragma once

#include "loop/loop.h"

#define SHARED_RATE_KEYS_MAX 100000 /* more in one second are counted by this server alone */

struct shared_rate;
struct database;

struct shared_rate *shared_rate_new(struct loop *l, struct database *db);
void shared_rate_free(struct shared_rate *s); /* waits for what is under way; accepts NULL */

/* One more request in this window (minutes since the epoch). */
void shared_rate_add(struct shared_rate *s, str key, int64_t window);
/* How many other servers had counted in this window when they were asked last. */
unsigned shared_rate_others(const struct shared_rate *s, str key, int64_t window);
