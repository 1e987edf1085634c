/* The state machine of a run, with a scripted model, fake tools and a log in memory. */
#include <errno.h>

#include "base/clock.h"
#include "engine/run_impl.h"
#include "support/rig_model.h"
#include "support/rig_tools.h"

#define LINES_MAX 512

struct append {
    struct list_node node;
    run_appended_fn fn;
    void *ctx;
    bool is_bad;
};

struct world {
    struct loop *loop;
    struct llm *llm;
    struct registry *tools;
    struct list_node appends;
    struct deferred appended;
    struct actor *actor;
    struct run *run;
    struct run_limits limits;

    enum run_gate gate, gate_after_start; /* the latter: when tool.start is appended */
    const char *handed_over;              /* calls of this tool are the client's */
    const char *fail_at;                  /* appends with this event type fail */
    bool cannot_prepare;
    unsigned prepared, prepared_last; /* calls of prepare; of these with `last` */

    char types[LINES_MAX][32]; /* event types in the log */
    char ids[LINES_MAX][16];   /* ids of tool calls in it */
    size_t ntypes;
    struct buf published; /* "type text;" */
    struct buf measured;  /* "model reason in/out;" and "tool id ok;" */
    bool is_done;
    enum run_stop stop;
    char error_type[32], ask[16], output[128], response[256];
    size_t ntools, nclient_calls;
    char client_calls[128]; /* "c1 name {};" */
    struct conv_usage usage;
    int iterations;
};

/* ---- the host ---- */

static void on_appended(void *ctx)
{
    struct world *w = ctx;
    struct err e = {0};
    err_set(&e, -ENOSPC, "disk full");
    struct append *p = LIST_ENTRY(list_pop(&w->appends), struct append, node);
    if (!list_empty(&w->appends))
        defer_start(w->loop, &w->appended);
    if (p->fn)
        p->fn(p->ctx, p->is_bad ? &e : NULL);
    else if (p->is_bad)
        run_fail(w->run, &e);
    free(p);
}

static void append(void *ctx, const str *lines, size_t n, run_appended_fn fn, void *fn_ctx)
{
    struct world *w = ctx;
    struct append *p = xcalloc(1, sizeof *p);
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < n; i++) {
        struct json *v;
        assert_int_equal(json_parse(&a, lines[i], 0, &v, NULL), 0);
        assert_true(w->ntypes < LINES_MAX);
        str type = json_get_string(v, "type"), id = json_get_string(v, "id");
        snprintf(w->types[w->ntypes], sizeof w->types[0], "%.*s", STR_ARG(type));
        snprintf(w->ids[w->ntypes], sizeof w->ids[0], "%.*s", STR_ARG(id));
        p->is_bad |= w->fail_at && str_eq(type, str_from(w->fail_at));
        if (w->gate_after_start != RUN_ALLOW && str_eq(type, STR("tool.start")))
            w->gate = w->gate_after_start;
        w->ntypes++;
    }
    arena_done(&a);
    p->fn = fn;
    p->ctx = fn_ctx;
    list_push(&w->appends, &p->node);
    defer_start(w->loop, &w->appended);
}

static int prepare(void *ctx, struct arena *a, bool is_last, struct run_input *ret, struct err *e)
{
    struct world *w = ctx;
    struct llm_block *b = ARENA_NEW(a, struct llm_block);
    struct llm_message *m = ARENA_NEW(a, struct llm_message);
    w->prepared++;
    w->prepared_last += is_last;
    if (w->cannot_prepare)
        return err_set(e, -EINVAL, "the history cannot be read");
    *b = (struct llm_block){.type = LLM_TEXT, .text = STR("go")};
    *m = (struct llm_message){.role = LLM_USER, .blocks = b, .n = 1};
    *ret = (struct run_input){.messages = m, .nmessages = 1};
    return 0;
}

static enum run_gate gate(void *ctx, str tool, const struct json *args, str *ret_why)
{
    const struct world *w = ctx;
    *ret_why = STR("Denied by the test.");
    if (w->handed_over && str_eq(tool, str_from(w->handed_over)))
        return RUN_HAND_OVER;
    return w->gate;
}

