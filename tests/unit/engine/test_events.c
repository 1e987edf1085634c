#include "engine/events.h"
#include "support/event_members.h"
#include "support/unit.h"

TEST(response)
{
    struct arena a;
    arena_init(&a);
    struct llm_block blocks[] = {
        {.type = LLM_TEXT, .text = STR("line\nbreak")},
        {.type = LLM_TOOL_USE, .id = STR("1"), .name = STR("t"), .args = STR("{\"a\":0.10}")},
        {.type = LLM_TOOL_USE,
         .id = STR("2"),
         .name = STR("t"),
         .args = STR("{\"a\":"),
         .args_error = "cut"},
        {.type = LLM_TOOL_USE, .id = STR("3"), .name = STR("t")},
    };
    struct llm_result r = {.blocks = blocks,
                           .n = ARRAY_LEN(blocks),
                           .stop = LLM_STOP_TOOL,
                           .usage = {.input_tokens = 5, .output_tokens = 6},
                           .model = STR("p:m"),
                           .ms = 7};
    str line = event_llm_response(&a, STR("run_1"), &r, 0);
    assert_true(str_find_char(line, '\n') < 0);
    assert_true(str_find(line, STR("thinkingMs"), 0) < 0); /* it did not think */
    str thought = event_llm_response(&a, STR("run_1"), &r, 40);
    assert_true(str_find(thought, STR("\"thinkingMs\":40,"), 0) > 0);
    struct json *v;
    assert_int_equal(json_parse(&a, line, 0, &v, NULL), 0);
    const struct json *content = json_get(v, "content");
    assert_int_equal(content->len, 4);
    assert_true(str_find(line, STR("\"input\":{\"a\":0.10}"), 0) > 0);
    assert_true(
        str_eq(json_get_string(json_at(content, 2), "input"), STR("{\"a\":"))); /* as it came */
    assert_true(json_is(json_get(json_at(content, 3), "input"), JSON_OBJECT));
    assert_true(str_eq(json_get_string(v, "finishReason"), STR("tool-calls")));
    assert_int_equal(json_get_int(v, "inputTokens", 0), 5);
    arena_done(&a);
}

TEST(tool_done_holds_the_whole_result)
{
    struct arena a;
    struct json *content, *structured;
    arena_init(&a);
    assert_int_equal(
        json_parse(&a, STR("[{\"type\":\"text\",\"text\":\"x\",\"vendor\":1}]"), 0, &content, NULL),
        0);
    assert_int_equal(json_parse(&a, STR("{\"big\":12345678901234567890}"), 0, &structured, NULL),
                     0);
    const struct event_call call = {STR("run_1"), STR("id"), STR("n"), STR_NONE};
    struct tool_result r = {.content = content, .structured = structured, .is_error = true};
    str line = event_tool_done(&a, &call, &r, 9);
    assert_true(str_find(line, STR("\"vendor\":1"), 0) > 0);
    assert_true(str_find(line, STR("12345678901234567890"), 0) > 0);
    assert_true(str_find(line, STR("\"ok\":false"), 0) > 0);
    assert_true(str_find(line, STR("\"isError\":true"), 0) > 0);
    struct tool_result none = {0};
    line = event_tool_done(&a, &call, &none, 0);
    assert_true(str_find(line, STR("\"content\":[]"), 0) > 0);
    arena_done(&a);
}

/* Only the interface of a tool has to tell a result from the reason why there is none. */
TEST(tool_done_marks_a_missing_result_for_interfaces)
{
    struct arena a;
    arena_init(&a);
    struct event_call call = {STR("run_1"), STR("id"), STR("n"), STR_NONE};
    struct tool_result failed = {.is_error = true}, absent = {.is_error = true, .is_absent = true};
    assert_true(str_find(event_tool_done(&a, &call, &absent, 9), STR("cancelled"), 0) < 0);
    call.ui_uri = STR("ui://n");
    assert_true(str_find(event_tool_done(&a, &call, &failed, 9), STR("cancelled"), 0) < 0);
    str line = event_tool_done(&a, &call, &absent, 9);
    assert_true(str_find(line, STR("\"resourceUri\":\"ui://n\",\"cancelled\":true"), 0) > 0);
    arena_done(&a);
}

