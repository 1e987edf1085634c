/* The model and the conversation are the test's own. */
#include <errno.h>

#include "apps/sampling.h"
#include "runtime/budget.h"
#include "support/unit.h"

static struct arena arena;
static struct config config = {.limits = {.max_output_tokens = 1000}};
static struct runtime_deps deps = {.config = &config};
static struct turn_info info = {.model = STR_INIT("demo:own")};
static char model[64], recorded[1024];
static struct llm_request request;
static const struct llm_events *events;
static void *events_ctx;
static int started, cancelled;

const struct runtime_deps *runtime_deps(const struct runtime *rt)
{
    return &deps;
}

const struct turn_info *turn_info(void *tool_host)
{
    return &info;
}

void turn_record(void *tool_host, str line)
{
    snprintf(recorded, sizeof recorded, "%.*s", STR_ARG(line));
}

static struct {
    char line[1024], id[40];
} appended;

struct store_op *store_append_if(struct store *s, str id, const struct store_terms *terms,
                                 const str *lines, size_t n, store_append_fn fn, void *ctx)
{
    assert_int_equal(n, 1);
    assert_true(terms->spend.usd == 1); /* as budgets_note said */
    snprintf(appended.line, sizeof appended.line, "%.*s", STR_ARG(lines[0]));
    snprintf(appended.id, sizeof appended.id, "%.*s", STR_ARG(id));
    return NULL;
}

static bool is_spent;
static char spender[40];

int budgets_check(struct budgets *b, str user_id, struct err *e)
{
    return is_spent ? err_set(e, -EDQUOT, "%.*s has spent it", STR_ARG(user_id)) : 0;
}

struct store_spend budgets_note(struct budgets *b, str user_id, const str *lines, size_t n)
{
    assert_int_equal(n, 1);
    assert_true(str_find(lines[0], STR("\"type\":\"aux.usage\""), 0) > 0);
    snprintf(spender, sizeof spender, "%.*s", STR_ARG(user_id));
    return (struct store_spend){user_id, 1};
}

str llm_default_model(const struct llm *m, str *ret_why)
{
    return STR("demo:default");
}

int llm_resolve(struct llm *m, str name, str *ret_provider, str *ret_model, struct err *e)
{
    return str_eq(name, STR("demo:gone")) ? -ENOENT : 0;
}

str *llm_known_models(const struct llm *l, struct arena *a, size_t *ret_n)
{
    str *all = arena_array(a, 2, sizeof *all);
    all[0] = STR("demo:small-one");
    all[1] = STR("demo:large-one");
    *ret_n = 2;
    return all;
}

struct llm_call *llm_start(struct llm *l, str name, const struct llm_request *req,
                           const struct llm_events *ev, void *ctx)
{
    snprintf(model, sizeof model, "%.*s", STR_ARG(name));
    request = *req;
    events = ev;
    events_ctx = ctx;
    started++;
    return (struct llm_call *)&started;
}

void llm_cancel(struct llm_call *c)
{
    cancelled++;
}

static int set_up(void **state)
{
    arena_init(&arena);
    started = cancelled = 0;
    return 0;
}

static int tear_down(void **state)
{
    arena_done(&arena);
    return 0;
}

static char result_text[1024];

static void on_sampled(void *ctx, const struct json *result, const struct err *err)
{
    snprintf(result_text, sizeof result_text, "%s",
             result ? json_to_str(&arena, result).p : err->msg);
}

static struct err err;

static int start(const char *params, struct sampling **ret)
{
    struct json *doc;
    assert_int_equal(json_parse(&arena, str_from(params), 0, &doc, NULL), 0);
    err = (struct err){0};
    return sampling_start(NULL, NULL, STR("srv"), doc, on_sampled, NULL, ret, &err);
}

static void refused(const char *params, const char *why)
{
    struct sampling *s;
    assert_int_equal(start(params, &s), -EINVAL);
    if (!strstr(err.msg, why))
        fail_msg("expected '%s', got '%s'", why, err.msg);
    assert_int_equal(started, 0);
}

#define HELLO "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"hello\"}}"
#define USE                                                                                        \
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"x\","    \
    "\"input\":{}}]}"

static const char *so_many(size_t n)
{
    struct buf b;
    buf_init(&b, 1024 * 1024);
    buf_add_lit(&b, "{\"messages\":[");
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s%s", i ? "," : "", HELLO);
    buf_add_lit(&b, "]}");
    const char *text = arena_cstr(&arena, buf_str(&b));
    buf_done(&b);
    return text;
}

TEST_WITH(the_number_of_messages_is_bounded, set_up, tear_down)
{
    struct sampling *s;
    refused("{}", "1 to 200");
    refused(so_many(0), "1 to 200");
    refused(so_many(SAMPLING_MESSAGES_MAX + 1), "1 to 200");
    assert_int_equal(start(so_many(SAMPLING_MESSAGES_MAX), &s), 0);
    assert_int_equal(request.nmessages, SAMPLING_MESSAGES_MAX);
    sampling_cancel(s);
    assert_int_equal(cancelled, 1);
}