static struct actor *actor_of(void *ctx)
{
    const struct world *w = ctx;
    return w->actor;
}

static str setting(void *ctx, struct arena *a)
{
    return STR_NONE;
}

static bool publish(void *ctx, str type, str data)
{
    struct world *w = ctx;
    struct arena a;
    struct json *v;
    arena_init(&a);
    assert_int_equal(json_parse(&a, data, 0, &v, NULL), 0);
    buf_printf(&w->published, "%.*s %.*s%.*s;", STR_ARG(type), STR_ARG(json_get_string(v, "id")),
               STR_ARG(json_get_string(v, "text")));
    arena_done(&a);
    return false;
}

static void on_finished(void *ctx, const struct run_result *r)
{
    struct world *w = ctx;
    w->is_done = true;
    w->stop = r->stop;
    w->ntools = r->ntools;
    w->usage = r->usage;
    w->iterations = r->iterations;
    w->nclient_calls = r->nclient_calls;
    for (size_t i = 0, at = 0; i < r->nclient_calls; i++)
        at += (size_t)snprintf(w->client_calls + at, sizeof w->client_calls - at, "%.*s %.*s %.*s;",
                               STR_ARG(r->client_calls[i].id), STR_ARG(r->client_calls[i].name),
                               STR_ARG(r->client_calls[i].args));
    if (r->ntools > 0)
        snprintf(w->output, sizeof w->output, "%.*s", STR_ARG(r->tools[r->ntools - 1].output));
    snprintf(w->response, sizeof w->response, "%.*s", STR_ARG(r->response));
    snprintf(w->error_type, sizeof w->error_type, "%s", r->error_type ? r->error_type : "");
    snprintf(w->ask, sizeof w->ask, "%.4s", r->ask ? json_get_string(r->ask, "askId").p : "");
}

static void on_answer(void *ctx, const struct run_answer *a)
{
    struct world *w = ctx;
    buf_printf(&w->measured, "%.*s %s %lld/%lld;", STR_ARG(a->model), a->finish_reason,
               (long long)a->usage->input_tokens, (long long)a->usage->output_tokens);
}

static void on_result(void *ctx, const struct run_tool_record *c)
{
    struct world *w = ctx;
    buf_printf(&w->measured, "%.*s %.*s %s;", STR_ARG(c->name), STR_ARG(c->id),
               c->ok ? "ok" : "failed");
}

static const struct run_host HOST = {
    .append = append,
    .prepare = prepare,
    .gate = gate,
    .actor = actor_of,
    .setting = setting,
    .publish = publish,
    .model_answered = on_answer,
    .tool_answered = on_result,
    .finished = on_finished,
};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    struct principal p = {.user_id = STR("usr_a"), .how = AUTH_BY_SESSION};
    struct err e = {0};
    w->loop = loop_new(NULL);
    w->llm = llm_new(w->loop, NULL, &(struct llm_conf){0}, NULL, &e);
    w->tools = registry_new(w->loop);
    w->actor = actor_new(NULL, STR("ws_a"), &p, (struct json_strs){0});
    w->limits = (struct run_limits){
        .max_iterations = 6, .max_input_tokens = 100000, .max_output_tokens = 1000};
    list_init(&w->appends);
    defer_init(&w->appended, on_appended, w);
    buf_init(&w->published, 1u << 16);
    buf_init(&w->measured, 1u << 16);
    model_begin();
    tools_begin(w->loop, w->tools);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    assert_true(list_empty(&w->appends));
    registry_free(w->tools);
    tools_end();
    llm_free(w->llm);
    model_end();
    actor_unref(w->actor);
    buf_done(&w->published);
    buf_done(&w->measured);
    loop_free(w->loop);
    free(w);
    return 0;
}

#define WITH_RUN(name) TEST_WITH(name, set_up, tear_down)

