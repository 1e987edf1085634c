/* guide.h - usage instructions for the open app, provided by its server.
 *
 * A server may offer the resource skill://<server>/usage. It is read at most once in
 * GUIDE_FRESH_MS, from running apps with a trust score of at least PROMPT_TRUST_MIN and without
 * changes that wait for approval, and is put into the prompt as third-party text. A server that
 * does not answer within GUIDE_WAIT_MS is asked again after GUIDE_LATE_MS: it may only have been
 * busy. The guide of a run is part of its setting (setting.h), so that a resumed run gets the same
 * text. Loop thread only. */
#pragma once

#include "base/map.h"

struct turn;

#define GUIDE_FRESH_MS (5u * 60 * 1000)
#define GUIDE_WAIT_MS  2000
#define GUIDE_LATE_MS  15000
#define GUIDES_MAX     64 /* kept */

struct guides {
    struct map by_app; /* name, package and version -> struct guide */
};

void guides_init(struct guides *g);
void guides_done(struct guides *g);

/* Adds the guide to the app of the turn, if there is one, and calls `then`. */
void guide_load(struct turn *t, void (*then)(struct turn *t));
