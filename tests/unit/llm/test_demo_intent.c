#include "llm/demo/demo.h"
#include "support/unit.h"

/* A request under construction; everything in one arena. */
struct talk {
    struct arena a;
    struct llm_message messages[16];
    struct llm_request req;
    struct demo_plan plan;
};

static const char *const SCHEMA_EXPRESSION =
    "{\"type\":\"object\",\"properties\":{\"expression\":{\"type\":\"string\"}},"
    "\"required\":[\"expression\"]}";
static const char *const SCHEMA_COMMAND =
    "{\"type\":\"object\",\"properties\":{\"cwd\":{},\"command\":{\"type\":\"string\"}},"
    "\"required\":[\"command\"]}";

static struct json *parse(struct talk *t, const char *text)
{
    struct json *v = NULL;
    assert_int_equal(json_parse(&t->a, str_from(text), 0, &v, NULL), 0);
    return v;
}

static int setup(void **state)
{
    struct talk *t = xcalloc(1, sizeof *t);
    arena_init(&t->a);
    struct llm_tool *tools = arena_array(&t->a, 4, sizeof *tools);
    tools[0] =
        (struct llm_tool){STR("bash__bash_exec"), STR("Runs a command."), parse(t, SCHEMA_COMMAND)};
    tools[1] = (struct llm_tool){STR("nb__calculate"), STR("Calculates. Exactly."),
                                 parse(t, SCHEMA_EXPRESSION)};
    tools[2] = (struct llm_tool){STR("nb__status"), STR("Tells the status."), NULL};
    tools[3] = (struct llm_tool){STR("nb__time"), STR("Tells the time."), NULL};
    t->req = (struct llm_request){
        .messages = t->messages, .tools = tools, .ntools = 4, .max_tokens = 16384};
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct talk *t = *state;
    arena_done(&t->a);
    free(t);
    return 0;
}

static void add(struct talk *t, enum llm_role role, struct llm_block b)
{
    struct llm_block *copy = ARENA_NEW(&t->a, struct llm_block);
    *copy = b;
    t->messages[t->req.nmessages++] = (struct llm_message){role, copy, 1};
}

static void user(struct talk *t, const char *text)
{
    add(t, LLM_USER, (struct llm_block){.type = LLM_TEXT, .text = str_from(text)});
}

static void assistant(struct talk *t, const char *text)
{
    add(t, LLM_ASSISTANT, (struct llm_block){.type = LLM_TEXT, .text = str_from(text)});
}

static void used(struct talk *t, const char *name, const char *result, bool is_error)
{
    struct llm_block *part = ARENA_NEW(&t->a, struct llm_block);
    *part = (struct llm_block){.type = LLM_TEXT, .text = str_from(result)};
    add(t, LLM_ASSISTANT,
        (struct llm_block){.type = LLM_TOOL_USE, .id = STR("c1"), .name = str_from(name)});
    add(t, LLM_USER,
        (struct llm_block){.type = LLM_TOOL_RESULT,
                           .id = STR("c1"),
                           .is_error = is_error,
                           .parts = part,
                           .nparts = 1});
}

static void plan(struct talk *t)
{
    demo_plan(&t->a, &t->req, &t->plan);
}

static bool says(const struct talk *t, const char *needle)
{
    return str_find(t->plan.text, str_from(needle), 0) >= 0;
}

#define assert_says(t, needle)                                                                     \
    do {                                                                                           \
        if (!says(t, needle))                                                                      \
            fail_msg("'%s' is not in: %.*s", needle, STR_ARG((t)->plan.text));                     \
    } while (0)

static void assert_uses(const struct talk *t, size_t i, const char *name, const char *args)
{
    assert_true(i < t->plan.nuses);
    assert_string_equal(arena_cstr((struct arena *)&t->a, t->plan.uses[i].name), name);
    assert_string_equal(arena_cstr((struct arena *)&t->a, t->plan.uses[i].args), args);
}

TEST_WITH(first_answer_says_what_it_is, setup, teardown)
{
    struct talk *t = *state;
    user(t, "hello");
    plan(t);
    assert_says(t, "demo model");
    assert_says(t, "ANTHROPIC_API_KEY");
    assert_int_equal(t->plan.nuses, 0);
    assistant(t, "whatever");
    user(t, "hello");
    plan(t);
    assert_false(says(t, "ANTHROPIC_API_KEY"));
}

