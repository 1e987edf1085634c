/* registry_call.c - the life of a call: waiting, running, ending.
 *
 * A result that the registry makes (unknown name, timeout, removed source) is delivered from a
 * deferred, so that no caller is called back inside its own call. A result of the source is passed
 * on directly. */
#include <assert.h>
#include <errno.h>

#include "base/schema/schema.h"
#include "tools/registry_impl.h"

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

static void tool_call_free(struct tool_call *c)
{
    assert(!c->source && !c->is_running);
    defer_stop(&c->answer);
    list_del(&c->node);
    actor_unref((struct actor *)c->who.actor);
    arena_done(&c->arena);
    free(c);
}

/* Removes the call from its source; a running call must have ended or been cancelled. */
static void leave_source(struct tool_call *c)
{
    struct registry_source *s = c->source;

    list_del(&c->node);
    if (!s)
        return;
    unsigned *count = c->is_running ? &s->n_running : &s->n_waiting;
    assert(*count > 0);
    --*count;
    if (s->n_waiting > 0)
        defer_start(c->registry->loop, &s->pump);
    c->source = NULL;
    c->is_running = false;
    timer_stop(&c->timeout);
}

/* Takes the call from its source without an answer. */
static void withdraw_call(struct tool_call *c)
{
    if (c->is_running)
        c->source->def->cancel(c->source->def->self, c);
    leave_source(c);
}

static void deliver_result(void *ctx)
{
    struct tool_call *c = ctx;
    c->ev->done(c->ctx, &c->result);
    tool_call_free(c);
}

static void end_later(struct tool_call *c, struct tool_result result)
{
    assert(!c->source);
    c->result = result;
    list_push(&c->registry->ending, &c->node);
    defer_start(c->registry->loop, &c->answer);
}

void tool_call_answer(struct tool_call *c, const struct tool_result *result)
{
    size_t max = c->registry->max_result_chars;
    struct tool_result too_large;

    assert(c->is_running);
    leave_source(c);
    if (max && tool_result_chars(result) > max) {
        too_large = tool_result_error(
            &c->arena, "The result of %.*s is larger than %zu characters. Ask for a smaller part.",
            STR_ARG(c->name), max);
        result = &too_large;
    }
    c->ev->done(c->ctx, result);
    tool_call_free(c);
}

void tool_call_progress(const struct tool_call *c, double progress, double total, str message)
{
    assert(c->is_running);
    if (c->ev->progress)
        c->ev->progress(c->ctx, progress, total, message);
}

static void on_call_timeout(void *ctx)
{
    struct tool_call *c = ctx;

    assert(c->is_running);
    withdraw_call(c);
    end_later(c, tool_result_error(&c->arena, "%.*s did not answer within %g seconds.",
                                   STR_ARG(c->name), (double)c->timeout_ms / 1000));
}

static void start_call(struct tool_call *c)
{
    struct registry_source *s = c->source;

    assert(!c->is_running && s->n_running < limit_of(s));
    list_push(&s->running, &c->node);
    s->n_running++;
    c->is_running = true;
    if (c->timeout_ms != TOOL_NO_TIMEOUT)
        timer_start(&c->timeout, c->timeout_ms);
    (c->is_probe ? s->def->probe : s->def->start)(s->def->self, c);
}

void registry_pump(void *source)
{
    struct registry_source *s = source;

    while (s->n_running < limit_of(s) && s->n_waiting > 0) {
        struct list_node *first = list_pop(&s->waiting);
        s->n_waiting--;
        start_call(LIST_ENTRY(first, struct tool_call, node));
    }
}

static int check_arguments(const struct toolset_item *it, const struct json *args, struct err *e)
{
    if (args->type != JSON_OBJECT)
        return err_set(e, -EINVAL, "arguments: expected object");
    return it->tool->input_schema ? schema_validate(it->tool->input_schema, args, "arguments", e)
                                  : 0;
}

/* Refuses a new call of a known tool, queues it, or starts it. */
static void dispatch_call(struct tool_call *c, const struct toolset_item *it,
                          struct registry_source *s)
{
    struct err e = {0};

    if (check_arguments(it, c->args, &e) < 0) {
        end_later(c, tool_result_error(&c->arena, "Invalid input for %.*s: %s", STR_ARG(it->name),
                                       e.msg));
        return;
    }
    if (s->n_waiting >= REGISTRY_QUEUE_MAX) {
        end_later(c, tool_result_error(&c->arena,
                                       "%.*s is busy: %u calls are queued. Try again later.",
                                       STR_ARG(it->source), s->n_waiting));
        return;
    }
    c->source = s;
    c->tool = arena_str(&c->arena, it->tool->name);
    c->timeout_ms = timeout_of(s, it->tool);
    if (s->n_running < limit_of(s) && s->n_waiting == 0) {
        start_call(c);
        return;
    }
    list_push(&s->waiting, &c->node);
    s->n_waiting++;
}

