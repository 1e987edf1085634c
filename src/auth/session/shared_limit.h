/* shared_limit.h - attempts per minute, counted by all servers of one database together.
 *
 * It comes behind the counters in memory (limit.h), which every server asks first: what they refuse
 * costs no query. Without it, N servers would allow N times as many guesses. The minute is that of
 * the database's clock. Only hashes of the keys are stored, for two minutes, because the keys
 * contain addresses of people. Blocking: pool threads. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct database;

/* Counts one attempt. *ret: how many there were in this minute, this one included; 0 without a
 * database (db is NULL). A failure to reach the database is returned, and *ret is 0: then the
 * counters in memory are what limits. */
int shared_limit_count(struct database *db, str key, unsigned *ret, struct err *e);
/* After success: only guessing is slowed down. */
void shared_limit_give_back(struct database *db, str key);
