/* rig_tools.h - a source of tools that do what the test says.
 *
 *   t__ping    answers "pong" (rig_tools.answer)
 *   t__slow    answers when the test calls tools_release()
 *   t__hang    never answers; the run has to cancel it
 *   t__fail    answers with an error
 *   t__read    has readOnlyHint;  t__drop has destructiveHint, so a person is asked
 *
 * rig_tools counts starts and cancellations and keeps the last caller and arguments. One source for
 * a test program: tools_begin() and tools_end() in the set-up and tear-down. */
#pragma once

#include "support/unit.h"
#include "tools/registry.h"

struct rig_tool_call {
    struct tool_call call;
    struct list_node node;
    struct deferred answer;
    const char *refusal; /* of a probe */
};

static struct rig_tools {
    struct loop *loop;
    struct arena arena;
    struct tool tools[6];
    struct tool_source source;
    struct list_node calls; /* in progress */
    const char *answer;     /* of ping */
    const char *refusal;    /* probes answer with it; NULL = the call would not be refused */
    const char *absence;    /* why the tools are not available now; NULL = they are */
    bool is_coming, holds_probes;
    unsigned started, cancelled, probed;
    char args[256], user_id[64], conversation_id[96];
    void *host; /* the turn of the last call */
} rig_tools;

static inline const struct tool *tools_list(void *self, size_t *ret_n)
{
    *ret_n = rig_tools.absence ? 0 : ARRAY_LEN(rig_tools.tools);
    return rig_tools.tools;
}

static inline struct tool_result tools_result(struct rig_tool_call *c)
{
    struct arena *a = &c->call.arena;
    if (c->refusal)
        return tool_result_error(a, "%s", c->refusal);
    if (str_eq(c->call.tool, STR("fail")))
        return tool_result_error(a, "it failed");
    return tool_result_text(a, c->call.is_probe ? STR("") : str_from(rig_tools.answer));
}

static inline void on_tools_answer(void *ctx)
{
    struct rig_tool_call *c = ctx;
    struct tool_result r = tools_result(c);
    list_del(&c->node);
    tool_call_answer(&c->call, &r);
}

static inline struct rig_tool_call *tools_add(struct tool_call *call)
{
    struct rig_tool_call *c = CONTAINER_OF(call, struct rig_tool_call, call);
    defer_init(&c->answer, on_tools_answer, c);
    list_push(&rig_tools.calls, &c->node);
    return c;
}

static inline void tools_start(void *self, struct tool_call *call)
{
    struct rig_tool_call *c = tools_add(call);
    const struct tool_caller *who = &call->who;
    str args = json_to_str(&call->arena, call->args), user_id = actor_user(who->actor);
    rig_tools.started++;
    rig_tools.host = who->host;
    snprintf(rig_tools.args, sizeof rig_tools.args, "%.*s", STR_ARG(args));
    snprintf(rig_tools.user_id, sizeof rig_tools.user_id, "%.*s", STR_ARG(user_id));
    snprintf(rig_tools.conversation_id, sizeof rig_tools.conversation_id, "%.*s",
             STR_ARG(who->conversation_id));
    if (!str_eq(call->tool, STR("slow")) && !str_eq(call->tool, STR("hang")))
        defer_start(rig_tools.loop, &c->answer);
}

static inline void tools_probe(void *self, struct tool_call *call)
{
    struct rig_tool_call *c = tools_add(call);
    rig_tools.probed++;
    c->refusal = rig_tools.refusal;
    if (!rig_tools.holds_probes)
        defer_start(rig_tools.loop, &c->answer);
}

static inline void tools_cancel(void *self, struct tool_call *call)
{
    struct rig_tool_call *c = CONTAINER_OF(call, struct rig_tool_call, call);
    rig_tools.cancelled++;
    defer_stop(&c->answer);
    list_del(&c->node);
}

static inline str tools_absence(void *self, struct arena *a, bool *ret_is_coming)
{
    *ret_is_coming = rig_tools.absence && rig_tools.is_coming;
    return rig_tools.absence ? str_from(rig_tools.absence) : STR_NONE;
}

/* The first call of t__slow that waits gets its answer. */
static inline void tools_release(void)
{
    LIST_FOREACH (n, &rig_tools.calls) {
        struct rig_tool_call *c = LIST_ENTRY(n, struct rig_tool_call, node);
        if (!str_eq(c->call.tool, STR("slow")) || !list_empty(&c->answer.node))
            continue;
        defer_start(rig_tools.loop, &c->answer);
        return;
    }
    fail_msg("no call of t__slow waits");
}

/* The oldest call that is in progress reports progress. */
static inline void tools_progress(double done, double total, const char *message)
{
    struct rig_tool_call *c = LIST_ENTRY(rig_tools.calls.next, struct rig_tool_call, node);
    assert_false(list_empty(&rig_tools.calls));
    tool_call_progress(&c->call, done, total, str_from(message));
}

static inline void tools_begin(struct loop *loop, struct registry *registry)
{
    static const char *const NAMES[] = {"ping", "slow", "hang", "fail", "read", "drop"};
    struct json *reads, *drops;
    struct err e = {0};
    rig_tools = (struct rig_tools){.loop = loop, .answer = "pong"};
    arena_init(&rig_tools.arena);
    list_init(&rig_tools.calls);
    json_parse(&rig_tools.arena, STR("{\"readOnlyHint\":true}"), 0, &reads, NULL);
    json_parse(&rig_tools.arena, STR("{\"destructiveHint\":true}"), 0, &drops, NULL);
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        rig_tools.tools[i] = (struct tool){.name = str_from(NAMES[i])};
    rig_tools.tools[4].annotations = reads;
    rig_tools.tools[5].annotations = drops;
    rig_tools.source = (struct tool_source){.name = "t",
                                            .list = tools_list,
                                            .start = tools_start,
                                            .cancel = tools_cancel,
                                            .probe = tools_probe,
                                            .absence = tools_absence,
                                            .call_size = sizeof(struct rig_tool_call)};
    if (registry_add_source(registry, &rig_tools.source, &e) < 0)
        fail_msg("%s", e.msg);
}

static inline void tools_end(void)
{
    assert_true(list_empty(&rig_tools.calls));
    arena_done(&rig_tools.arena);
}
