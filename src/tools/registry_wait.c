/* registry_wait.c - waiting for a source that is starting. */
#include <assert.h>

#include "loop/timer.h"
#include "tools/names.h"
#include "tools/registry_impl.h"

str registry_source_of(const struct registry *r, str name)
{
    str source, tool;
    return tool_name_split(name, r->names, r->n_sources, &source, &tool) ? source : STR_NONE;
}

str registry_absence(const struct registry *r, struct arena *a, str source, bool *ret_is_coming)
{
    const struct registry_source *s = registry_source_find(r, source);
    *ret_is_coming = false;
    return s && s->def->absence ? s->def->absence(s->def->self, a, ret_is_coming) : STR_NONE;
}

struct registry_wait {
    struct registry *registry;
    struct arena arena;
    str source;
    loop_fn fn;
    void *ctx;
    struct registry_observer observer;
    struct deferred look; /* not from within the change: fn may call tools */
    struct timer limit;
};

void registry_await_cancel(struct registry_wait *w)
{
    registry_unobserve(&w->observer);
    defer_stop(&w->look);
    timer_stop(&w->limit);
    arena_done(&w->arena);
    free(w);
}

static void wait_finish(struct registry_wait *w)
{
    loop_fn fn = w->fn;
    void *ctx = w->ctx;
    registry_await_cancel(w);
    fn(ctx);
}

static void on_wait_timeout(void *ctx)
{
    wait_finish(ctx);
}

static void on_look(void *ctx)
{
    struct registry_wait *w = ctx;
    bool is_coming;
    struct arena a;
    arena_init(&a);
    (void)registry_absence(w->registry, &a, w->source, &is_coming);
    arena_done(&a);
    if (!is_coming)
        wait_finish(w);
}

static void on_source_changed(void *ctx, str source)
{
    struct registry_wait *w = ctx;
    if (str_eq(source, w->source))
        defer_start(w->registry->loop, &w->look);
}

struct registry_wait *registry_await(struct registry *r, str source, uint64_t timeout_ms,
                                     loop_fn fn, void *ctx)
{
    assert(fn);
    struct registry_wait *w = xcalloc(1, sizeof(*w));
    arena_init(&w->arena);
    w->registry = r;
    w->source = arena_str(&w->arena, source);
    w->fn = fn;
    w->ctx = ctx;
    w->observer = (struct registry_observer){.changed = on_source_changed, .ctx = w};
    registry_observe(r, &w->observer);
    defer_init(&w->look, on_look, w);
    defer_start(r->loop, &w->look);
    timer_init(&w->limit, r->loop, on_wait_timeout, w);
    timer_start(&w->limit, timeout_ms);
    return w;
}
