/* watch.h - keeps the skills of a runtime fresh.
 *
 * Before a turn starts, at most once a second, a pool thread looks whether any skill file
 * changed (names, sizes, times) and loads the set anew if so. The turn waits for that, so
 * that what was saved before a message was sent counts for it. Loop thread. */
#pragma once

#include "loop/pool.h"
#include "skill/skill.h"

struct skill_watch;

typedef void (*skill_watch_fn)(void *ctx, struct skills *fresh); /* takes the reference */

struct skill_watch *skill_watch_new(struct loop *l, struct pool *pool,
                                    const struct skill_places *places, skill_watch_fn on_change,
                                    void *ctx);
/* Looks there from now on; what it finds counts from the next check on. Borrows the strings. */
void skill_watch_use(struct skill_watch *w, const struct skill_places *places);
void skill_watch_free(struct skill_watch *w); /* nothing may be under way */

/* The first set, loaded right here: for start-up. */
struct skills *skill_watch_load(struct skill_watch *w);

struct skill_check { /* embedded in whoever waits */
    struct list_node node;
    loop_fn fn;
    void *ctx;
};
/* Calls fn once the skills are fresh; never before it returns. `is_forced` looks at once. */
void skill_watch_check(struct skill_watch *w, struct skill_check *c, bool is_forced, loop_fn fn,
                       void *ctx);