TEST_WITH(helps_and_lists_tools, setup, teardown)
{
    struct talk *t = *state;
    user(t, "Help!");
    plan(t);
    assert_says(t, "Things to try");
    assert_says(t, "run ls -la");
    t->req.nmessages = 0;
    user(t, "which tools do you have?");
    plan(t);
    assert_says(t, "4 tools");
    assert_says(t, "`nb__calculate`: Calculates.");
}

TEST_WITH(draws_a_diagram_without_a_tool, setup, teardown)
{
    struct talk *t = *state;
    user(t, "Please draw a diagram.");
    plan(t);
    assert_says(t, "```mermaid\nsequenceDiagram\n");
    assert_int_equal(t->plan.nuses, 0);
}

TEST_WITH(picks_the_obvious_tool, setup, teardown)
{
    static const struct {
        const char *text, *tool, *args;
    } CASES[] = {
        {"what time is it?", "nb__time", "{}"},
        {"Time", "nb__time", "{}"},
        {"what time is it in Europe/Berlin?", "nb__time", "{\"timezone\":\"Europe/Berlin\"}"},
        {"what is 6 * 7?", "nb__calculate", "{\"expression\":\"6 * 7\"}"},
        {"(1+2)*3", "nb__calculate", "{\"expression\":\"(1+2)*3\"}"},
        {"calculate 12 plus 30 please", "nb__calculate", "{\"expression\":\"12 + 30\"}"},
        {"compute 2 to the power of 10", "nb__calculate", "{\"expression\":\"2 ^ 10\"}"},
        {"how much is 10 divided by 4", "nb__calculate", "{\"expression\":\"10 / 4\"}"},
        {"show me the status", "nb__status", "{}"},
        {"run ls -la", "bash__bash_exec", "{\"command\":\"ls -la\"}"},
        {"run `echo hi`", "bash__bash_exec", "{\"command\":\"echo hi\"}"},
        {"What files are in my home directory?", "bash__bash_exec", "{\"command\":\"ls -la ~\"}"},
        {"call nb__time", "nb__time", "{}"},
        {"please call calculate {\"expression\": \"2+2\"}", "nb__calculate",
         "{\"expression\":\"2+2\"}"},
        {"run nb__status", "nb__status", "{}"},
    };
    struct talk *t = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        t->req.nmessages = 0;
        user(t, CASES[i].text);
        plan(t);
        if (t->plan.nuses != 1)
            fail_msg("'%s' uses %zu tools: %.*s", CASES[i].text, t->plan.nuses,
                     STR_ARG(t->plan.text));
        assert_uses(t, 0, CASES[i].tool, CASES[i].args);
    }
}

TEST_WITH(leaves_plain_sentences_alone, setup, teardown)
{
    static const char *const CASES[] = {
        "call me Ishmael",
        "I ran 5 miles on 12-03 and sometimes more",
        "tell me about the sea",
        "the meeting is open 24/7 for everybody who comes along",
    };
    struct talk *t = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        t->req.nmessages = 0;
        user(t, CASES[i]);
        plan(t);
        if (t->plan.nuses != 0)
            fail_msg("'%s' uses a tool", CASES[i]);
        assert_says(t, "no rule for it");
    }
}

TEST_WITH(calls_several_at_once, setup, teardown)
{
    struct talk *t = *state;
    user(t, "call nb__time\ncall nb__calculate {\"expression\":\"{\\\"1+1\"} and call nb__status");
    plan(t);
    assert_int_equal(t->plan.nuses, 3);
    assert_uses(t, 1, "nb__calculate", "{\"expression\":\"{\\\"1+1\"}");
    assert_uses(t, 2, "nb__status", "{}");
}

TEST_WITH(one_message_may_hold_several_wishes, setup, teardown)
{
    struct talk *t = *state;
    user(t, "please calculate 12*12 and tell me the time");
    plan(t);
    assert_int_equal(t->plan.nuses, 2);
    assert_uses(t, 0, "nb__calculate", "{\"expression\":\"12*12\"}");
    assert_uses(t, 1, "nb__time", "{}");
}

