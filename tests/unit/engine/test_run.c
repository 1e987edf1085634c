/* The state machine of a run, with the demo model, one fake tool and a log in memory. */
#include <errno.h>

#include "engine/run.h"
#include "support/unit.h"
#include "tools/result.h"

#define LINES_MAX 32

struct open_call {
    struct tool_call call;
    struct deferred answer;
};

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
    struct tool tool;
    struct tool_source source;
    struct list_node appends;
    struct deferred appended;
    struct actor *actor;
    struct run *run;

    const char *said[4]; /* the user's message of each model call */
    size_t nsaid;
    enum run_gate gate;
    const char *fail_at; /* appends with this event type fail */
    bool is_silent;      /* the tool does not answer */
    unsigned started, cancelled;

    char types[LINES_MAX][32]; /* event types in the log */
    size_t ntypes;
    bool is_done;
    enum run_stop stop;
    char error_type[32], ask[16], output[128];
    size_t ntools;
};

/* ---- the tool ---- */

static const struct tool *list_tools(void *self, size_t *ret_n)
{
    struct world *w = self;
    *ret_n = 1;
    return &w->tool;
}

static void on_answer(void *ctx)
{
    struct open_call *c = ctx;
    struct tool_result r = tool_result_text(&c->call.arena, STR("pong"));
    tool_call_answer(&c->call, &r);
}

static void start_tool(void *self, struct tool_call *call)
{
    struct world *w = self;
    struct open_call *c = CONTAINER_OF(call, struct open_call, call);
    w->started++;
    defer_init(&c->answer, on_answer, c);
    if (!w->is_silent)
        defer_start(w->loop, &c->answer);
}

static void cancel_tool(void *self, struct tool_call *call)
{
    struct world *w = self;
    w->cancelled++;
    defer_stop(&CONTAINER_OF(call, struct open_call, call)->answer);
}

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
        str type = json_get_string(v, "type");
        snprintf(w->types[w->ntypes], sizeof w->types[0], "%.*s", STR_ARG(type));
        p->is_bad |= w->fail_at && str_eq(type, str_from(w->fail_at));
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
    struct llm_tool *t = ARENA_NEW(a, struct llm_tool);
    if (w->nsaid == ARRAY_LEN(w->said) || !w->said[w->nsaid])
        return err_set(e, -EINVAL, "no message is left");
    *b = (struct llm_block){.type = LLM_TEXT, .text = str_from(w->said[w->nsaid++])};
    *m = (struct llm_message){.role = LLM_USER, .blocks = b, .n = 1};
    *t = (struct llm_tool){.name = STR("t__ping")};
    *ret = (struct run_input){.messages = m, .nmessages = 1, .tools = t, .ntools = 1};
    return 0;
}

static enum run_gate gate(void *ctx, str tool, const struct json *args, str *ret_why)
{
    const struct world *w = ctx;
    *ret_why = STR("Denied by the test.");
    return w->gate;
}

static const struct actor *actor_of(void *ctx)
{
    const struct world *w = ctx;
    return w->actor;
}

static str setting(void *ctx, struct arena *a)
{
    return STR_NONE;
}

static void publish(void *ctx, str type, str data) {}

static void on_finished(void *ctx, const struct run_result *r)
{
    struct world *w = ctx;
    w->is_done = true;
    w->stop = r->stop;
    w->ntools = r->ntools;
    if (r->ntools > 0)
        snprintf(w->output, sizeof w->output, "%.*s", STR_ARG(r->tools[0].output));
    snprintf(w->error_type, sizeof w->error_type, "%s", r->error_type ? r->error_type : "");
    snprintf(w->ask, sizeof w->ask, "%.4s", r->ask ? json_get_string(r->ask, "askId").p : "");
}

static const struct run_host HOST = {
    .append = append,
    .prepare = prepare,
    .gate = gate,
    .actor = actor_of,
    .setting = setting,
    .publish = publish,
    .finished = on_finished,
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    struct principal p = {.user_id = STR("usr_a"), .how = AUTH_BY_SESSION};
    struct err e = {0};
    w->loop = loop_new(NULL);
    w->llm = llm_new(w->loop, NULL, &(struct llm_conf){0}, NULL, &e);
    w->tools = registry_new(w->loop);
    w->actor = actor_new(NULL, STR("ws_a"), &p, (struct json_strs){0});
    w->tool = (struct tool){.name = STR("ping")};
    w->source = (struct tool_source){.name = "t",
                                     .list = list_tools,
                                     .start = start_tool,
                                     .cancel = cancel_tool,
                                     .self = w,
                                     .call_size = sizeof(struct open_call)};
    list_init(&w->appends);
    defer_init(&w->appended, on_appended, w);
    assert_int_equal(registry_add_source(w->tools, &w->source, &e), 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    assert_true(list_empty(&w->appends));
    registry_free(w->tools);
    llm_free(w->llm);
    actor_unref(w->actor);
    loop_free(w->loop);
    free(w);
    return 0;
}

static void start(struct world *w, const struct run_pending *pending, size_t n)
{
    struct run_spec spec = {
        .run_id = STR("run_1"),
        .conversation_id = STR("conv_1"),
        .model = STR("demo:demo"),
        .limits = {.max_iterations = 4, .max_input_tokens = 100000, .max_output_tokens = 1000},
        .pending = pending,
        .npending = n,
    };
    w->run = run_new(w->loop, w->llm, w->tools, &spec, &HOST, w);
    run_start(w->run);
}

static void finish(struct world *w)
{
    assert_true(loop_run_until(w->loop, &w->is_done, 5000));
}

static void assert_log(const struct world *w, const char *expected)
{
    char all[LINES_MAX * 33] = "";
    for (size_t i = 0; i < w->ntypes; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? " " : "", w->types[i]);
    assert_string_equal(all, expected);
}

#define CALL "call t__ping {}"

TEST_WITH(text_alone_completes_a_run, setup, teardown)
{
    struct world *w = *state;
    w->said[0] = "say hello";
    start(w, NULL, 0);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_log(w, "llm.response run.done");
}

TEST_WITH(a_call_is_durable_before_it_starts_and_its_result_before_the_next_step, setup, teardown)
{
    struct world *w = *state;
    w->said[0] = CALL;
    w->said[1] = "say hello";
    start(w, NULL, 0);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_int_equal(w->started, 1);
    assert_string_equal(w->output, "pong");
    assert_log(w, "llm.response tool.start tool.done llm.response run.done");
}

TEST_WITH(a_call_that_needs_permission_ends_the_run_with_a_question, setup, teardown)
{
    struct world *w = *state;
    w->said[0] = CALL;
    w->gate = RUN_ASK;
    start(w, NULL, 0);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_WAITING);
    assert_int_equal(w->started, 0);
    assert_string_equal(w->ask, "ask_");
    assert_log(w, "llm.response ask.opened run.done");
}