TEST_WITH(no_more_tokens_than_the_settings_allow, set_up, tear_down)
{
    static const struct {
        const char *wanted;
        int64_t given;
    } CASES[] = {{"10", 10}, {"1000", 1000}, {"1000000", 1000}, {"0", 1000}, {"-5", 1000}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct sampling *s;
        str params =
            arena_printf(&arena, "{\"maxTokens\":%s,\"messages\":[" HELLO "]}", CASES[i].wanted);
        assert_int_equal(start(params.p, &s), 0);
        assert_int_equal(request.max_tokens, CASES[i].given);
        sampling_cancel(s);
    }
}

TEST_WITH(what_no_model_takes_is_refused, set_up, tear_down)
{
    refused("{\"messages\":[{\"role\":\"system\",\"content\":[]}]}", "role");
    refused("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"audio\"}}]}", "audio");
    refused("{\"messages\":[" USE "," HELLO "]}", "tool_result");
    refused("{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\"}]}]}",
            "toolUseId");
}

TEST_WITH(a_hint_chooses_among_usable_models, set_up, tear_down)
{
    struct sampling *s;
    assert_int_equal(start("{\"messages\":[" HELLO "],\"modelPreferences\":{\"hints\":[{\"name\":"
                           "\"nobody\"},{\"name\":\"large\"}]}}",
                           &s),
                     0);
    assert_string_equal(model, "demo:large-one");
    sampling_cancel(s);
    assert_int_equal(start("{\"messages\":[" HELLO "]}", &s), 0);
    assert_string_equal(model, "demo:own");
    sampling_cancel(s);
}

TEST_WITH(the_answer_and_what_it_cost, set_up, tear_down)
{
    struct sampling *s;
    struct llm_block text = {.type = LLM_TEXT, .text = STR("hi")};
    struct llm_result r = {.blocks = &text, .n = 1, .model = STR("demo:own")};
    assert_int_equal(start("{\"messages\":[" HELLO "]}", &s), 0);
    events->on_done(events_ctx, &r);
    assert_non_null(strstr(result_text, "\"content\":{\"type\":\"text\",\"text\":\"hi\"}"));
    assert_non_null(strstr(recorded, "\"source\":\"sampling\""));
    assert_non_null(strstr(recorded, "\"server\":\"srv\""));
    assert_int_equal(start("{\"messages\":[" HELLO "]}", &s), 0);
    struct llm_failure f = {.err = {-EIO, "no model today"}};
    events->on_fail(events_ctx, &f);
    assert_string_equal(result_text, "no model today");
}

static void without_a_run(const char *given, const char *used)
{
    struct sampling *s;
    struct json *doc;
    struct llm_block text = {.type = LLM_TEXT, .text = STR("hi")};
    struct llm_result r = {.blocks = &text, .n = 1, .model = STR("demo:own")};
    assert_int_equal(json_parse(&arena, STR("{\"messages\":[" HELLO "]}"), 0, &doc, NULL), 0);
    recorded[0] = spender[0] = '\0';
    const struct sampling_place at = {STR("conv_1"), STR("usr_ann"), str_from(given), STR("srv")};
    assert_int_equal(sampling_start_for_interface(NULL, &at, doc, on_sampled, NULL, &s, &err), 0);
    assert_string_equal(model, used);
    events->on_done(events_ctx, &r);
    assert_string_equal(recorded, "");
    assert_string_equal(appended.id, "conv_1");
    assert_string_equal(spender, "usr_ann");
    assert_non_null(strstr(appended.line, "\"source\":\"sampling\""));
}

TEST_WITH(without_a_run_the_conversation_pays_and_its_model_answers, set_up, tear_down)
{
    without_a_run("demo:own", "demo:own");
    without_a_run("", "demo:default");
    without_a_run("demo:gone", "demo:default");
}

TEST_WITH(an_interface_spends_nothing_when_the_budget_is_used_up, set_up, tear_down)
{
    const struct sampling_place at = {STR("conv_1"), STR("usr_ann"), STR("demo:own"), STR("srv")};
    struct sampling *s = NULL;
    struct json *doc;
    int before = started;
    assert_int_equal(json_parse(&arena, STR("{\"messages\":[" HELLO "]}"), 0, &doc, NULL), 0);
    is_spent = true;
    assert_int_equal(sampling_start_for_interface(NULL, &at, doc, on_sampled, NULL, &s, &err),
                     -EDQUOT);
    is_spent = false;
    assert_string_equal(err.msg, "usr_ann has spent it");
    assert_int_equal(started, before);
}
