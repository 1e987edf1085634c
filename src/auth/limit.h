/* limit.h - so many attempts per minute, by key and in all.
 *
 * Fixed windows of 60 seconds. An attempt counts before it is made, and a successful one is
 * given back, so that only guessing is slowed down. Loop thread. */
#pragma once

#include "base/map.h"

#define LIMIT_WINDOW_MS 60000
#define LIMIT_KEYS_MAX  10000 /* remembered; beyond it only the total counts */

struct limit {
    unsigned per_key, total;
    struct map windows; /* key -> struct limit_window */
    struct limit_window *all;
};

void limit_init(struct limit *l, unsigned per_key, unsigned total);
void limit_done(struct limit *l);

/* True when the attempt may be made. */
bool limit_take(struct limit *l, str key, uint64_t now_ms);
void limit_give_back(struct limit *l, str key, uint64_t now_ms);