static void start_with(struct world *w, const struct run_pending *pending, size_t n)
{
    struct run_spec spec = {
        .run_id = STR("run_1"),
        .conversation_id = STR("conv_1"),
        .model = STR("demo:demo"),
        .limits = w->limits,
        .pending = pending,
        .npending = n,
    };
    w->run = run_new(w->loop, w->llm, w->tools, &spec, &HOST, w);
    run_start(w->run);
}

static void start(struct world *w)
{
    start_with(w, NULL, 0);
}

static void finish(struct world *w)
{
    assert_true(loop_run_until(w->loop, &w->is_done, 60000));
}

static void start_and_finish(struct world *w)
{
    start(w);
    finish(w);
}

#define until(w, condition)                                                                        \
    do {                                                                                           \
        bool never = false;                                                                        \
        for (int i = 0; !(condition) && i < 60000; i++)                                            \
            (void)loop_run_until((w)->loop, &never, 1);                                            \
        assert_true(condition);                                                                    \
    } while (0)

static void assert_log(const struct world *w, const char *expected)
{
    char all[LINES_MAX * 33] = "";
    for (size_t i = 0; i < w->ntypes; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? " " : "", w->types[i]);
    assert_string_equal(all, expected);
}

static bool was_published(const struct world *w, const char *words)
{
    return str_find(buf_str(&w->published), str_from(words), 0) >= 0;
}

/* ---- steps ---- */

WITH_RUN(text_alone_completes_a_run)
{
    struct world *w = *state;
    model_says("hello");
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_string_equal(w->response, "hello");
    assert_log(w, "llm.response run.done");
}

WITH_RUN(a_call_is_durable_before_it_starts_and_its_result_before_the_next_step)
{
    struct world *w = *state;
    model_calls("t__ping", "{}");
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 1);
    assert_string_equal(w->output, "pong");
    assert_log(w, "llm.response tool.start tool.done llm.response run.done");
}

WITH_RUN(the_host_learns_what_each_call_used_without_reading_the_log)
{
    struct world *w = *state;
    MODEL(.calls = {{"t__ping", "{}"}}, .usage = {.input_tokens = 7, .output_tokens = 3});
    MODEL(.text = "done", .usage = {.input_tokens = 9, .output_tokens = 4});
    start_and_finish(w);
    assert_string_equal(buf_cstr(&w->measured), "demo:demo tool-calls 7/3;t__ping c1 ok;"
                                                "demo:demo stop 9/4;");
}

/* The log must not depend on which tool is faster; watchers learn of each result immediately. */
WITH_RUN(results_are_stored_in_the_order_of_the_calls)
{
    struct world *w = *state;
    MODEL(.calls = {{"t__slow", "{}"}, {"t__ping", "{}"}, {"t__slow", "{}"}});
    start(w);
    until(w, was_published(w, "tool.settled c2"));
    assert_false(was_published(w, "tool.settled c1"));
    assert_log(w, "llm.response tool.start tool.start tool.start");
    tools_release();
    until(w, w->ntypes == 6); /* c1 and c2 */
    tools_release();
    finish(w);
    assert_string_equal(w->ids[4], "c1");
    assert_string_equal(w->ids[5], "c2");
    assert_string_equal(w->ids[6], "c3");
    assert_int_equal(w->ntools, 3);
}

static void assert_status(struct world *w, const char *want)
{
    struct json_writer jw;
    struct buf b;
    jw_start(&jw, &b, 4096);
    jw_object(&jw);
    run_write_status(w->run, &jw);
    jw_end(&jw);
    assert_string_equal(buf_cstr(&b), want);
    buf_done(&b);
}

WITH_RUN(progress_of_a_tool_is_published_and_not_stored)
{
    struct world *w = *state;
    char large[300];
    model_calls("t__slow", "{}");
    start(w);
    until(w, rig_tools.started == 1);
    assert_status(w, "{}");
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    tools_progress(0.5, 0, large);
    large[200] = '\0'; /* what is kept of it */
    char want[300];
    (void)snprintf(want, sizeof want,
                   "{\"progress\":[{\"id\":\"c1\",\"progress\":0.5,\"message\":\"%s\"}]}", large);
    assert_status(w, want);
    tools_progress(1, 2, "half");
    assert_true(was_published(w, "tool.progress c1"));
    assert_status(
        w, "{\"progress\":[{\"id\":\"c1\",\"progress\":1,\"total\":2,\"message\":\"half\"}]}");
    tools_release();
    finish(w);
    assert_log(w, "llm.response tool.start tool.done llm.response run.done");
}

