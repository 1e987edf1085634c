#include "cli/screen/tool_lines.h"
#include "support/unit.h"

static int setup(void **state)
{
    *state = xcalloc(1, sizeof(struct tool_lines));
    return 0;
}

static int teardown(void **state)
{
    tool_lines_done(*state);
    free(*state);
    return 0;
}

static const char *text_of(struct tool_lines *t, bool is_final)
{
    static struct buf b;
    buf_done(&b);
    buf_init(&b, 65536);
    if (is_final)
        tool_lines_take(t, &b);
    else
        tool_lines_draw(t, STR("*"), &b);
    return buf_cstr(&b);
}

static void begin(struct tool_lines *t, str id, str name, const char *input)
{
    struct arena a;
    struct json *v;
    arena_init(&a);
    assert_int_equal(json_parse(&a, str_from(input), 0, &v, NULL), 0);
    tool_lines_start(t, id, name, v);
    arena_done(&a);
}

TEST_WITH(a_call_from_start_to_end, setup, teardown)
{
    struct tool_lines *t = *state;
    begin(t, STR("1"), STR("nb__calculate"), "{\"expression\": \"6*7\"}");
    assert_string_equal(text_of(t, false), "* nb__calculate {\"expression\":\"6*7\"}");
    assert_string_equal(text_of(t, true), "");
    tool_lines_finish(t, STR("1"), STR("nb__calculate"), &(struct tool_end){true, 3, STR("42")},
                      80);
    assert_string_equal(text_of(t, true), "✓ nb__calculate 6*7 → 42 (3 ms)\n");
    assert_string_equal(text_of(t, false), "");
}

TEST_WITH(parallel_calls_keep_their_order, setup, teardown)
{
    struct tool_lines *t = *state;
    begin(t, STR("1"), STR("slow"), "{}");
    begin(t, STR("2"), STR("fast"), "{}");
    tool_lines_finish(t, STR("2"), STR("fast"), &(struct tool_end){false, 1, STR("no\nsuch thing")},
                      80);
    assert_string_equal(text_of(t, true), "");
    assert_string_equal(text_of(t, false), "* slow {}\n✗ fast no such thing (1 ms)");
    tool_lines_finish(t, STR("1"), STR("slow"), &(struct tool_end){true, 9, STR("")}, 80);
    assert_string_equal(text_of(t, true), "✓ slow (9 ms)\n✗ fast no such thing (1 ms)\n");
}

TEST_WITH(long_output_leaves_room_for_the_rest, setup, teardown)
{
    struct tool_lines *t = *state;
    begin(t, STR("1"), STR("t"), "{}");
    tool_lines_finish(t, STR("1"), STR("t"),
                      &(struct tool_end){true, 5, STR("0123456789012345678901234567890")}, 20);
    assert_string_equal(text_of(t, true), "✓ t 01234567… (5 ms)\n");
}

TEST_WITH(stopped_and_unknown_calls, setup, teardown)
{
    struct tool_lines *t = *state;
    begin(t, STR("1"), STR("t"), "{}");
    tool_lines_finish(t, STR("?"), STR("u"), &(struct tool_end){true, 1, STR("x")}, 80);
    tool_lines_stop(t, 80);
    assert_string_equal(text_of(t, true), "✗ t stopped\n✓ u x (1 ms)\n");
}

TEST_WITH(foreign_text_is_made_safe, setup, teardown)
{
    struct tool_lines *t = *state;
    begin(t, STR("1"), STR("a\x1b[2J"), "\"\\u001b[2J\\u202e\"");
    assert_null(strchr(text_of(t, false), '\x1b'));
    tool_lines_finish(t, STR("1"), STR("x"), &(struct tool_end){true, 1, STR("\x1b]0;t\x07")}, 80);
    assert_string_equal(text_of(t, true), "✓ a␛[2J \"\\u001b[2J�\" → ␛]0;t␇ (1 ms)\n");
}

TEST_WITH(has_a_ceiling, setup, teardown)
{
    struct tool_lines *t = *state;
    for (size_t i = 0; i < TOOL_LINES_MAX + 5; i++)
        begin(t, STR("same"), STR("t"), "{}");
    assert_int_equal(t->n, TOOL_LINES_MAX);
}

TEST_WITH(what_one_line_cannot_show_has_a_number, setup, teardown)
{
    struct tool_lines *t = *state;
    struct tool_end end = {true, 3, STR("one\ntwo"), 7, STR("  +line\n  -line")};
    assert_true(tool_lines_is_cut(t, STR("1"), STR("x"), &end, 80));
    begin(t, STR("1"), STR("x"), "{}");
    tool_lines_finish(t, STR("1"), STR("x"), &end, 80);
    assert_string_equal(text_of(t, true), "✓ x one two (3 ms) [7]\n  +line\n  -line\n");
    end = (struct tool_end){true, 3, STR("0123456789"), 0, STR_NONE};
    assert_false(tool_lines_is_cut(t, STR("1"), STR("x"), &end, 21)); /* "✓ x 0123456789 (3 ms)" */
    assert_true(tool_lines_is_cut(t, STR("1"), STR("x"), &end, 20));
    begin(t, STR("2"), STR("x"), "{\"a\": \"12345\"}");
    assert_false(tool_lines_is_cut(t, STR("2"), STR("x"), &end, 29)); /* and "12345 → " */
    assert_true(tool_lines_is_cut(t, STR("2"), STR("x"), &end, 28));
}

TEST_WITH(the_input_is_shown_before_the_output, setup, teardown)
{
    struct tool_lines *t = *state;
    struct tool_end end = {true, 5, STR("0123456789012345678901234567890")}, none = {true, 5};
    begin(t, STR("1"), STR("t"), "{\"a\": \"one\\ntwo\"}");
    tool_lines_finish(t, STR("1"), STR("t"), &none, 80);
    begin(t, STR("2"), STR("t"), "{\"a\": 1, \"b\": [2]}");
    tool_lines_finish(t, STR("2"), STR("t"), &(struct tool_end){false, 5, STR("why")}, 80);
    begin(t, STR("3"), STR("t"), "{\"a\": \"01234567890123456789\"}");
    tool_lines_finish(t, STR("3"), STR("t"), &end, 36); /* half of the room each */
    end.below = STR("  +line");
    begin(t, STR("4"), STR("t"), "{\"path\": \"a.c\"}");
    tool_lines_finish(t, STR("4"), STR("t"), &end, 36);
    assert_string_equal(text_of(t, true), "✓ t one two (5 ms)\n"
                                          "✗ t {\"a\":1,\"b\":[2]} → why (5 ms)\n"
                                          "✓ t 01234567890… → 012345678… (5 ms)\n"
                                          "✓ t 012345678901234567890123… (5 ms)\n  +line\n");
}
