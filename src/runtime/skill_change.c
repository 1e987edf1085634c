#include "runtime/skill_change.h"

#include <assert.h>
#include <stdlib.h>

#include "skill/edit.h"

struct skill_change {
    struct runtime *rt;
    struct arena arena;
    str dir, name, text;
    skill_changed_fn fn; /* NULL = no callback */
    void *ctx;
    struct err err;
    struct job job;
    struct skill_check check;
    struct deed *deed;
    bool is_made;
};

static void change_end(struct skill_change *c)
{
    assert(!c->deed); /* it has its result */
    if (c->fn)
        c->fn(c->ctx, c->err.code ? &c->err : NULL);
    arena_done(&c->arena);
    free(c);
}

static void on_loaded(void *ctx)
{
    change_end(ctx);
}

static void make(struct job *j) /* pool thread */
{
    struct skill_change *c = CONTAINER_OF(j, struct skill_change, job);
    if (c->text.n > 0)
        (void)skill_file_write(c->dir, c->name, c->text, &c->err);
    else
        (void)skill_file_delete(c->dir, c->name, &c->err);
}

static void on_made(struct job *j)
{
    struct skill_change *c = CONTAINER_OF(j, struct skill_change, job);
    deed_end(c->deed, c->err.code ? &c->err : NULL);
    c->deed = NULL;
    if (c->err.code || !c->fn) {
        change_end(c);
        return;
    }
    c->is_made = true;
    runtime_reload_skills(c->rt, &c->check, on_loaded, c);
}

struct skill_change *skill_change_start(struct runtime *rt, const struct skill_change_spec *spec,
                                        skill_changed_fn fn, void *ctx)
{
    const struct runtime_deps *deps = runtime_deps(rt);
    struct skill_change *c = xcalloc(1, sizeof *c);
    bool is_deletion = spec->text.n == 0;
    arena_init(&c->arena);
    c->rt = rt;
    c->dir = spec->owner.n > 0 ? skill_personal_dir(&c->arena, deps->root_dir, spec->owner)
                               : arena_printf(&c->arena, "%.*s/skills", STR_ARG(deps->root_dir));
    c->name = arena_str(&c->arena, spec->name);
    c->text = arena_str(&c->arena, spec->text);
    c->fn = fn;
    c->ctx = ctx;
    c->deed = deed_begin(deps->audit, spec->by,
                         is_deletion ? STR("skill.delete") : STR("skill.write"), spec->name);
    deed_detail(c->deed, "scope=%s", spec->owner.n > 0 ? "personal" : "workspace");
    pool_run(deps->pool, &c->job, make, on_made);
    return c;
}

void skill_change_forget(struct skill_change *c)
{
    c->fn = NULL;
    if (c->is_made) {
        list_del(&c->check.node);
        change_end(c);
    }
}
