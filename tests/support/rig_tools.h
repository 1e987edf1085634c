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

struct tool_call {
    struct list_node node;
    str tool;
    tool_done_fn done;
    tool_progress_fn progress;
    void *ctx;
    struct deferred answer;
    const char *refusal; /* of a probe */
    bool is_probe;
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
    bool is_coming;
    unsigned started, cancelled, probed;
    char args[256], user_id[64], conversation_id[96];
    void *host; /* the turn of the last call */
} rig_tools;

static inline const struct tool *tools_list(void *self, size_t *ret_n)
{
    *ret_n = rig_tools.absence ? 0 : ARRAY_LEN(rig_tools.tools);
    return rig_tools.tools;
}

static inline void tools_close(struct tool_call *c)
{
    defer_stop(&c->answer);
    list_del(&c->node);
    free(c);
}

static inline struct tool_result tools_result(struct arena *a, const struct tool_call *c)
{
    if (c->refusal)
        return tool_result_error(a, "%s", c->refusal);
    if (str_eq(c->tool, STR("fail")))
        return tool_result_error(a, "it failed");
    return tool_result_text(a, c->is_probe ? STR("") : str_from(rig_tools.answer));
}

static inline void on_tools_answer(void *ctx)
{
    struct tool_call *c = ctx;
    tool_done_fn done = c->done;
    void *done_ctx = c->ctx;
    struct arena a;
    arena_init(&a);
    struct tool_result r = tools_result(&a, c);
    tools_close(c);
    done(done_ctx, &r);
    arena_done(&a);
}

static inline struct tool_call *tools_add(str tool, tool_done_fn done, void *ctx)
{
    struct tool_call *c = xcalloc(1, sizeof *c);
    for (size_t i = 0; i < ARRAY_LEN(rig_tools.tools); i++)
        if (str_eq(rig_tools.tools[i].name, tool))
            c->tool = rig_tools.tools[i].name;
    c->done = done;
    c->ctx = ctx;
    defer_init(&c->answer, on_tools_answer, c);
    list_push(&rig_tools.calls, &c->node);
    return c;
}

static inline struct tool_call *tools_call(void *self, str tool, const struct json *args,
                                           const struct tool_caller *who, tool_done_fn done,
                                           tool_progress_fn progress, void *ctx)
{
    struct tool_call *c = tools_add(tool, done, ctx);
    struct arena a;
    arena_init(&a);
    rig_tools.started++;
    rig_tools.host = who->host;
    snprintf(rig_tools.args, sizeof rig_tools.args, "%.*s", STR_ARG(json_to_str(&a, args)));
    snprintf(rig_tools.user_id, sizeof rig_tools.user_id, "%.*s", STR_ARG(actor_user(who->actor)));
    snprintf(rig_tools.conversation_id, sizeof rig_tools.conversation_id, "%.*s",
             STR_ARG(who->conversation_id));
    arena_done(&a);
    c->progress = progress;
    if (!str_eq(tool, STR("slow")) && !str_eq(tool, STR("hang")))
        defer_start(rig_tools.loop, &c->answer);
    return c;
}

static inline struct tool_call *tools_probe(void *self, str tool, const struct json *args,
                                            const struct tool_caller *who, tool_done_fn done,
                                            void *ctx)
{
    struct tool_call *c = tools_add(tool, done, ctx);
    rig_tools.probed++;
    c->is_probe = true;
    c->refusal = rig_tools.refusal;
    defer_start(rig_tools.loop, &c->answer);
    return c;
}

static inline void tools_cancel(void *self, struct tool_call *c)
{
    rig_tools.cancelled++;
    tools_close(c);
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
        struct tool_call *c = LIST_ENTRY(n, struct tool_call, node);
        if (!str_eq(c->tool, STR("slow")) || !list_empty(&c->answer.node))
            continue;
        defer_start(rig_tools.loop, &c->answer);
        return;
    }
    fail_msg("no call of t__slow waits");
}

/* The oldest call that is in progress reports progress. */
static inline void tools_progress(double done, double total, const char *message)
{
    struct tool_call *c = LIST_ENTRY(rig_tools.calls.next, struct tool_call, node);
    assert_false(list_empty(&rig_tools.calls));
    c->progress(c->ctx, done, total, str_from(message));
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
                                            .call = tools_call,
                                            .cancel = tools_cancel,
                                            .probe = tools_probe,
                                            .absence = tools_absence};
    if (registry_add_source(registry, &rig_tools.source, &e) < 0)
        fail_msg("%s", e.msg);
}

static inline void tools_end(void)
{
    assert_true(list_empty(&rig_tools.calls));
    arena_done(&rig_tools.arena);
}
