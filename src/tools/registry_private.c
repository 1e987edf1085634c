/* registry_private.c - sources that are for one person in one conversation: tools that an open
 * interface offers. Nothing but a run of that audience meets them. */
#include <assert.h>
#include <errno.h>

#include "tools/registry_impl.h"

struct tool_audience tool_audience_of(const struct actor *a, str conversation_id)
{
    str token_id = a->people[0].token_id;
    for (size_t i = 1; i < a->npeople; i++)
        if (!str_eq(a->people[i].token_id, token_id))
            return (struct tool_audience){0};
    if (actor_sole_user(a).n == 0)
        return (struct tool_audience){0};
    return (struct tool_audience){conversation_id, actor_sole_user(a), token_id};
}

struct registry_group *registry_group_find(const struct registry *r,
                                           const struct tool_audience *who)
{
    if (who->conversation_id.n == 0 || who->user_id.n == 0)
        return NULL;
    LIST_EACH (g, &r->groups, struct registry_group, node)
        if (str_eq(g->who.conversation_id, who->conversation_id) &&
            str_eq(g->who.user_id, who->user_id) && str_eq(g->who.token_id, who->token_id))
            return g;
    return NULL;
}

struct registry_source *registry_group_source(const struct registry_group *g, str name)
{
    for (size_t i = 0; i < g->n_sources; i++)
        if (str_eq(str_from(g->sources[i]->def->name), name))
            return g->sources[i];
    return NULL;
}

static struct registry_group *group_new(struct registry *r, const struct tool_audience *who)
{
    struct registry_group *g = xcalloc(1, sizeof *g);
    arena_init(&g->arena);
    g->who.conversation_id = arena_str(&g->arena, who->conversation_id);
    g->who.user_id = arena_str(&g->arena, who->user_id);
    g->who.token_id = arena_str(&g->arena, who->token_id);
    list_push(&r->groups, &g->node);
    return g;
}

static void group_free(struct registry_group *g)
{
    assert(g->n_sources == 0);
    list_del(&g->node);
    toolset_unref(g->tools);
    arena_done(&g->arena);
    free(g);
}

int registry_group_add(struct registry *r, const struct tool_source *src, struct err *e)
{
    struct registry_group *g = registry_group_find(r, src->only_for);
    assert(src->only_for->conversation_id.n > 0 && src->only_for->user_id.n > 0);
    assert(str_find_char(str_from(src->name), '.') > 0);
    if (g && registry_group_source(g, str_from(src->name)))
        return err_set(e, -EEXIST, "tool source \"%s\" exists already", src->name);
    if (g && g->n_sources == REGISTRY_PRIVATE_MAX)
        return err_set(e, -ENOSPC, "tool source \"%s\": a conversation holds at most %d", src->name,
                       REGISTRY_PRIVATE_MAX);
    if (!g)
        g = group_new(r, src->only_for);
    g->sources[g->n_sources++] = registry_source_new(src);
    g->tools = toolset_unref(g->tools);
    return 0;
}

bool registry_group_remove(struct registry *r, const struct tool_source *src)
{
    struct registry_group *g = registry_group_find(r, src->only_for);
    for (size_t i = 0; g && i < g->n_sources; i++) {
        struct registry_source *s = g->sources[i];
        if (s->def != src)
            continue;
        g->sources[i] = g->sources[--g->n_sources];
        g->tools = toolset_unref(g->tools);
        registry_drop_calls(r, s, "was closed while the call ran");
        registry_source_free(s);
        if (g->n_sources == 0)
            group_free(g);
        return true;
    }
    return false;
}

void registry_group_changed(struct registry *r, const struct tool_source *src)
{
    struct registry_group *g = registry_group_find(r, src->only_for);
    struct registry_source *s = g ? registry_group_source(g, str_from(src->name)) : NULL;
    if (!s || s->def != src)
        return;
    s->part = toolset_part_unref(s->part);
    g->tools = toolset_unref(g->tools);
}

void registry_groups_stale(struct registry *r)
{
    LIST_EACH (g, &r->groups, struct registry_group, node)
        g->tools = toolset_unref(g->tools);
}

void registry_groups_free(struct registry *r)
{
    LIST_EACH (g, &r->groups, struct registry_group, node) {
        while (g->n_sources > 0) {
            struct registry_source *s = g->sources[--g->n_sources];
            registry_drop_calls(r, s, NULL);
            registry_source_free(s);
        }
        group_free(g);
    }
}

struct toolset *registry_tools_for(struct registry *r, const struct tool_audience *who)
{
    struct toolset_part *parts[REGISTRY_PRIVATE_MAX];
    struct registry_group *g = registry_group_find(r, who);
    if (!g)
        return registry_tools(r);
    for (size_t i = 0; i < g->n_sources; i++)
        parts[i] = registry_source_part(g->sources[i]);
    if (!g->tools)
        g->tools = toolset_extend(registry_tools(r), parts, g->n_sources);
    return g->tools;
}