WITH_RUN(texts_of_two_steps_are_separated_by_a_blank_line)
{
    struct world *w = *state;
    MODEL(.text = "Looking.", .calls = {{"t__ping", "{}"}});
    model_says("Found.");
    start_and_finish(w);
    assert_string_equal(w->response, "Looking.\n\nFound.");
}

WITH_RUN(a_source_that_is_starting_is_waited_for)
{
    struct world *w = *state;
    rig_tools.absence = "It is starting.";
    rig_tools.is_coming = true;
    registry_changed(w->tools, &rig_tools.source);
    model_calls("t__ping", "{}");
    start(w);
    until(w, w->ntypes == 2);
    assert_int_equal(rig_tools.started, 0);
    rig_tools.absence = NULL;
    registry_changed(w->tools, &rig_tools.source);
    finish(w);
    assert_int_equal(rig_tools.started, 1);
    assert_string_equal(w->output, "pong");
}

/* ---- calls that the client executes ---- */

WITH_RUN(a_call_of_the_client_ends_the_run)
{
    struct world *w = *state;
    w->handed_over = "weather";
    MODEL(.text = "I look.", .calls = {{"weather", "{\"a\":1}"}, {"weather", "{}"}});
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_CLIENT_TOOLS);
    assert_string_equal(w->client_calls, "c1 weather {\"a\":1};c2 weather {};");
    assert_int_equal(w->ntools, 0);
    assert_int_equal(w->iterations, 1);
    assert_log(w, "llm.response tool.start tool.start run.done");
}

/* In whichever order the model wrote them: the run ends when its own calls have their results. */
WITH_RUN(calls_of_both_sides_end_the_run_after_the_results_of_its_own)
{
    static const struct model_answer MIXED[] = {
        {.calls = {{"t__slow", "{}"}, {"weather", "{}"}}},
        {.calls = {{"weather", "{}"}, {"t__slow", "{}"}}},
        {.calls = {{"weather", "{}"}, {"t__slow", "{}"}, {"weather", "{}"}}},
    };
    for (size_t k = 0; k < ARRAY_LEN(MIXED); k++) {
        tear_down(state); /* each with a world of its own */
        set_up(state);
        struct world *w = *state;
        w->handed_over = "weather";
        model_answers(MIXED[k]);
        start(w);
        until(w, rig_tools.started == 1);
        assert_false(w->is_done);
        tools_release();
        finish(w);
        assert_int_equal(w->stop, RUN_STOP_CLIENT_TOOLS);
        assert_int_equal(w->ntools, 1);
        assert_int_equal(w->nclient_calls, k == 2 ? 2 : 1);
        assert_string_equal(w->types[w->ntypes - 2], "tool.done");
    }
}

WITH_RUN(a_run_with_calls_of_both_sides_can_be_cancelled)
{
    struct world *w = *state;
    w->handed_over = "weather";
    MODEL(.calls = {{"weather", "{}"}, {"t__slow", "{}"}});
    start(w);
    until(w, rig_tools.started == 1);
    run_cancel(w->run);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_CANCELLED);
    assert_log(w, "llm.response tool.start tool.start tool.done run.done");
}

WITH_RUN(arguments_that_are_not_json_go_back_to_the_model_and_not_to_the_client)
{
    struct world *w = *state;
    w->handed_over = "weather";
    MODEL(.calls = {{"weather", "{broken"}});
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_int_equal(w->nclient_calls, 0);
    assert_int_equal(w->iterations, 2);
}

WITH_RUN(an_answer_that_the_client_limits_is_not_continued)
{
    struct world *w = *state;
    w->limits.is_cut_final = true;
    MODEL(.text = "half", .stop = LLM_STOP_LENGTH);
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_LENGTH);
    assert_int_equal(w->iterations, 1);
}

