#include <assert.h>

#include "skill/skill.h"

static bool found(str folded_message, str phrase)
{
    return str_find(folded_message, phrase, 0) >= 0;
}

/* The triggers and keywords of this skill that occur in the message. */
static struct skill_hit look_for(const struct skill *s, struct arena *a, str message)
{
    struct skill_hit hit = {.skill = s};

    for (size_t i = 0; i < s->triggers.len && hit.trigger.n == 0; i++)
        if (found(message, s->folded_triggers.items[i]))
            hit.trigger = s->triggers.items[i];
    for (size_t i = 0; i < s->keywords.len; i++) {
        if (!found(message, s->folded_keywords.items[i]))
            continue;
        if (!hit.keywords.items)
            hit.keywords.items = arena_array(a, s->keywords.len, sizeof(str));
        hit.keywords.items[hit.keywords.len++] = s->keywords.items[i];
    }
    return hit;
}

/* Triggers before keywords; more keywords before fewer; otherwise as loaded. */
static bool is_better(const struct skill_hit *a, const struct skill_hit *b)
{
    bool trigger_a = a->trigger.n > 0, trigger_b = b->trigger.n > 0;
    if (trigger_a || trigger_b)
        return trigger_a && !trigger_b;
    return a->keywords.len > b->keywords.len;
}

static void insert(struct skill_match *m, struct skill_hit hit)
{
    assert(hit.trigger.n > 0 || hit.keywords.len > 0);
    size_t at = m->n_hits;
    while (at > 0 && is_better(&hit, &m->hits[at - 1]))
        at--;
    memmove(&m->hits[at + 1], &m->hits[at], (m->n_hits - at) * sizeof(m->hits[0]));
    m->hits[at] = hit;
    m->n_hits++;
}

struct skill_match skills_match(const struct skills *s, struct arena *a, str message)
{
    struct skill_match m = {.hits = arena_array(a, skills_len(s), sizeof(*m.hits))};
    str folded = skill_fold(a, str_slice(message, 0, SKILL_MESSAGE_MAX));

    for (size_t i = 0; i < skills_len(s); i++) {
        const struct skill *skill = skills_at(s, i);
        if (skill->type != SKILL_TASK)
            continue;
        struct skill_hit hit = look_for(skill, a, folded);
        if (hit.trigger.n > 0 || hit.keywords.len > 0)
            insert(&m, hit);
    }
    if (m.n_hits > 0 && m.hits[0].trigger.n > 0)
        m.phase = SKILL_BY_TRIGGER;
    else if (m.n_hits > 0 && m.hits[0].keywords.len >= SKILL_KEYWORDS_MIN)
        m.phase = SKILL_BY_KEYWORDS;
    if (m.phase != SKILL_NO_MATCH)
        m.skill = m.hits[0].skill;
    return m;
}
