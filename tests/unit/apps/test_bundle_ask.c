/* People, the model and the server are the test's own. */
#include "apps/bundle_impl.h"
#include "apps/sampling.h"
#include "mcp/protocol.h"
#include "runtime/turn/tool_question.h"
#include "support/unit.h"

/* ---- the server's side ---- */

static struct arena arena;
static int answers, refusals, refused_with;
static char said[1024];

void mcp_ask_answer(struct mcp_ask *a, const struct json *result)
{
    answers++;
    snprintf(said, sizeof said, "%.*s", STR_ARG(json_to_str(&arena, result)));
}

void mcp_ask_refuse(struct mcp_ask *a, int code, const char *message)
{
    refusals++;
    refused_with = code;
    snprintf(said, sizeof said, "%s", message);
}

/* ---- people ---- */

static int person; /* its address stands for whom can be asked */
static struct tool_question_spec asked;
static tool_question_fn on_answer;
static void *on_answer_ctx;
static int questions, withdrawn;

struct tool_question *tool_question_open(void *tool_host, const struct tool_question_spec *q,
                                         tool_question_fn fn, void *ctx)
{
    if (!tool_host)
        return NULL;
    questions++;
    asked = *q;
    on_answer = fn;
    on_answer_ctx = ctx;
    return (struct tool_question *)&person;
}

void tool_question_withdraw(struct tool_question *q)
{
    withdrawn++;
}

/* ---- the model ---- */

static int samplings, cancelled;
static sampling_fn on_sampled;
static void *on_sampled_ctx;

int sampling_start(struct runtime *rt, void *tool_host, str source, const struct json *params,
                   sampling_fn fn, void *ctx, struct sampling **ret, struct err *e)
{
    samplings++;
    on_sampled = fn;
    on_sampled_ctx = ctx;
    *ret = (struct sampling *)&samplings;
    return 0;
}

void sampling_cancel(struct sampling *s)
{
    cancelled++;
}

/* ---- a call ---- */

static struct bundle_entry entry;

const struct bundle_entry *bundle_entry(const struct bundle *b)
{
    return &entry;
}

static struct bundle_sources all;
static struct bundle_source source;
static struct bundle_tool_call call;

static void begin_call(const char *run_id)
{
    call = (struct bundle_tool_call){
        .source = &source,
        .sent = (struct bundle_call *)&person,
        .call.who = {.run_id = str_from(run_id), .host = run_id[0] ? &person : NULL}};
    list_init(&call.asks);
}

static int set_up(void **state)
{
    arena_init(&arena);
    all = (struct bundle_sources){.project_dir = "/home/ann/project"};
    source = (struct bundle_source){.all = &all, .source = {.name = "srv"}};
    entry = (struct bundle_entry){.kind = BUNDLE_COMMAND};
    answers = refusals = questions = withdrawn = samplings = cancelled = 0;
    begin_call("run_1");
    return 0;
}

static int tear_down(void **state)
{
    bundle_asks_drop(&call);
    arena_done(&arena);
    return 0;
}

static struct mcp_ask ask(enum mcp_ask_kind kind, const char *params)
{
    struct json *doc;
    assert_int_equal(json_parse(&arena, str_from(params), 0, &doc, NULL), 0);
    return (struct mcp_ask){.kind = kind, .params = doc};
}

/* ---- forms and links ---- */

TEST_WITH(a_form_goes_to_people_and_back, set_up, tear_down)
{
    struct json *content;
    struct mcp_ask a = ask(MCP_ASK_ELICITATION,
                           "{\"message\":\"Who?\",\"requestedSchema\":{\"type\":\"object\"}}");
    bundle_ask(&call, &a);
    assert_true(questions == 1 && asked.kind == TOOL_QUESTION_FORM);
    assert_true(str_eq(asked.message, STR("Who?")) && str_eq(asked.source, STR("srv")));
    assert_int_equal(json_parse(&arena, STR("{\"n\":1}"), 0, &content, NULL), 0);
    on_answer(on_answer_ctx, TOOL_QUESTION_ACCEPT, content);
    assert_string_equal(said, "{\"action\":\"accept\",\"content\":{\"n\":1}}");
}

TEST_WITH(what_is_no_question_is_refused, set_up, tear_down)
{
    static const char *const WRONG[] = {
        "{\"message\":\"x\"}",
        "{\"message\":\"x\",\"requestedSchema\":[]}",
        "{\"mode\":\"url\",\"url\":\"javascript:alert(1)\"}",
        "{\"mode\":\"url\",\"url\":\"file:///etc/passwd\"}",
        "{\"mode\":\"url\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        struct mcp_ask a = ask(MCP_ASK_ELICITATION, WRONG[i]);
        bundle_ask(&call, &a);
        assert_int_equal(refusals, (int)i + 1);
        assert_int_equal(refused_with, RPC_INVALID_PARAMS);
    }
    assert_int_equal(questions, 0);
}