/* ---- ends of an answer that are not its end ---- */

WITH_RUN(an_answer_that_was_cut_off_is_continued_without_a_gap)
{
    struct world *w = *state;
    MODEL(.text = "half a sen", .stop = LLM_STOP_LENGTH);
    model_says("tence");
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_string_equal(w->response, "half a sentence");
    assert_log(w, "llm.response llm.response run.done");
}

WITH_RUN(an_answer_is_continued_so_often_and_no_more)
{
    struct world *w = *state;
    w->limits.max_iterations = 25;
    for (int i = 0; i < RUN_CONTINUATIONS_MAX + 2; i++)
        MODEL(.text = "x", .stop = LLM_STOP_LENGTH);
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_LENGTH);
    assert_int_equal(rig_model.nseen, RUN_CONTINUATIONS_MAX + 1);
}

WITH_RUN(a_call_that_was_cut_off_does_not_run)
{
    struct world *w = *state;
    MODEL(.calls = {{"t__ping", "{}"}}, .stop = LLM_STOP_LENGTH);
    start_and_finish(w);
    assert_int_equal(rig_tools.started, 0);
    assert_non_null(strstr(w->output, "cut off"));
    assert_log(w, "llm.response tool.done llm.response run.done");
}

WITH_RUN(a_paused_answer_is_continued_by_the_next_call)
{
    struct world *w = *state;
    MODEL(.text = "thinking", .stop = LLM_STOP_PAUSE);
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_model.nseen, 2);
}

WITH_RUN(a_refusal_ends_the_run_and_starts_no_call)
{
    struct world *w = *state;
    MODEL(.text = "no", .calls = {{"t__ping", "{}"}}, .stop = LLM_STOP_REFUSAL);
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_REFUSAL);
    assert_int_equal(rig_tools.started, 0);
}

/* ---- limits ---- */

WITH_RUN(the_last_step_gets_its_results_and_is_announced)
{
    struct world *w = *state;
    w->limits.max_iterations = 2;
    model_calls("t__ping", "{}");
    model_calls("t__ping", "{\"n\":2}");
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_MAX_ITERATIONS);
    assert_int_equal(rig_tools.started, 2);
    assert_int_equal(w->prepared_last, 1);
}

WITH_RUN(the_same_calls_with_the_same_results_end_the_run)
{
    struct world *w = *state;
    for (int i = 0; i < 6; i++)
        model_calls("t__ping", "{}");
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_MAX_ITERATIONS);
    assert_int_equal(rig_tools.started, RUN_REPEATS_MAX);
    assert_int_equal(w->prepared_last, 1); /* one more call, whose prompt says so */
}

WITH_RUN(calls_of_a_run_without_budget_get_a_result_and_do_not_start)
{
    struct world *w = *state;
    w->limits.max_input_tokens = 50;
    MODEL(.calls = {{"t__ping", "{}"}}, .usage = {.input_tokens = 51});
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_TOKEN_BUDGET);
    assert_int_equal(rig_tools.started, 0);
    assert_log(w, "llm.response tool.done run.done");
}

WITH_RUN(calls_beyond_the_limit_of_one_response_get_an_error)
{
    struct world *w = *state;
    MODEL(.calls = {{"t__ping", "{}"}}, .times = CALLS_MAX + 2);
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, CALLS_MAX);
    assert_int_equal(w->ntools, CALLS_MAX + 2);
    assert_string_equal(w->output, "Too many tool calls in one response; call again.");
}

WITH_RUN(usage_of_all_model_calls_is_added_up)
{
    struct world *w = *state;
    MODEL(.calls = {{"t__ping", "{}"}}, .usage = {100, 10, 50, 20, 5});
    MODEL(.text = "done", .usage = {200, 20, 150, 0, 0});
    start_and_finish(w);
    assert_int_equal(w->usage.input_tokens, 300);
    assert_int_equal(w->usage.output_tokens, 30);
    assert_int_equal(w->usage.cache_read_tokens, 200);
    assert_int_equal(w->usage.cache_write_5m_tokens, 20);
    assert_int_equal(w->usage.cache_write_1h_tokens, 5);
}

