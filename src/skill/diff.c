#include "bus/vocabulary.h"
#include "skill/skill.h"

static bool is_same_list(struct json_strs a, struct json_strs b)
{
    bool is_same = a.len == b.len;
    for (size_t i = 0; is_same && i < a.len; i++)
        is_same = str_eq(a.items[i], b.items[i]);
    return is_same;
}

/* The path is ignored. The origin is compared, because a skill that replaces another skill of the
 * same name is a change. */
static bool is_same_skill(const struct skill *a, const struct skill *b)
{
    return a->type == b->type && a->priority == b->priority && a->origin == b->origin &&
           str_eq(a->description, b->description) && str_eq(a->version, b->version) &&
           str_eq(a->category, b->category) && str_eq(a->author, b->author) &&
           str_eq(a->body, b->body) && is_same_list(a->allowed_tools, b->allowed_tools) &&
           is_same_list(a->requires_bundles, b->requires_bundles) &&
           is_same_list(a->triggers, b->triggers) && is_same_list(a->keywords, b->keywords) &&
           is_same_list(a->tags, b->tags);
}

void skill_diff(const struct skills *before, const struct skills *after, skill_diff_fn fn,
                void *ctx)
{
    for (size_t i = 0; i < skills_len(before); i++) {
        const struct skill *old = skills_at(before, i);
        if (!skills_find(after, old->name))
            fn(ctx, EV_SKILL_DELETED, old);
    }
    for (size_t i = 0; i < skills_len(after); i++) {
        const struct skill *now = skills_at(after, i), *old = skills_find(before, now->name);
        if (!old)
            fn(ctx, EV_SKILL_CREATED, now);
        else if (!is_same_skill(old, now))
            fn(ctx, EV_SKILL_UPDATED, now);
    }
}
