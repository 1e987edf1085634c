#include "runtime/runtime.h"

#include <assert.h>

#include "base/map.h"
#include "runtime/turn.h"

static void on_stopped(void *ctx)
{
    struct runtime *rt = ctx;
    rt->on_stopped(rt->on_stopped_ctx);
}

struct runtime *runtime_new(const struct runtime_deps *deps)
{
    struct runtime *rt = xcalloc(1, sizeof *rt);
    rt->deps = *deps;
    map_init(&rt->active);
    list_init(&rt->turns);
    list_init(&rt->titles);
    defer_init(&rt->stopped, on_stopped, rt);
    return rt;
}

void runtime_stop(struct runtime *rt, loop_fn done, void *ctx)
{
    rt->on_stopped = done;
    rt->on_stopped_ctx = ctx;
    title_hurry(rt);
    LIST_FOREACH (n, &rt->turns) {
        struct turn *t = LIST_ENTRY(n, struct turn, node);
        if (t->run)
            run_cancel(t->run);
    }
    runtime_check_stopped(rt);
}

void runtime_check_stopped(struct runtime *rt)
{
    if (rt->on_stopped && rt->nturns == 0 && list_empty(&rt->titles))
        defer_start(rt->deps.loop, &rt->stopped);
}

void runtime_free(struct runtime *rt)
{
    if (!rt)
        return;
    assert(rt->nturns == 0);
    defer_stop(&rt->stopped);
    skills_unref(rt->skills);
    map_done(&rt->active);
    free(rt);
}

const struct runtime_deps *runtime_deps(const struct runtime *rt)
{
    return &rt->deps;
}

struct skills *runtime_skills(const struct runtime *rt)
{
    return rt->skills;
}

void runtime_set_skills(struct runtime *rt, struct skills *skills)
{
    skills_unref(rt->skills);
    rt->skills = skills;
}

static struct turn *active_turn(const struct runtime *rt, str conversation_id)
{
    struct turn *t = map_get(&rt->active, conversation_id);
    return t && t->run ? t : NULL;
}

str runtime_active_run(const struct runtime *rt, str conversation_id)
{
    const struct turn *t = active_turn(rt, conversation_id);
    return t ? run_id(t->run) : STR_NONE;
}

str runtime_streamed(const struct runtime *rt, str conversation_id)
{
    const struct turn *t = active_turn(rt, conversation_id);
    return t ? run_streamed(t->run) : STR_NONE;
}

bool runtime_cancel(struct runtime *rt, str conversation_id)
{
    struct turn *t = active_turn(rt, conversation_id);
    if (t)
        run_cancel(t->run);
    return t != NULL;
}

size_t runtime_runs(const struct runtime *rt)
{
    return map_len(&rt->active);
}
