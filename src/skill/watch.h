/* watch.h - keeps the skills of a runtime up to date.
 *
 * Before a turn starts, at most once a second, a pool thread checks whether a skill file has
 * changed (names, sizes, times) and then loads the set again. The turn waits for this, so that a
 * file saved before a message was sent takes effect for that message. Loop thread. */
#pragma once

#include "loop/pool.h"
#include "skill/skill.h"

struct skill_watch;

typedef void (*skill_watch_fn)(void *ctx, struct skills *fresh); /* takes the reference */

struct skill_watch *skill_watch_new(struct loop *l, struct pool *pool,
                                    const struct skill_places *places, skill_watch_fn on_change,
                                    void *ctx);
/* Changes the sources; they take effect with the next check. Borrows the strings. */
void skill_watch_use(struct skill_watch *w, const struct skill_places *places);
void skill_watch_free(struct skill_watch *w); /* no check may be pending */

/* Loads the first set; blocking, for start-up. */
struct skills *skill_watch_load(struct skill_watch *w);

struct skill_check { /* embedded in the struct of the caller */
    struct list_node node;
    loop_fn fn;
    void *ctx;
};
/* Calls fn when the skills are up to date, never before it returns. `is_forced` checks immediately,
 * even within a second of the last check. */
void skill_watch_check(struct skill_watch *w, struct skill_check *c, bool is_forced, loop_fn fn,
                       void *ctx);