TEST_WITH(without_people_the_answer_is_no, set_up, tear_down)
{
    struct mcp_ask a =
        ask(MCP_ASK_ELICITATION, "{\"message\":\"\",\"requestedSchema\":{\"type\":\"object\"}}");
    begin_call("");
    bundle_ask(&call, &a);
    assert_string_equal(said, "{\"action\":\"decline\"}");
    struct mcp_ask model = ask(MCP_ASK_SAMPLING, "{}");
    bundle_ask(&call, &model);
    assert_true(refusals == 1 && refused_with == -1);
    bundle_ask_alone(&all, NULL, &a);
    assert_string_equal(said, "{\"action\":\"decline\"}");
    bundle_ask_alone(&all, NULL, &model);
    assert_true(refusals == 2 && samplings == 0);
    assert_true(list_empty(&call.asks));
}

TEST_WITH(what_is_open_ends_with_the_call_or_its_question, set_up, tear_down)
{
    struct mcp_ask a = ask(MCP_ASK_ELICITATION, "{\"requestedSchema\":{}}"), b = a;
    bundle_ask(&call, &a);
    bundle_ask(&call, &b);
    bundle_ask_gone(&call, &a);
    assert_int_equal(withdrawn, 1);
    bundle_asks_drop(&call);
    assert_int_equal(withdrawn, 2);
    assert_true(answers == 0 && refusals == 0);
}

/* ---- the model ---- */

static void finish_sampling(void)
{
    struct json *result = json_new(&arena, JSON_OBJECT);
    on_sampled(on_sampled_ctx, result, NULL);
}

TEST_WITH(consent_holds_for_the_run, set_up, tear_down)
{
    struct mcp_ask a = ask(MCP_ASK_SAMPLING, "{}");
    bundle_ask(&call, &a);
    assert_true(questions == 1 && asked.kind == TOOL_QUESTION_SAMPLING && samplings == 0);
    on_answer(on_answer_ctx, TOOL_QUESTION_ACCEPT, NULL);
    assert_int_equal(samplings, 1);
    finish_sampling();
    assert_int_equal(answers, 1);
    begin_call("run_1"); /* another call of the same run */
    bundle_ask(&call, &a);
    assert_true(questions == 1 && samplings == 2);
    finish_sampling();
    begin_call("run_2");
    bundle_ask(&call, &a);
    assert_int_equal(questions, 2);
    on_answer(on_answer_ctx, TOOL_QUESTION_DECLINE, NULL);
    assert_true(samplings == 2 && refusals == 1 && refused_with == -1);
}

TEST_WITH(one_call_uses_the_model_so_often_and_no_more, set_up, tear_down)
{
    struct mcp_ask a = ask(MCP_ASK_SAMPLING, "{}");
    snprintf(source.sampling_run, sizeof source.sampling_run, "run_1");
    for (int i = 0; i < SAMPLING_CALLS_MAX; i++) {
        bundle_ask(&call, &a);
        finish_sampling();
    }
    assert_true(samplings == SAMPLING_CALLS_MAX && refusals == 0);
    bundle_ask(&call, &a);
    assert_true(samplings == SAMPLING_CALLS_MAX && refusals == 1);
    assert_non_null(strstr(said, "already"));
    begin_call("run_1"); /* the next call begins anew */
    bundle_ask(&call, &a);
    assert_int_equal(samplings, SAMPLING_CALLS_MAX + 1);
    bundle_asks_drop(&call);
    assert_int_equal(cancelled, 1);
}

/* ---- roots ---- */

TEST_WITH(the_project_is_a_root_for_who_may_see_it, set_up, tear_down)
{
    static const char SHOWN[] = "{\"roots\":[{\"uri\":\"file:///home/ann/project\"}]}";
    str home[] = {STR("/home/ann")}, other[] = {STR("/home/ann/projects")};
    struct mcp_ask a = ask(MCP_ASK_ROOTS, "{}");
    bundle_ask(&call, &a);
    assert_string_equal(said, "{\"roots\":[]}");
    entry.sandbox.read = (struct json_strs){other, 1};
    bundle_ask(&call, &a);
    assert_string_equal(said, "{\"roots\":[]}");
    entry.sandbox.read = (struct json_strs){home, 1};
    bundle_ask(&call, &a);
    assert_string_equal(said, SHOWN);
    entry.kind = BUNDLE_REMOTE;
    bundle_ask(&call, &a);
    assert_string_equal(said, "{\"roots\":[]}");
    entry.kind = BUNDLE_BUILT_IN;
    bundle_ask_alone(&all, NULL, &a);
    assert_string_equal(said, SHOWN);
    all.project_dir = NULL;
    bundle_ask_alone(&all, NULL, &a);
    assert_string_equal(said, "{\"roots\":[]}");
}
