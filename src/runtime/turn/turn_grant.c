/* turn_grant.c - a turn in the directory of the sender's terminal (workspace/dir_grant.h).
 *
 * The directory is checked before the turn is accepted, and the skills of the terminal are loaded
 * in addition to those of the workspace: .agents/skills and .claude/skills of the directory and of
 * the home directory, as in a terminal without a server. The resulting set belongs to this turn
 * only. */
#include <assert.h>
#include <errno.h>

#include "bundle/confine/path_list.h"
#include "bundle/plan/bundle_want.h"
#include "bundle/plan/grant_rules.h"
#include "runtime/turn/turn.h"

struct grant_load {
    struct turn *turn; /* NULL after the turn has ended */
    struct arena arena;
    struct job job;
    struct dir_grant grant;
    const char *home_dir, *work_dir;
    struct skill_dir *dirs;
    size_t ndirs;
    bool is_needed;
    void (*fn)(struct turn *t);
    struct skills *skills;
    struct err err;
};

static void load_grant_skills(struct job *j) /* pool thread */
{
    struct grant_load *l = CONTAINER_OF(j, struct grant_load, job);
    if (dir_grant_check(&l->grant, &l->err) == 0 &&
        grant_rules_check(l->grant.path, l->home_dir, l->work_dir, &l->err) == 0)
        l->skills = skills_load(l->dirs, l->ndirs, NULL);
}

static void grant_load_finish(struct grant_load *l)
{
    struct turn *t = l->turn;
    struct err e = l->err;
    bool is_refused = e.code < 0 && l->is_needed;
    void (*fn)(struct turn * t) = l->fn;
    assert(!t || t->grant_load == l);
    if (t) {
        skills_unref(t->own_skills);
        t->own_skills = l->skills;
        t->grant_load = NULL;
    } else {
        skills_unref(l->skills);
    }
    arena_done(&l->arena);
    free(l);
    if (t && is_refused)
        turn_refuse(t, e.code == -EINVAL ? TURN_BAD_REQUEST : TURN_FORBIDDEN, &e);
    else if (t)
        fn(t);
}

static void on_grant_loaded(struct job *j)
{
    grant_load_finish(CONTAINER_OF(j, struct grant_load, job));
}

void turn_load_grant(struct turn *t, const struct dir_grant *g, bool is_needed,
                     void (*fn)(struct turn *t))
{
    struct runtime *rt = t->rt;
    assert(g->path.n > 0 && !t->grant_load && !t->run);
    struct grant_load *l = xcalloc(1, sizeof *l);
    arena_init(&l->arena);
    l->turn = t;
    l->grant = (struct dir_grant){arena_str(&l->arena, g->path), arena_str(&l->arena, g->id)};
    l->home_dir = arena_cstr(&l->arena, str_from(bundle_home_dir(NULL)));
    l->work_dir = arena_cstr(&l->arena, str_from(rt->deps.config->work_dir));
    struct skill_places places = runtime_skill_places(rt);
    places.home_dir = str_from(l->home_dir);
    places.project_dir = l->grant.path;
    l->dirs = skill_dirs(&l->arena, &places, &l->ndirs);
    l->is_needed = is_needed;
    l->fn = fn;
    t->grant_load = l;
    pool_run(rt->deps.pool, &l->job, load_grant_skills, on_grant_loaded);
}

void turn_drop_grant(struct turn *t)
{
    if (t->grant_load)
        t->grant_load->turn = NULL;
    t->own_skills = skills_unref(t->own_skills);
}

str turn_directory(void *turn, struct arena *a, str tool, const struct json *args)
{
    const struct turn *t = turn;
    str base = t->actor->grant.path, cwd = json_get_string(args, "cwd");
    if (base.n == 0)
        return STR_NONE;
    const struct toolset_item *it =
        registry_find(t->rt->deps.tools, tool, args, actor_is_admin(t->actor));
    if (!it || !it->tool->is_shell)
        return STR_NONE;
    return cwd.n > 0 ? path_clean(a, cwd, base, STR("/")) : base;
}