TEST_WITH(then_makes_rounds, setup, teardown)
{
    struct talk *t = *state;
    user(t, "call nb__time then call nb__status");
    plan(t);
    assert_int_equal(t->plan.nuses, 1);
    assert_uses(t, 0, "nb__time", "{}");
    used(t, "nb__time", "noon", false);
    plan(t);
    assert_int_equal(t->plan.nuses, 1);
    assert_uses(t, 0, "nb__status", "{}");
    used(t, "nb__status", "fine", false);
    plan(t);
    assert_int_equal(t->plan.nuses, 0);
    assert_says(t, "`nb__time`: **noon**\n\n`nb__status`: **fine**"); /* all rounds */
}

TEST_WITH(refuses_bad_arguments_and_unknown_tools, setup, teardown)
{
    struct talk *t = *state;
    user(t, "call nb__calculate {\"expression\": oops}");
    plan(t);
    assert_int_equal(t->plan.nuses, 0);
    assert_says(t, "not valid JSON");
    t->req.nmessages = 0;
    user(t, "call web__search {}");
    plan(t);
    assert_says(t, "no tool `web__search`");
}

/* With many tools the model is shown few: what is named is searched for, then called. */
TEST_WITH(searches_for_hidden_tools, setup, teardown)
{
    struct talk *t = *state;
    struct llm_tool *tools = (struct llm_tool *)t->req.tools;
    struct llm_tool bash = tools[0];
    tools[0] = (struct llm_tool){STR("nb__discover_tools"), STR("Searches."), NULL};
    user(t, "run ls");
    plan(t);
    assert_uses(t, 0, "nb__discover_tools", "{\"query\":\"bash_exec\"}");
    str searching = t->plan.text;
    struct llm_block *both = arena_array(&t->a, 2, sizeof *both);
    both[0] = (struct llm_block){.type = LLM_TEXT, .text = searching};
    both[1] = (struct llm_block){
        .type = LLM_TOOL_USE, .id = STR("c1"), .name = STR("nb__discover_tools")};
    used(t, "nb__discover_tools", "1 tool found", false);
    t->messages[1] = (struct llm_message){LLM_ASSISTANT, both, 2};
    plan(t);
    assert_says(t, "no tool that runs commands"); /* it was not found */
    tools[0] = bash;
    plan(t);
    assert_uses(t, 0, "bash__bash_exec", "{\"command\":\"ls\"}");
    used(t, "bash__bash_exec", "a b", false);
    plan(t);
    assert_int_equal(t->plan.nuses, 0);
    assert_says(t, "`bash__bash_exec`: **a b**");
    assert_true(str_find(t->plan.text, STR("discover"), 0) < 0);
}

TEST_WITH(reports_results, setup, teardown)
{
    static const struct {
        const char *result, *says;
        bool is_error;
    } CASES[] = {
        {"4", "`nb__x`: **4**", false},
        {"{\"a\":1,\"b\":\"two\"}", "- b: two", false},
        {"{\"stdout\":\"one\\ntwo\\n\",\"stderr\":\"\",\"exit_code\":0}", "```\none\ntwo\n```",
         false},
        {"{\"stdout\":\"\",\"stderr\":\"no\",\"exit_code\":3}", "exit code 3", false},
        {"", "returned nothing", false},
        {"it broke", "`nb__x` failed: it broke", true},
        {"1\n2\n3", "```\n1\n2\n3\n```", false},
    };
    struct talk *t = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        t->req.nmessages = 0;
        user(t, "whatever");
        used(t, "nb__x", CASES[i].result, CASES[i].is_error);
        plan(t);
        assert_says(t, CASES[i].says);
        assert_int_equal(t->plan.nuses, 0);
    }
}

TEST_WITH(tells_what_came_along, setup, teardown)
{
    struct talk *t = *state;
    struct llm_block blocks[] = {
        {.type = LLM_TEXT, .text = STR("explain")},
        {.type = LLM_TEXT, .text = STR("0123456789")},
        {.type = LLM_IMAGE, .mime = STR("image/png"), .data = STR("AAAA")},
    };
    t->messages[0] = (struct llm_message){LLM_USER, blocks, 3};
    t->req.nmessages = 1;
    plan(t);
    assert_says(t, "message of 1 word");
    assert_says(t, "10 bytes of context");
    assert_says(t, "1 picture");
}

