/* guide.h - how to use the app in front of the person, in the words of its server.
 *
 * A server may offer the resource skill://<server>/usage. It is read once in GUIDE_FRESH_MS, for
 * apps of at least PROMPT_TRUST_MIN that run and have nothing that waits for approval, and goes
 * into the prompt as the words of a third party. A server that does not answer in GUIDE_WAIT_MS
 * has no guide for that time. What a run was given is part of its setting (setting.h), so that a
 * resumed run reads the same. Loop thread only. */
#pragma once

#include "base/map.h"

struct turn;

#define GUIDE_FRESH_MS (5u * 60 * 1000)
#define GUIDE_WAIT_MS  2000
#define GUIDES_MAX     64 /* kept */

struct guides {
    struct map by_app; /* name, package and version -> struct guide */
};

void guides_init(struct guides *g);
void guides_done(struct guides *g);

/* Adds the guide to the app of the turn, if there is one, and goes on with `then`. */
void guide_load(struct turn *t, void (*then)(struct turn *t));
