#include "support/unit.h"
#include "tools/result.h"

static struct json *parse(struct arena *a, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(a, str_from(text), 0, &v, NULL), 0);
    return v;
}

TEST(text_and_error)
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

TEST(characters_are_counted_not_bytes)
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

TEST(only_text_blocks_are_joined)
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
