/* nb__delegate - a child agent with its own conversation, prompt, tools and budget. */
#include <assert.h>

#include "builtin/internal.h"
#include "runtime/history/usage_event.h"

#define ITERATIONS_DEFAULT 5
#define ITERATIONS_MAX     10

static const char PREAMBLE[] =
    "You are an agent that works on one task for another agent. Use your tools, then answer with "
    "the result alone: complete, factual, without questions. Nobody will answer you.";

struct delegation {
    struct message *turn;
    str child_id;
};

/* The tokens of the child are charged to the parent's conversation. */
static void charge_parent(struct builtin_call *c, const struct turn_result *t)
{
    static const char *const KEYS[] = {"runId", "toolCallId", "conversationId", NULL};
    const str values[] = {c->call.who.run_id, c->call.who.call_id, t->conversation_id};
    turn_record(c->call.who.host, usage_event_with(&c->call.arena, "delegate", t->run->model,
                                                   &t->run->usage, t->run->llm_ms, KEYS, values));
}

static void on_child_started(void *ctx, str conversation_id, str run_id, bool is_new)
{
    struct builtin_call *c = ctx;
    struct delegation *d = c->state;
    d->child_id = arena_str(&c->call.arena, conversation_id);
    tool_call_progress(&c->call, 0, 0,
                       arena_printf(&c->call.arena, "started %.*s", STR_ARG(conversation_id)));
}

static void on_child_done(void *ctx, const struct turn_result *t)
{
    struct builtin_call *c = ctx;
    struct delegation *d = c->state;
    const struct run_result *r = t->run;
    assert(d->turn && d->child_id.n > 0);
    d->turn = NULL;
    charge_parent(c, t);
    if (r->stop == RUN_STOP_ERROR) {
        builtin_fail(c, "The delegated run failed: %s", r->err.msg);
        return;
    }
    struct json *out = json_new(&c->call.arena, JSON_OBJECT);
    str id = arena_str(&c->call.arena, t->conversation_id);
    json_set(&c->call.arena, out, STR("conversationId"), json_of_str(id));
    json_set(&c->call.arena, out, STR("stopReason"), json_of_str(str_from(run_stop_name(r->stop))));
    json_set(&c->call.arena, out, STR("iterations"), json_of_int(r->iterations));
    str text = r->response;
    if (r->stop != RUN_STOP_COMPLETE)
        text = arena_printf(&c->call.arena, "%.*s\n\n[The delegated run stopped early: %s]",
                            STR_ARG(text), run_stop_name(r->stop));
    builtin_reply_json(c, text, out);
}

static void on_child_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct builtin_call *c = ctx;
    struct delegation *d = c->state;
    assert(d->turn && d->child_id.n == 0); /* refused before it began */
    d->turn = NULL;
    builtin_fail(c, "The work could not be delegated: %s", err->msg);
}

static void on_delegate_cancel(struct builtin_call *c)
{
    struct delegation *d = c->state;
    if (!d->turn)
        return;
    turn_forget(d->turn);
    turn_cancel(d->turn);
}

static str known_agents(struct builtin_call *c, const struct agents *all)
{
    struct buf b;
    buf_init(&b, 64u * 1024);
    for (size_t i = 0; i < all->len; i++)
        buf_printf(&b, "%s%.*s", i ? ", " : "", STR_ARG(all->items[i].name));
    return buf_keep(&b, &c->call.arena);
}

static struct json_strs strings_of(struct arena *a, const struct json *list)
{
    if (!json_is(list, JSON_ARRAY))
        return (struct json_strs){0};
    struct json_strs s = {arena_array(a, list->len + 1, sizeof(str)), 0};
    for (size_t i = 0; i < list->len; i++)
        s.items[s.len++] = json_string(&list->items[i], STR_NONE);
    return s;
}

