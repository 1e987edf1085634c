/* diff.h - the differences between two sets of skills. Pure. */
#pragma once

#include "skill/skill.h"

/* type: "skill.created", "skill.updated" or "skill.deleted"; s is the skill of the newer
 * set, or the deleted skill. */
typedef void (*skill_diff_fn)(void *ctx, const char *type, const struct skill *s);

void skill_diff(const struct skills *before, const struct skills *after, skill_diff_fn fn,
                void *ctx);