TEST_WITH(tells_attachments_from_words, setup, teardown)
{
    struct talk *t = *state;
    user(t, "what time is it\n\nInput:\n```\n2+2 status run rm\n```");
    plan(t);
    assert_int_equal(t->plan.nuses, 1);
    assert_uses(t, 0, "nb__time", "{}");
    t->req.nmessages = 0;
    user(t, "explain this\n\nInput:\n```\n2+2\n```");
    plan(t);
    assert_says(t, "message of 2 words");
    assert_says(t, "bytes of context");
}

TEST_WITH(makes_titles, setup, teardown)
{
    struct talk *t = *state;
    t->req.ntools = 0;
    t->req.max_tokens = 30;
    t->req.system_stable = STR("Write a short title for the conversation.");
    user(t, "Give this a title.\n\n<transcript>\nUser: how do I cook pasta for twelve people at "
            "once?\nAssistant: boil it\n</transcript>");
    plan(t);
    assert_string_equal(arena_cstr(&t->a, t->plan.text), "How do I cook pasta for");
}

/* To look through the rest of the text for each of its words would block the server. */
TEST_WITH(a_sum_behind_a_long_text_is_found, setup, teardown)
{
    enum { LONG = 1 << 19 };
    struct talk *t = *state;
    struct buf text;
    buf_init(&text, 2 * LONG);
    while (text.n < LONG)
        buf_add_lit(&text, "word ");
    buf_add_lit(&text, "what is 2 + 3?");
    user(t, buf_cstr(&text));
    plan(t);
    assert_uses(t, 0, "nb__calculate", "{\"expression\":\"2 + 3\"}");
    buf_done(&text);
}

TEST_WITH(counts_with_a_ceiling, setup, teardown)
{
    struct talk *t = *state;
    user(t, "count to 5");
    plan(t);
    assert_says(t, "1 2 3 4 5");
    t->req.nmessages = 0;
    user(t, "count to 999999999");
    plan(t);
    assert_says(t, "I stop at 10000");
}

TEST_WITH(an_author_is_not_part_of_the_message, setup, teardown)
{
    struct talk *t = *state;
    user(t, "[usr_0123456789abcdef] count to 5");
    plan(t);
    assert_says(t, "1 2 3 4 5");
    t->req.nmessages = 0;
    user(t, "[usr_without an end");
    plan(t);
    assert_says(t, "no rule for it");
}

TEST_WITH(is_the_same_every_time, setup, teardown)
{
    struct talk *t = *state;
    user(t, "what is 2+2 and the time");
    plan(t);
    struct demo_plan before = t->plan;
    plan(t);
    assert_true(str_eq(before.text, t->plan.text));
    assert_int_equal(before.nuses, t->plan.nuses);
}

TEST_WITH(shows_the_example_apps, setup, teardown)
{
    static const struct {
        const char *message, *tool, *args;
    } CASES[] = {
        {"show the table, please", "table__show_table", "{}"},
        {"add a row: Print it, Cleo, 4", "table__add_row",
         "{\"cells\":[\"Print it\",\"Cleo\",\"4\"]}"},
        {"draw a chart of 3, 1, 4.5, x, -2", "chart__show_chart", "{\"values\":[3,1,4.5,-2]}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct talk *t = *state;
        struct llm_tool *tools = arena_array(&t->a, 1, sizeof *tools);
        tools[0] = (struct llm_tool){str_from(CASES[i].tool), STR("An example."), NULL};
        t->req.nmessages = 0;
        user(t, CASES[i].message);
        plan(t);
        assert_says(t, "nb bundle add ./examples/");
        assert_int_equal(t->plan.nuses, 0);
        struct llm_request with = t->req;
        with.tools = tools;
        with.ntools = 1;
        demo_plan(&t->a, &with, &t->plan);
        assert_uses(t, 0, CASES[i].tool, CASES[i].args);
    }
}

TEST_WITH(uses_what_an_open_app_offers, setup, teardown)
{
    struct talk *t = *state;
    struct llm_tool *tools = arena_array(&t->a, 1, sizeof *tools);
    tools[0] = (struct llm_tool){STR("table_view-1a2b__highlight_row"), STR("An example."), NULL};
    user(t, "highlight row 2.");
    plan(t);
    assert_says(t, "Say `show the table`");
    assert_int_equal(t->plan.nuses, 0);
    t->req.tools = tools;
    t->req.ntools = 1;
    plan(t);
    assert_uses(t, 0, "table_view-1a2b__highlight_row", "{\"row\":2}");
}
