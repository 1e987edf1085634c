#include "engine/events.h"
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
    str line = event_llm_response(&a, STR("run_1"), &r);
    assert_true(str_find_char(line, '\n') < 0);
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
    struct tool_result r = {.content = content, .structured = structured, .is_error = true};
    str line = event_tool_done(&a, STR("run_1"), STR("id"), STR("n"), &r, 9);
    assert_true(str_find(line, STR("\"vendor\":1"), 0) > 0);
    assert_true(str_find(line, STR("12345678901234567890"), 0) > 0);
    assert_true(str_find(line, STR("\"ok\":false"), 0) > 0);
    assert_true(str_find(line, STR("\"isError\":true"), 0) > 0);
    struct tool_result none = {0};
    line = event_tool_done(&a, STR("run_1"), STR("id"), STR("n"), &none, 0);
    assert_true(str_find(line, STR("\"content\":[]"), 0) > 0);
    arena_done(&a);
}