/* ---- permission ---- */

WITH_RUN(a_call_that_needs_permission_ends_the_run_with_a_question)
{
    struct world *w = *state;
    model_calls("t__ping", "{}");
    w->gate = RUN_ASK;
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_WAITING);
    assert_int_equal(rig_tools.started, 0);
    assert_string_equal(w->ask, "ask_");
    assert_log(w, "llm.response ask.opened run.done");
}

WITH_RUN(nobody_is_asked_about_calls_that_would_be_refused)
{
    struct world *w = *state;
    MODEL(.calls = {{"t__ping", "{}"}, {"t__ping", "{\"n\":2}"}});
    w->gate = RUN_ASK;
    rig_tools.refusal = "Only admins may.";
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.probed, 2);
    assert_int_equal(rig_tools.started, 0);
    assert_string_equal(w->output, "Only admins may.");
}

WITH_RUN(a_denied_call_gets_the_reason_as_its_result)
{
    struct world *w = *state;
    model_calls("t__ping", "{}");
    w->gate = RUN_DENY;
    start_and_finish(w);
    assert_int_equal(rig_tools.started, 0);
    assert_string_equal(w->output, "Denied by the test.");
}

/* Rules may change between the question and the call: a call that nobody was asked about must not
 * run when it needs permission now. */
WITH_RUN(permission_is_checked_again_when_the_call_starts)
{
    struct world *w = *state;
    model_calls("t__ping", "{}");
    w->gate_after_start = RUN_ASK;
    start_and_finish(w);
    assert_int_equal(rig_tools.started, 0);
    assert_non_null(strstr(w->output, "needs permission. Call it again."));
}

WITH_RUN(pending_calls_run_before_the_model)
{
    struct world *w = *state;
    struct run_pending p = {STR("c1"), STR("t__ping"), STR("{}"), true, true};
    w->gate = RUN_ASK; /* the answer allows it */
    start_with(w, &p, 1);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 1);
    assert_log(w, "tool.start tool.done llm.response run.done");
}

WITH_RUN(declined_calls_get_a_result_and_do_not_run)
{
    struct world *w = *state;
    struct run_pending p = {STR("c1"), STR("t__ping"), STR("{}"), false, true};
    w->gate = RUN_ASK;
    start_with(w, &p, 1);
    finish(w);
    assert_int_equal(rig_tools.started, 0);
    assert_non_null(strstr(w->output, "did not allow"));
    assert_log(w, "tool.done llm.response run.done");
}

/* An answer starts the calls that its question showed, and no other. */
WITH_RUN(a_pending_call_that_nobody_was_asked_about_does_not_run)
{
    struct world *w = *state;
    struct run_pending p = {STR("c1"), STR("t__ping"), STR("{}"), false, false};
    w->gate = RUN_ASK;
    start_with(w, &p, 1);
    finish(w);
    assert_int_equal(rig_tools.started, 0);
    assert_non_null(strstr(w->output, "did not show this call"));
}

WITH_RUN(arguments_that_are_not_json_are_answered_with_an_error)
{
    struct world *w = *state;
    model_calls("t__ping", "{\"n\":");
    w->gate = RUN_ASK; /* and nobody is asked about them */
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 0);
    assert_non_null(strstr(w->output, "not valid JSON"));
}

/* ---- cancelling ---- */

WITH_RUN(cancelling_a_running_tool_records_a_result)
{
    struct world *w = *state;
    model_calls("t__hang", "{}");
    start(w);
    until(w, rig_tools.started == 1);
    run_cancel(w->run);
    run_cancel(w->run); /* the second one changes nothing */
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_CANCELLED);
    assert_int_equal(rig_tools.cancelled, 1);
    assert_log(w, "llm.response tool.start tool.done run.done");
    assert_non_null(strstr(buf_cstr(&w->measured), "t__hang c1 failed;"));
}

