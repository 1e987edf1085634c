/* registry_call.c - the life of a call: waiting, running, ending.
 *
 * A result that the registry makes (unknown name, timeout, removed source) is delivered from a
 * deferred, so that no caller is called back inside its own call. A result of the source is passed
 * on directly. */
#include <assert.h>
#include <errno.h>

#include "loop/timer.h"
#include "tools/registry_impl.h"
#include "tools/schema/schema.h"

struct registry_call {
    struct list_node node; /* in source->running, source->waiting or registry->ending */
    struct registry *registry;
    struct registry_source *source; /* NULL while ending */
    struct tool_call *inner;        /* while running */
    const struct registry_call_events *ev;
    void *ctx;
    struct arena arena;
    str name, tool; /* public, and as the source calls it */
    uint64_t timeout_ms;
    struct timer timeout;
    struct deferred answer;
    struct tool_result result;
    bool is_probe; /* checks the rights only */
    /* while waiting */
    const struct json *args;
    struct tool_caller who;
};

static unsigned limit_of(const struct registry_source *s)
{
    return s->def->max_concurrent ? s->def->max_concurrent : REGISTRY_CONCURRENT;
}

static uint64_t timeout_of(const struct registry_source *s, const struct tool *t)
{
    if (t->timeout_ms)
        return t->timeout_ms;
    return s->def->timeout_ms ? s->def->timeout_ms : REGISTRY_TIMEOUT_MS;
}

static void registry_call_free(struct registry_call *c)
{
    timer_stop(&c->timeout);
    defer_stop(&c->answer);
    list_del(&c->node);
    actor_unref((struct actor *)c->who.actor);
    arena_done(&c->arena);
    free(c);
}

/* Removes the call from its source; a running call must have ended or been cancelled. */
static void leave_source(struct registry_call *c)
{
    struct registry_source *s = c->source;

    list_del(&c->node);
    if (!s)
        return;
    if (c->inner)
        s->n_running--;
    else
        s->n_waiting--;
    if (s->n_waiting > 0)
        defer_start(c->registry->loop, &s->pump);
    c->source = NULL;
    c->inner = NULL;
    timer_stop(&c->timeout);
}

static void deliver_result(void *ctx)
{
    struct registry_call *c = ctx;
    c->ev->done(c->ctx, &c->result);
    registry_call_free(c);
}

static void end_later(struct registry_call *c, struct tool_result result)
{
    c->result = result;
    list_push(&c->registry->ending, &c->node);
    defer_start(c->registry->loop, &c->answer);
}

static void on_source_done(void *ctx, const struct tool_result *result)
{
    struct registry_call *c = ctx;
    struct registry *r = c->registry;
    struct tool_result too_large;

    assert(c->inner);
    leave_source(c);
    if (r->max_result_chars && tool_result_chars(result) > r->max_result_chars) {
        too_large = tool_result_error(
            &c->arena, "The result of %.*s is larger than %zu characters. Ask for a smaller part.",
            STR_ARG(c->name), r->max_result_chars);
        result = &too_large;
    }
    c->ev->done(c->ctx, result);
    registry_call_free(c);
}

static void on_source_progress(void *ctx, double progress, double total, str message)
{
    struct registry_call *c = ctx;
    if (c->ev->progress)
        c->ev->progress(c->ctx, progress, total, message);
}

static void on_call_timeout(void *ctx)
{
    struct registry_call *c = ctx;
    struct registry_source *s = c->source;

    s->def->cancel(s->def->self, c->inner);
    leave_source(c);
    end_later(c, tool_result_error(&c->arena, "%.*s did not answer within %g seconds.",
                                   STR_ARG(c->name), (double)c->timeout_ms / 1000));
}

static void start_source_call(struct registry_call *c, const struct json *args,
                              const struct tool_caller *who)
{
    struct registry_source *s = c->source;

    list_push(&s->running, &c->node);
    s->n_running++;
    if (c->timeout_ms != TOOL_NO_TIMEOUT)
        timer_start(&c->timeout, c->timeout_ms);
    c->inner = c->is_probe ? s->def->probe(s->def->self, c->tool, args, who, on_source_done, c)
                           : s->def->call(s->def->self, c->tool, args, who, on_source_done,
                                          on_source_progress, c);
    assert(c->inner);
}

void registry_pump(void *source)
{
    struct registry_source *s = source;

    while (s->n_running < limit_of(s) && s->n_waiting > 0) {
        struct list_node *first = list_pop(&s->waiting);
        s->n_waiting--;
        struct registry_call *c = LIST_ENTRY(first, struct registry_call, node);
        start_source_call(c, c->args, &c->who);
    }
}

static void copy_caller(struct arena *a, struct tool_caller *to, const struct tool_caller *from)
{
    *to = *from;
    to->actor = actor_ref(from->actor);
    to->conversation_id = arena_str(a, from->conversation_id);
    to->run_id = arena_str(a, from->run_id);
    to->call_id = arena_str(a, from->call_id);
    to->via = arena_str(a, from->via);
}

