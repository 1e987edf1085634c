/* skill_news.h - what is different between two sets of skills. Pure. */
#pragma once

#include "runtime/skill.h"

/* type: "skill.created", "skill.updated" or "skill.deleted"; s is of the newer set, or the one
 * that is gone. */
typedef void (*skill_news_fn)(void *ctx, const char *type, const struct skill *s);

void skill_news(const struct skills *before, const struct skills *after, skill_news_fn fn,
                void *ctx);
