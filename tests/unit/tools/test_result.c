#include "support/unit.h"
#include "tools/result.h"

static struct json *parse(struct arena *a, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(a, str_from(text), 0, &v, NULL), 0);
    return v;
}

static void test_text_and_error(void **state)
{
    struct arena a;
    arena_init(&a);
    struct tool_result ok = tool_result_text(&a, STR("fine"));
    assert_false(ok.is_error);
    assert_string_equal(json_to_str(&a, ok.content).p, "[{\"type\":\"text\",\"text\":\"fine\"}]");
    struct tool_result bad = tool_result_error(&a, "no %s in %d", "luck", 3);
    assert_true(bad.is_error);
    assert_string_equal(tool_result_to_text(&a, &bad).p, "no luck in 3");
    arena_done(&a);
}

static void test_characters_are_counted_not_bytes(void **state)
{
    struct arena a;
    arena_init(&a);
    struct tool_result r = {.content = parse(&a, "[{\"t\":\"äö\"}]")};
    assert_int_equal(tool_result_chars(&r), 3);
    r.structured = parse(&a, "{\"n\":[1,true,null]}");
    assert_int_equal(tool_result_chars(&r), 3 + 4);
    r.meta = parse(&a, "\"xyz\"");
    assert_int_equal(tool_result_chars(&r), 3 + 4 + 3);
    arena_done(&a);
}

static void test_only_text_blocks_are_joined(void **state)
{
    struct arena a;
    arena_init(&a);
    struct tool_result r = {
        .content =
            parse(&a, "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"data\":\"x\"},"
                      "{\"type\":\"text\",\"text\":\"b\"},7]")};
    assert_string_equal(tool_result_to_text(&a, &r).p, "a\nb");
    r.content = NULL;
    assert_int_equal(tool_result_to_text(&a, &r).n, 0);
    assert_int_equal(tool_result_chars(&r), 0);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_and_error),
        cmocka_unit_test(test_characters_are_counted_not_bytes),
        cmocka_unit_test(test_only_text_blocks_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