static void wait_for_turn(struct registry_call *c, const struct json *args,
                          const struct tool_caller *who)
{
    c->args = json_clone(&c->arena, args);
    copy_caller(&c->arena, &c->who, who);
    list_push(&c->source->waiting, &c->node);
    c->source->n_waiting++;
}

static int check_arguments(const struct toolset_item *it, const struct json *args, struct err *e)
{
    if (args->type != JSON_OBJECT)
        return err_set(e, -EINVAL, "arguments: expected object");
    return it->tool->input_schema ? schema_validate(it->tool->input_schema, args, "arguments", e)
                                  : 0;
}

/* Refuses a new call, queues it, or starts it. */
static void dispatch_call(struct registry_call *c, const struct json *args,
                          const struct tool_caller *who)
{
    struct registry *r = c->registry;
    const struct toolset_item *it = registry_find(r, c->name, args, actor_is_admin(who->actor));
    struct err e = {0};

    if (!it) {
        str why = registry_explain_unknown(r, &c->arena, c->name, actor_is_admin(who->actor));
        struct tool_result unknown = tool_result_text(&c->arena, why);
        unknown.is_error = true;
        end_later(c, unknown);
        return;
    }
    if (check_arguments(it, args, &e) < 0) {
        end_later(c, tool_result_error(&c->arena, "Invalid input for %.*s: %s", STR_ARG(it->name),
                                       e.msg));
        return;
    }
    struct registry_source *s = registry_source_find(r, it->source);
    if (s->n_waiting >= REGISTRY_QUEUE_MAX) {
        end_later(c, tool_result_error(&c->arena,
                                       "%.*s is busy: %u calls are queued. Try again later.",
                                       STR_ARG(it->source), s->n_waiting));
        return;
    }
    c->source = s;
    c->tool = arena_str(&c->arena, it->tool->name);
    c->timeout_ms = timeout_of(s, it->tool);
    if (s->n_running < limit_of(s) && s->n_waiting == 0)
        start_source_call(c, args, who);
    else
        wait_for_turn(c, args, who);
}

static struct registry_call *call_new(struct registry *r, str name,
                                      const struct registry_call_events *ev, void *ctx)
{
    struct registry_call *c = xcalloc(1, sizeof(*c));

    c->registry = r;
    c->ev = ev;
    c->ctx = ctx;
    list_init(&c->node);
    arena_init(&c->arena);
    c->name = arena_str(&c->arena, name);
    timer_init(&c->timeout, r->loop, on_call_timeout, c);
    defer_init(&c->answer, deliver_result, c);
    return c;
}

static const struct json NO_ARGS = {.type = JSON_OBJECT};

struct registry_call *registry_call(struct registry *r, str name, const struct json *args,
                                    const struct tool_caller *who,
                                    const struct registry_call_events *ev, void *ctx)
{
    struct registry_call *c = call_new(r, name, ev, ctx);
    dispatch_call(c, args ? args : &NO_ARGS, who);
    return c;
}

struct registry_call *registry_probe(struct registry *r, str name, const struct json *args,
                                     const struct tool_caller *who,
                                     const struct registry_call_events *ev, void *ctx)
{
    const struct toolset_item *it = registry_find(r, name, args, actor_is_admin(who->actor));
    const struct registry_source *s = it ? registry_source_find(r, it->source) : NULL;
    if (!s || !s->def->probe)
        return NULL;
    struct registry_call *c = call_new(r, name, ev, ctx);
    c->is_probe = true;
    dispatch_call(c, args ? args : &NO_ARGS, who);
    return c;
}

void registry_cancel(struct registry_call *c)
{
    struct registry_source *s = c->source;

    if (c->inner)
        s->def->cancel(s->def->self, c->inner);
    leave_source(c);
    registry_call_free(c);
}

static void drop_call(struct registry_call *c, const char *why)
{
    struct registry_source *s = c->source;

    if (c->inner)
        s->def->cancel(s->def->self, c->inner);
    leave_source(c);
    if (why)
        end_later(c, tool_result_error(&c->arena, "%.*s: its source %s %s.", STR_ARG(c->name),
                                       s->def->name, why));
    else
        registry_call_free(c);
}

void registry_drop_calls(struct registry *r, struct registry_source *s, const char *why)
{
    if (!s) {
        LIST_FOREACH (it, &r->ending)
            drop_call(LIST_ENTRY(it, struct registry_call, node), NULL);
        return;
    }
    while (!list_empty(&s->running))
        drop_call(LIST_ENTRY(s->running.next, struct registry_call, node), why);
    while (!list_empty(&s->waiting))
        drop_call(LIST_ENTRY(s->waiting.next, struct registry_call, node), why);
}