TEST_WITH(pending_calls_run_before_the_model, setup, teardown)
{
    struct world *w = *state;
    struct run_pending p = {STR("c1"), STR("t__ping"), STR("{}"), true, true};
    w->said[0] = "say hello";
    w->gate = RUN_ASK;
    start(w, &p, 1);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_COMPLETE);
    assert_int_equal(w->started, 1);
    assert_log(w, "tool.start tool.done llm.response run.done");
}

TEST_WITH(declined_calls_get_a_result_and_do_not_run, setup, teardown)
{
    struct world *w = *state;
    struct run_pending p = {STR("c1"), STR("t__ping"), STR("{}"), false, true};
    w->said[0] = "say hello";
    w->gate = RUN_ASK;
    start(w, &p, 1);
    finish(w);
    assert_int_equal(w->started, 0);
    assert_non_null(strstr(w->output, "did not allow"));
    assert_log(w, "tool.done llm.response run.done");
}

TEST_WITH(the_same_calls_with_the_same_results_end_the_run, setup, teardown)
{
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(w->said); i++)
        w->said[i] = CALL;
    start(w, NULL, 0);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_MAX_ITERATIONS);
    assert_int_equal(w->started, RUN_REPEATS_MAX);
}

TEST_WITH(cancelling_a_running_tool_records_a_result, setup, teardown)
{
    struct world *w = *state;
    w->said[0] = CALL;
    w->is_silent = true;
    start(w, NULL, 0);
    for (int i = 0; w->started == 0 && i < 1000; i++)
        (void)loop_run_until(w->loop, &w->is_done, 5);
    run_cancel(w->run);
    run_cancel(w->run); /* the second one changes nothing */
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_CANCELLED);
    assert_int_equal(w->cancelled, 1);
    assert_log(w, "llm.response tool.start tool.done run.done");
}

TEST_WITH(cancelling_before_the_first_step_ends_the_run, setup, teardown)
{
    struct world *w = *state;
    start(w, NULL, 0);
    run_cancel(w->run);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_CANCELLED);
    assert_log(w, "run.done");
}

static void assert_storage_error(struct world *w, const char *fail_at)
{
    w->fail_at = fail_at;
    w->said[0] = CALL;
    w->said[1] = "say hello";
    start(w, NULL, 0);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_ERROR);
    assert_string_equal(w->error_type, "storage_error");
}

TEST_WITH(no_tool_starts_when_its_call_is_not_stored, setup, teardown)
{
    struct world *w = *state;
    assert_storage_error(w, "tool.start");
    assert_int_equal(w->started, 0);
}

TEST_WITH(results_that_are_not_stored_end_the_run, setup, teardown)
{
    assert_storage_error(*state, "tool.done");
}

TEST_WITH(an_end_that_is_not_stored_is_not_a_success, setup, teardown)
{
    assert_storage_error(*state, "run.done");
}

/* The results of a cancelled run are appended just before its end, and nobody waits for them. */
TEST_WITH(a_cancelled_run_whose_results_are_not_stored_is_an_error, setup, teardown)
{
    struct world *w = *state;
    w->said[0] = CALL;
    w->is_silent = true;
    w->fail_at = "tool.done";
    start(w, NULL, 0);
    for (int i = 0; w->started == 0 && i < 1000; i++)
        (void)loop_run_until(w->loop, &w->is_done, 5);
    run_cancel(w->run);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_ERROR);
    assert_string_equal(w->error_type, "storage_error");
}

TEST_WITH(a_host_that_cannot_prepare_ends_the_run, setup, teardown)
{
    struct world *w = *state;
    start(w, NULL, 0);
    finish(w);
    assert_int_equal(w->stop, RUN_STOP_ERROR);
    assert_string_equal(w->error_type, "engine_error");
    assert_log(w, "run.error");
}