static struct tool_caller copy_caller(struct arena *a, const struct tool_caller *from)
{
    struct tool_caller to = *from;
    to.actor = actor_ref(from->actor);
    to.conversation_id = arena_str(a, from->conversation_id);
    to.run_id = arena_str(a, from->run_id);
    to.call_id = arena_str(a, from->call_id);
    to.via = arena_str(a, from->via);
    to.app = arena_str(a, from->app);
    to.view_id = arena_str(a, from->view_id);
    return to;
}

/* `s` is the source that will get the call, or NULL. */
static struct tool_call *tool_call_new(struct registry *r, const struct registry_source *s,
                                       str name, const struct json *args,
                                       const struct tool_caller *who)
{
    static const struct json NO_ARGS = {.type = JSON_OBJECT};
    size_t size = s && s->def->call_size ? s->def->call_size : sizeof(struct tool_call);
    struct tool_call *c = xcalloc(1, size);

    assert(size >= sizeof(*c));
    c->registry = r;
    list_init(&c->node);
    arena_init(&c->arena);
    c->name = arena_str(&c->arena, name);
    c->args = args ? args : &NO_ARGS;
    c->who = copy_caller(&c->arena, who);
    timer_init(&c->timeout, r->loop, on_call_timeout, c);
    defer_init(&c->answer, deliver_result, c);
    return c;
}

static struct tool_result unknown_tool(struct tool_call *c)
{
    str why =
        registry_explain_unknown(c->registry, &c->arena, c->name, actor_is_admin(c->who.actor));
    struct tool_result res = tool_result_text(&c->arena, why);
    res.is_error = res.is_absent = true;
    return res;
}

/* Only runs have private tools. */
static struct tool_audience audience_of(const struct tool_caller *who)
{
    if (who->run_id.n == 0 || who->app.n > 0)
        return (struct tool_audience){0};
    return tool_audience_of(who->actor, who->conversation_id);
}

/* An interface has a list of its own: the tools of its source that are for apps, by their current
 * names. */
static const struct toolset_item *find_for(struct registry *r, str name, const struct json *args,
                                           const struct tool_caller *who)
{
    struct tool_audience audience = audience_of(who);
    if (who->app.n == 0)
        return registry_find_for(r, &audience, name, args, actor_is_admin(who->actor));
    const struct toolset_item *it = toolset_find(registry_tools(r), name);
    bool is_offered = it && it->tool->is_for_apps && !it->tool->is_admin_only;
    return is_offered && str_eq(it->source, who->app) ? it : NULL;
}

static struct registry_source *source_of(struct registry *r, const struct toolset_item *it,
                                         const struct tool_caller *who)
{
    struct tool_audience audience = audience_of(who);
    struct registry_source *s = it ? registry_source_find(r, it->source) : NULL;
    if (it && !s)
        s = registry_group_source(registry_group_find(r, &audience), it->source);
    assert(!it || s);
    return s;
}

struct tool_call *registry_call(struct registry *r, str name, const struct json *args,
                                const struct tool_caller *who, const struct tool_call_events *ev,
                                void *ctx)
{
    const struct toolset_item *it = find_for(r, name, args, who);
    struct registry_source *s = source_of(r, it, who);
    struct tool_call *c = tool_call_new(r, s, name, args, who);

    c->ev = ev;
    c->ctx = ctx;
    if (it)
        dispatch_call(c, it, s);
    else
        end_later(c, unknown_tool(c));
    return c;
}

struct tool_call *registry_probe(struct registry *r, str name, const struct json *args,
                                 const struct tool_caller *who, const struct tool_call_events *ev,
                                 void *ctx)
{
    const struct toolset_item *it = find_for(r, name, args, who);
    struct registry_source *s = source_of(r, it, who);
    if (!s || !s->def->probe)
        return NULL;
    struct tool_call *c = tool_call_new(r, s, name, args, who);
    c->ev = ev;
    c->ctx = ctx;
    c->is_probe = true;
    dispatch_call(c, it, s);
    return c;
}

void registry_cancel(struct tool_call *c)
{
    withdraw_call(c);
    tool_call_free(c);
}

static void drop_call(struct tool_call *c, const char *why)
{
    const char *source = c->source ? c->source->def->name : NULL;

    withdraw_call(c);
    if (why)
        end_later(c, tool_result_error(&c->arena, "%.*s: its source %s %s.", STR_ARG(c->name),
                                       source, why));
    else
        tool_call_free(c);
}

void registry_drop_calls(struct registry *r, struct registry_source *s, const char *why)
{
    if (!s) {
        LIST_FOREACH (it, &r->ending)
            drop_call(LIST_ENTRY(it, struct tool_call, node), NULL);
        return;
    }
    while (!list_empty(&s->running))
        drop_call(LIST_ENTRY(s->running.next, struct tool_call, node), why);
    while (!list_empty(&s->waiting))
        drop_call(LIST_ENTRY(s->waiting.next, struct tool_call, node), why);
}
