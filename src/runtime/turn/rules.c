/* rules.c - changes the permissions of a running workspace. */
#include <assert.h>
#include <errno.h>

#include "bundle/settings/settings.h"
#include "runtime/turn/turn.h"

struct rule_change {
    struct runtime *rt;
    struct list_node node; /* in rt->rule_changes */
    struct arena arena;
    const struct json *section;
    struct consent_save save;
    struct err err;
    rule_changed_fn fn; /* NULL = no callback */
    void *ctx;
    struct job job;
};

int rules_use(struct runtime *rt, const struct json *section, struct err *e)
{
    struct arena fresh;
    struct permission_rules rules;
    arena_init(&fresh);
    int r = permission_decode(&fresh, section, &rules, e);
    if (r < 0) {
        arena_done(&fresh);
        return r;
    }
    arena_done(&rt->rules);
    rt->rules = fresh;
    rt->permissions = rules;
    return 0;
}

const struct permission_rules *runtime_permissions(const struct runtime *rt)
{
    return &rt->permissions;
}

struct json_strs runtime_consents(const struct runtime *rt, struct arena *a, str user_id)
{
    return consents_of(&rt->consents, a, user_id);
}

/* Tools that change the workspace, and those with a rule under `ask`, ask every time. */
static bool can_have_consent(const struct runtime *rt, const struct toolset_item *it)
{
    return !it->tool->is_workspace_change && !permission_is_explicit_ask(&rt->permissions, it);
}

bool runtime_has_consent(const struct runtime *rt, str user_id, const struct toolset_item *it)
{
    return can_have_consent(rt, it) && consents_has(&rt->consents, user_id, it->name);
}

bool runtime_allows_call(const struct runtime *rt, str user_id, const struct toolset_item *it,
                         str conversation_id, const struct json *args)
{
    struct consent_call call = {it->name, conversation_id, it->tool->is_shell ? args : NULL};
    return can_have_consent(rt, it) && consents_allow(&rt->consents, user_id, &call);
}

/* ---- one change ---- */

static struct rule_change *change_new(struct runtime *rt, rule_changed_fn fn, void *ctx)
{
    struct rule_change *c = xcalloc(1, sizeof *c);
    c->rt = rt;
    c->fn = fn;
    c->ctx = ctx;
    arena_init(&c->arena);
    list_init(&c->node);
    rt->nrecords++; /* runtime_stop waits for it */
    return c;
}

static void rule_change_finish(struct rule_change *c)
{
    struct runtime *rt = c->rt;
    if (c->fn)
        c->fn(c->ctx, c->err.code ? &c->err : NULL);
    arena_done(&c->arena);
    free(c);
    assert(rt->nrecords > 0);
    rt->nrecords--;
    runtime_check_stopped(rt);
}

void rule_change_forget(struct rule_change *c)
{
    c->fn = NULL;
}

/* ---- rules ---- */

static void write_rules(struct job *j) /* pool thread */
{
    struct rule_change *c = CONTAINER_OF(j, struct rule_change, job);
    (void)settings_set_members(c->rt->deps.settings_path, "permissions", c->section, &c->err);
}

static void on_rules_written(struct job *j)
{
    struct rule_change *c = CONTAINER_OF(j, struct rule_change, job);
    struct runtime *rt = c->rt;
    assert(rt->rule_changes.next == &c->node); /* one is written at a time */
    list_del(&c->node);
    if (c->err.code == 0)
        (void)rules_use(rt, c->section, &c->err);
    if (!list_empty(&rt->rule_changes)) {
        struct rule_change *next = LIST_ENTRY(rt->rule_changes.next, struct rule_change, node);
        pool_submit(rt->deps.pool, &next->job);
    }
    rule_change_finish(c);
}

struct rule_change *runtime_set_permissions(struct runtime *rt, const struct json *section,
                                            rule_changed_fn fn, void *ctx)
{
    struct rule_change *c = change_new(rt, fn, ctx);
    bool is_first = list_empty(&rt->rule_changes);
    c->section = json_clone(&c->arena, section);
    c->job = (struct job){.work = write_rules, .done = on_rules_written};
    list_push(&rt->rule_changes, &c->node);
    if (is_first)
        pool_submit(rt->deps.pool, &c->job);
    return c;
}

/* ---- stored consents ---- */

static void on_consents_saved(void *ctx)
{
    struct rule_change *c = ctx;
    if (c->save.has_failed)
        err_set(&c->err, -EIO,
                "The permission is removed, but the change could not be saved. The permission "
                "is valid again after a restart.");
    rule_change_finish(c);
}

struct rule_change *runtime_withdraw_consent(struct runtime *rt, str user_id, str tool,
                                             rule_changed_fn fn, void *ctx)
{
    if (!consents_remove(&rt->consents, user_id, tool))
        return NULL;
    struct rule_change *c = change_new(rt, fn, ctx);
    consents_save(&rt->consents, &c->save, on_consents_saved, c);
    return c;
}

void runtime_give_consent(struct runtime *rt, str user_id, const struct toolset_item *it)
{
    assert(user_id.n > 0 && !it->tool->is_workspace_change);
    if (!consents_add(&rt->consents, user_id, it->name)) {
        log_warn(rt->deps.log, "runtime",
                 "the consent for %.*s is not stored: the limit of %d is reached",
                 STR_ARG(it->name), CONSENTS_MAX);
        return;
    }
    struct rule_change *c = change_new(rt, NULL, NULL);
    consents_save(&rt->consents, &c->save, on_consents_saved, c);
}

void runtime_forget_user(struct runtime *rt, str user_id)
{
    if (!consents_remove_user(&rt->consents, user_id))
        return;
    struct rule_change *c = change_new(rt, NULL, NULL);
    consents_save(&rt->consents, &c->save, on_consents_saved, c);
}
