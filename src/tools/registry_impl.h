/* registry_impl.h - what registry.c (sources, tools), registry_private.c (private sources) and
 * registry_call.c (calls) share. */
#pragma once

#include "base/list.h"
#include "tools/registry.h"

struct registry_source {
    const struct tool_source *def;
    struct toolset_part *part; /* NULL until listed, or after a change */
    struct list_node running;  /* tool_call.node */
    struct list_node waiting;
    unsigned n_running, n_waiting;
    struct deferred pump; /* starts waiting calls */
};

struct registry_group {    /* the private sources of one audience */
    struct list_node node; /* in registry->groups */
    struct arena arena;
    struct tool_audience who;
    struct registry_source *sources[REGISTRY_PRIVATE_MAX];
    size_t n_sources;      /* never 0 */
    struct toolset *tools; /* with those of the workspace; NULL after a change */
};

struct registry {
    struct loop *loop;
    size_t max_result_chars;
    struct registry_source **sources; /* sorted by name */
    str *names;                       /* parallel to sources */
    size_t n_sources;
    struct toolset *tools;   /* NULL after a source has changed */
    struct list_node groups; /* struct registry_group */
    struct list_node observers;
    struct list_node ending; /* calls whose result is about to be delivered */
};

void registry_pump(void *source); /* loop_fn of registry_source.pump */

struct registry_source *registry_source_find(const struct registry *r, str name);
struct registry_source *registry_source_new(const struct tool_source *src);
void registry_source_free(struct registry_source *s); /* has no calls */
struct toolset_part *registry_source_part(struct registry_source *s);

/* ---- registry_private.c ---- */

struct registry_group *registry_group_find(const struct registry *r,
                                           const struct tool_audience *who); /* or NULL */
struct registry_source *registry_group_source(const struct registry_group *g, str name);
int registry_group_add(struct registry *r, const struct tool_source *src, struct err *e);
bool registry_group_remove(struct registry *r, const struct tool_source *src); /* false: unknown */
void registry_group_changed(struct registry *r, const struct tool_source *src);
void registry_groups_stale(struct registry *r); /* the tools of the workspace have changed */
void registry_groups_free(struct registry *r);

/* Cancels the running calls of a source that is removed; with `why`, the callers of running and
 * waiting calls get an error result. */
void registry_drop_calls(struct registry *r, struct registry_source *s, const char *why);
