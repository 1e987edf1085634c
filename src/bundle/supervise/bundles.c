/* bundles.c - the set of bundles, and how it follows the settings. */
#include <assert.h>

#include "base/clock.h"
#include "bundle/bash/bash_answer.h"
#include "bundle/supervise/bundle_impl.h"

static void on_sweep(void *ctx);

static void on_probe_over(void *ctx, const struct sandbox_offer *offer)
{
    struct bundles *s = ctx;
    defer_start(s->conf.loop, &s->sweep);
}

struct bundles *bundles_new(const struct bundles_conf *conf)
{
    assert(conf->loop && conf->pool && conf->data_dir && conf->work_dir && conf->own_program);
    struct bundles *s = xcalloc(1, sizeof(*s));
    s->conf = *conf;
    s->made_ms = clock_now_ms();
    list_init(&s->leaving);
    list_init(&s->tokens);
    defer_init(&s->sweep, on_sweep, s);
    s->probe = sandbox_probe_new(conf->pool);
    s->probe_over = (struct sandbox_waiter){.fn = on_probe_over, .ctx = s};
    s->memory = memory_watch_new(s);
    return s;
}

/* ---- finding ---- */

size_t bundles_count(const struct bundles *s)
{
    return s->n;
}

struct bundle *bundles_at(const struct bundles *s, size_t i)
{
    assert(i < s->n);
    return s->items[i];
}

/* The index of the name, or the index where it would be inserted. */
static size_t place_of(const struct bundles *s, str name)
{
    size_t from = 0, to = s->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (str_cmp(s->items[mid]->entry.server_name, name) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

struct bundle *bundles_find(const struct bundles *s, str server_name)
{
    size_t i = place_of(s, server_name);
    return i < s->n && str_eq(s->items[i]->entry.server_name, server_name) ? s->items[i] : NULL;
}

/* ---- following the settings ---- */

static void add_bundle(struct bundles *s, const struct bundle_entry *e)
{
    size_t i = place_of(s, e->server_name);
    struct bundle *b = bundle_new(s, e);
    pins_init(b);
    memmove(&s->items[i + 1], &s->items[i], (s->n - i) * sizeof(s->items[0]));
    s->items[i] = b;
    s->n++;
    bundle_changed(b, BUNDLE_ADDED);
    if (e->is_disabled)
        supervise_state(b, BUNDLE_STOPPED, "disabled in the settings");
    else if (s->conf.is_lazy && e->kind == BUNDLE_BUILT_IN)
        supervise_wait(b, str_from(BASH_TOOLS));
    else
        supervise_start(b);
}

static void remove_at(struct bundles *s, size_t i)
{
    struct bundle *b = s->items[i];
    s->n--;
    memmove(&s->items[i], &s->items[i + 1], (s->n - i) * sizeof(s->items[0]));
    supervise_stop(b, "removed from the settings");
    bundle_changed(b, BUNDLE_REMOVED);
    pins_forget(b);
    people_forget(b);
    b->is_removed = true;
    list_push(&s->leaving, &b->node);
    defer_start(s->conf.loop, &s->sweep);
}

static void change_bundle(struct bundle *b, const struct bundle_entry *e)
{
    struct arena old = b->arena;
    bool is_alike = bundle_entry_runs_alike(&b->entry, e);
    arena_init(&b->arena);
    b->entry = bundle_entry_copy(&b->arena, e);
    arena_done(&old);
    if (is_alike)
        return;
    b->era = MCP_ERA_UNKNOWN;
    b->generation++;
    watch_know_tools(b, STR("[]")); /* the entry may be a different server now */
    if (e->is_disabled)
        supervise_stop(b, "disabled in the settings");
    else
        supervise_restart(b);
}

static void apply_one(struct bundles *s, const struct bundle_entry *e)
{
    struct bundle *b = bundles_find(s, e->server_name);
    if (b)
        change_bundle(b, e);
    else if (s->n < ARRAY_LEN(s->items))
        add_bundle(s, e);
    else
        log_warn(s->conf.log, "bundle", "%.*s is skipped: there are more than %d bundles",
                 STR_ARG(e->server_name), BUNDLES_MAX);
}

static bool is_named(const struct bundle_entry *entries, size_t n, str server_name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(entries[i].server_name, server_name))
            return true;
    }
    return false;
}

static struct bundle_entry bash_entry(const struct bundle_entry *configured)
{
    struct bundle_entry e = configured ? *configured : (struct bundle_entry){.trust_score = -1};
    e.kind = BUNDLE_BUILT_IN;
    e.server_name = STR(BUNDLE_BASH_SERVER);
    e.name = STR(BUNDLE_BASH_PACKAGE);
    return e;
}

void bundles_set_defaults(struct bundles *s, bool has_defaults)
{
    s->conf.no_default_bundles = !has_defaults;
}

void bundles_apply(struct bundles *s, const struct bundle_entry *entries, size_t n)
{
    bool with_bash = !s->conf.no_default_bundles && !is_named(entries, n, STR(BUNDLE_BASH_SERVER));
    if (s->is_stopping)
        return;
    for (size_t i = s->n; i-- > 0;) {
        str name = s->items[i]->entry.server_name;
        if (!is_named(entries, n, name) && !(with_bash && str_eq(name, STR(BUNDLE_BASH_SERVER))))
            remove_at(s, i);
    }
    for (size_t i = 0; i < n; i++) {
        struct bundle_entry bash = bash_entry(&entries[i]);
        apply_one(s, bundle_entry_is_bash(&entries[i]) ? &bash : &entries[i]);
    }
    struct bundle_entry bash = bash_entry(NULL);
    if (with_bash)
        apply_one(s, &bash);
}

/* ---- stopping ---- */

static void sweep_leaving(struct bundles *s)
{
    LIST_EACH (b, &s->leaving, struct bundle, node) {
        if (!bundle_is_idle(b))
            continue;
        list_del(&b->node);
        bundle_free(b);
    }
}

static bool is_stopped(struct bundles *s)
{
    if (s->nstarts > 0 || !list_empty(&s->leaving) || !sandbox_probe_idle(s->probe))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        if (!bundle_is_idle(s->items[i]))
            return false;
    }
    return memory_watch_stop(s->memory);
}

/* Scheduled by everything that ends. */
static void on_sweep(void *ctx)
{
    struct bundles *s = ctx;
    sweep_leaving(s);
    if (!s->stopped || !is_stopped(s))
        return;
    loop_fn stopped = s->stopped;
    s->stopped = NULL;
    stopped(s->stopped_ctx);
}

void bundles_stop(struct bundles *s, loop_fn done, void *ctx)
{
    assert(!s->is_stopping && done);
    s->is_stopping = true;
    s->stopped = done;
    s->stopped_ctx = ctx;
    for (size_t i = 0; i < s->n; i++)
        supervise_stop(s->items[i], "nb is shutting down");
    if (!sandbox_probe_idle(s->probe))
        sandbox_probe_ask(s->probe, &s->probe_over);
    defer_start(s->conf.loop, &s->sweep);
}

void bundles_free(struct bundles *s)
{
    if (!s)
        return;
    assert(list_empty(&s->leaving) && s->nstarts == 0);
    for (size_t i = 0; i < s->n; i++)
        bundle_free(s->items[i]);
    defer_stop(&s->sweep);
    resolver_free(s->resolver);
    memory_watch_free(s->memory);
    sandbox_probe_free(s->probe);
    free(s);
}
