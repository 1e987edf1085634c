/* registry_impl.h - what registry.c (sources, tools) and registry_call.c (calls) share. */
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

struct registry {
    struct loop *loop;
    size_t max_result_chars;
    struct registry_source **sources; /* sorted by name */
    str *names;                       /* parallel to sources */
    size_t n_sources;
    struct toolset *tools; /* NULL after a source has changed */
    struct list_node observers;
    struct list_node ending; /* calls whose result is about to be delivered */
};

void registry_pump(void *source); /* loop_fn of registry_source.pump */

struct registry_source *registry_source_find(const struct registry *r, str name);

/* Cancels the running calls of a source that is removed; with `why`, the callers of running and
 * waiting calls get an error result. */
void registry_drop_calls(struct registry *r, struct registry_source *s, const char *why);