static void check_members(struct arena *a, str line)
{
    struct json *v;
    assert_int_equal(json_parse(a, line, 0, &v, NULL), 0);
    assert_event_members(v);
}

/* Each builder twice: with all that an event may have, and with as little as possible. */
TEST(every_event_has_the_members_of_the_vocabulary)
{
    struct arena a;
    arena_init(&a);
    const str RUN = STR("run_1"), M = STR("p:m"), SETTING = STR("{\"value\":{}}");
    struct json *calls = json_new(&a, JSON_ARRAY), *decisions = json_new(&a, JSON_OBJECT);
    str globs[] = {STR("x__*")};
    const struct event_usage unknown = {0}, guess = {.is_known = true, .is_estimated = true};
    const struct llm_result bare = {.model = M}, full = {.model = M,
                                                         .stop_detail = STR("d"),
                                                         .request_id = STR("req"),
                                                         .request_sha256 = "00"};
    const struct tool_result none = {0}, refused = {.is_error = true, .is_absent = true};
    const struct event_call call = {RUN, STR("1"), STR("t"), STR_NONE};
    const struct event_call shown = {RUN, STR("1"), STR("t"), STR("ui://t")};
    const struct view_context context = {STR("x"), STR("1"), STR("seen")};
    const str LINES[] = {
        event_user_message(&a, &(struct event_message){.text = STR("hi")}),
        event_user_message(&a, &(struct event_message){.user_id = STR("usr_a"),
                                                       .text = STR("hi"),
                                                       .queued_id = STR("q_1"),
                                                       .tool_limit = {globs, 1},
                                                       .app = STR("x"),
                                                       .contexts = &context,
                                                       .ncontexts = 1}),
        event_run_start(&a, &(struct event_run){.run_id = RUN, .model = M}),
        event_run_start(&a, &(struct event_run){RUN, M, STR("usr_a"), STR("skill"), STR("run_0"),
                                                STR("run_9"), SETTING}),
        event_llm_response(&a, RUN, &bare, 0),
        event_llm_response(&a, RUN, &full, 40),
        event_llm_partial(&a, RUN, M, STR("te"), &unknown),
        event_llm_partial(&a, RUN, M, STR("te"), &guess),
        event_unanswered(&a, RUN, M, "failed", &unknown),
        event_unanswered(&a, RUN, M, "cancelled", &guess),
        event_tool_start(&a, &call, STR("{}"), STR_NONE),
        event_tool_start(&a, &shown, STR("{}"), STR("/d")),
        event_tool_done(&a, &call, &none, 1),
        event_tool_done(&a, &shown, &refused, 1),
        event_app_call(&a, &(struct event_app_call){.app = STR("x"), .tool = STR("t")}),
        event_app_call(
            &a, &(struct event_app_call){STR("x"), STR("t"), STR("1"), STR("usr_a"), true, 5}),
        event_ask_opened(&a, RUN, STR("ask_1"), calls, STR_NONE),
        event_ask_opened(&a, RUN, STR("ask_1"), calls, SETTING),
        event_ask_answered(&a, &(struct event_answer){STR("ask_1"), .decision = "deny"}),
        event_ask_answered(&a, &(struct event_answer){STR("ask_1"), STR("usr_a"), "allow",
                                                      decisions, "me", STR("git status")}),
        event_run_done(&a, RUN, RUN_STOP_COMPLETE, NULL, 1, 2),
        event_run_done(&a, RUN, RUN_STOP_COMPLETE, "why", 1, 2),
        event_run_error(&a, RUN, "engine_error", STR("broken"), STR_NONE),
        event_run_error(&a, RUN, "engine_error", STR("broken"), STR("par")),
    };
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++)
        check_members(&a, LINES[i]);
    arena_done(&a);
}