static int budget(const struct builtin_call *c, const struct agent *agent)
{
    int64_t n = json_get_int(c->call.args, "maxIterations", ITERATIONS_DEFAULT);
    if (n > ITERATIONS_MAX)
        n = ITERATIONS_MAX;
    if (agent && agent->max_iterations > 0 && agent->max_iterations < n)
        n = agent->max_iterations;
    if (c->call.who.remaining_iterations - 1 < n)
        n = c->call.who.remaining_iterations - 1;
    return n > 0 ? (int)n : 0;
}

static void start_child(struct builtin_call *c, const struct agent *agent, int iterations)
{
    static const struct turn_events EVENTS = {on_child_started, on_child_done, on_child_refused};
    assert(c->call.who.host && iterations > 0 && iterations < c->call.who.remaining_iterations);
    const struct turn_info *parent = turn_info(c->call.who.host);
    struct turn_child child = {
        .parent_conversation_id = c->call.who.conversation_id,
        .parent_run_id = c->call.who.run_id,
        .parent_call_id = c->call.who.call_id,
        .owner_id = parent->owner_id,
        .system_prompt = agent ? agent->system_prompt : STR(""),
        .tools = agent ? agent->tools : strings_of(&c->call.arena, json_get(c->call.args, "tools")),
        .max_iterations = iterations,
        .depth = parent->depth + 1,
    };
    if (!agent)
        child.system_prompt = str_from(PREAMBLE);
    struct turn_request req = {
        .actor = turn_actor(c->call.who.host),
        .message = json_get_string(c->call.args, "task"),
        .model = agent && agent->model.n > 0 ? agent->model : parent->model,
        .channel = STR("delegate"),
        .auto_allow = parent->auto_allow,
        .is_unattended = true, /* nobody watches a child */
        .child = &child,
    };
    struct delegation *d = ARENA_NEW(&c->call.arena, struct delegation);
    c->state = d;
    c->on_cancel = on_delegate_cancel;
    d->turn = turn_start(c->builtin->deps.runtime, &req, &EVENTS, c);
}

static void delegate(struct builtin_call *c)
{
    const struct agents *all = runtime_agents(c->builtin->deps.runtime);
    str name = json_get_string(c->call.args, "agent");
    const struct agent *agent = agents_find(all, name);
    int iterations = budget(c, agent);
    if (!c->call.who.host)
        builtin_fail(c, "Work can only be delegated from a conversation.");
    else if (name.n > 0 && !agent)
        builtin_fail(c, "There is no agent '%.*s'. Agents: %.*s.", STR_ARG(name),
                     STR_ARG(all->len > 0 ? known_agents(c, all) : STR("none are configured")));
    else if (turn_info(c->call.who.host)->depth >= TURN_DEPTH_MAX)
        builtin_fail(c, "Delegation is nested too deeply: at most %d levels.", TURN_DEPTH_MAX);
    else if (iterations == 0)
        builtin_fail(c, "Too few steps are left in this run to delegate anything.");
    else
        start_child(c, agent, iterations);
}

const struct builtin_tool BUILTIN_DELEGATE = {
    .name = "delegate",
    .title = "Delegate a task",
    .description =
        "Give a self-contained task to a child agent with a fresh context and get its final "
        "answer. Several delegations in one turn run at the same time.",
    .schema =
        "{\"type\":\"object\",\"properties\":{"
        "\"task\":{\"type\":\"string\",\"minLength\":1,\"description\":\"Everything the child "
        "needs "
        "to know\"},"
        "\"agent\":{\"type\":\"string\",\"description\":\"Name of a configured agent profile\"},"
        "\"tools\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Globs of "
        "the "
        "tools the child may use; ignored with a profile\"},"
        "\"maxIterations\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}},"
        "\"required\":[\"task\"],\"additionalProperties\":false}",
    .is_read_only = true, /* each call of the child is checked */
    .timeout_ms = TOOL_NO_TIMEOUT,
    .feature = BUILTIN_FEATURE(delegation),
    .call = delegate,
};
