#include <assert.h>

#include "skill/skill.h"

struct listing {
    struct arena *a;
    struct skill_dir *dirs;
    size_t n;
};

static struct skill_dir *push(struct listing *l, str path, enum skill_origin origin)
{
    struct skill_dir *d = &l->dirs[l->n++];
    *d = (struct skill_dir){.path = path, .origin = origin};
    return d;
}

static void push_below(struct listing *l, str base, const char *name, enum skill_origin origin,
                       bool is_standard)
{
    if (base.n == 0)
        return;
    str path = arena_printf(l->a, "%.*s/%s", STR_ARG(base), name);
    push(l, path, origin)->is_standard = is_standard;
}

static void push_standard(struct listing *l, str base, enum skill_origin origin)
{
    push_below(l, base, ".agents/skills", origin, true);
    push_below(l, base, ".claude/skills", origin, true);
}

/* Other programs share the skills of the home directory, so skills of nb are loaded later and take
 * precedence. */
struct skill_dir *skill_dirs(struct arena *a, const struct skill_places *p, size_t *ret_n)
{
    struct listing l = {.a = a, .dirs = arena_array(a, p->skill_dirs.len + 9, sizeof(*l.dirs))};

    push_standard(&l, p->home_dir, SKILL_GLOBAL);
    push_below(&l, p->work_dir, "skills", SKILL_GLOBAL, false);
    for (size_t i = 0; i < p->skill_dirs.len; i++)
        push(&l, p->skill_dirs.items[i], SKILL_CONFIG)->is_expected = true;
    if (p->skills)
        push(&l, STR("skills"), SKILL_CONFIG)->inline_skills = p->skills;
    if (!str_eq(p->project_dir, p->home_dir))
        push_standard(&l, p->project_dir, SKILL_PROJECT);
    push_below(&l, p->workspace_dir, "skills", SKILL_WORKSPACE, false);
    if (p->people_dir.n > 0)
        push(&l, p->people_dir, SKILL_PERSONAL)->is_people = true;
    assert(l.n <= p->skill_dirs.len + 9);
    *ret_n = l.n;
    return l.dirs;
}

str skill_personal_dir(struct arena *a, str root_dir, str user_id)
{
    return arena_printf(a, "%.*s/people/%.*s/skills", STR_ARG(root_dir), STR_ARG(user_id));
}
