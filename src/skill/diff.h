/* diff.h - the differences between two sets of skills. Pure. */
#pragma once

#include "bus/vocabulary.h"
#include "skill/skill.h"

/* type: EV_SKILL_CREATED, EV_SKILL_UPDATED or EV_SKILL_DELETED; s is the skill of the newer
 * set, or the deleted skill. */
typedef void (*skill_diff_fn)(void *ctx, enum event_type type, const struct skill *s);

void skill_diff(const struct skills *before, const struct skills *after, skill_diff_fn fn,
                void *ctx);