WITH_RUN(cancelling_before_the_first_step_ends_the_run)
{
    struct world *w = *state;
    start(w);
    run_cancel(w->run);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_CANCELLED);
    assert_int_equal(w->prepared, 0);
    assert_log(w, "run.done");
}

WITH_RUN(text_that_was_streamed_before_a_cancellation_is_stored_and_counted)
{
    struct world *w = *state;
    MODEL(.partial = "half", .is_held = true);
    start(w);
    until(w, run_streamed(w->run).n == 4);
    run_cancel(w->run);
    finish(w);
    assert_string_equal(w->response, "half");
    assert_int_equal(w->usage.input_tokens, 10); /* billed, although it has no response */
    assert_log(w, "llm.response run.done");
    assert_non_null(strstr(buf_cstr(&w->measured), "demo:demo cancelled 10/"));
}

WITH_RUN(a_cancelled_call_without_output_leaves_no_text)
{
    struct world *w = *state;
    MODEL(.is_held = true);
    start(w);
    until(w, model_waiting() == 1);
    run_cancel(w->run);
    finish(w);
    assert_int_equal(rig_model.ncancelled, 1);
    assert_log(w, "run.done");
}

/* The results need their calls in the log. */
WITH_RUN(cancelling_during_the_checks_stores_the_response_with_its_results)
{
    struct world *w = *state;
    model_calls("t__ping", "{}");
    w->gate = RUN_ASK;
    rig_tools.holds_probes = true;
    start(w);
    until(w, rig_tools.probed == 1);
    run_cancel(w->run);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_CANCELLED);
    assert_log(w, "llm.response tool.done run.done");
}

/* ---- a log that cannot be written ---- */

static void assert_storage_error(struct world *w, const char *fail_at)
{
    w->fail_at = fail_at;
    model_calls("t__ping", "{}");
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_ERROR);
    assert_string_equal(w->error_type, "storage_error");
}

WITH_RUN(no_tool_starts_when_its_call_is_not_stored)
{
    assert_storage_error(*state, "tool.start");
    assert_int_equal(rig_tools.started, 0);
}

WITH_RUN(results_that_are_not_stored_end_the_run)
{
    assert_storage_error(*state, "tool.done");
}

WITH_RUN(an_end_that_is_not_stored_is_not_a_success)
{
    assert_storage_error(*state, "run.done");
}

/* The results of a cancelled run are appended just before its end, and nobody waits for them. */
WITH_RUN(a_cancelled_run_whose_results_are_not_stored_is_an_error)
{
    struct world *w = *state;
    model_calls("t__hang", "{}");
    w->fail_at = "tool.done";
    start(w);
    until(w, rig_tools.started == 1);
    run_cancel(w->run);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_ERROR);
    assert_string_equal(w->error_type, "storage_error");
}

/* A tool may record events of its own, for whose appends nobody waits. */
WITH_RUN(a_lost_record_of_a_tool_ends_the_run_and_cancels_the_tool)
{
    struct world *w = *state;
    struct err e = {0};
    model_calls("t__hang", "{}");
    start(w);
    until(w, rig_tools.started == 1);
    err_set(&e, -ENOSPC, "disk full");
    run_fail(w->run, &e);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_ERROR);
    assert_int_equal(rig_tools.cancelled, 1);
    assert_log(w, "llm.response tool.start tool.done run.error");
}

/* ---- errors of model and host ---- */

WITH_RUN(a_model_that_fails_after_text_keeps_the_text_and_the_usage)
{
    struct world *w = *state;
    MODEL(.partial = "half", .error = "connection lost", .error_kind = LLM_ERR_NETWORK);
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_ERROR);
    assert_string_equal(w->error_type, "provider_unreachable");
    assert_string_equal(w->response, "half");
    assert_int_equal(w->usage.input_tokens, 10);
}

WITH_RUN(a_host_that_cannot_prepare_ends_the_run)
{
    struct world *w = *state;
    w->cannot_prepare = true;
    start_and_finish(w);
    assert_int_equal(w->stop, RUN_STOP_ERROR);
    assert_string_equal(w->error_type, "engine_error");
    assert_log(w, "run.error");
}
