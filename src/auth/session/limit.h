/* limit.h - attempts per minute, by key and in total.
 *
 * Fixed windows of 60 seconds. An attempt is counted before it is made, and a successful one is
 * given back, so that only guessing is slowed down. Loop thread. */
#pragma once

#include "base/map.h"

#define LIMIT_WINDOW_MS 60000
#define LIMIT_KEYS_MAX  10000 /* stored; beyond it only the total is limited */

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

/* The parts of limit_take, for callers that treat the two differently. Each counts one attempt and
 * returns how many there were in this window, this one included. */
unsigned limit_count_key(struct limit *l, str key, uint64_t now_ms); /* UINT_MAX: no room */
unsigned limit_count_total(struct limit *l, uint64_t now_ms);
