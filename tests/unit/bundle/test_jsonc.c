#include "bundle/entry/jsonc.h"
#include "support/unit.h"

static void becomes(const char *text, const char *expected)
{
    struct arena a;
    arena_init(&a);
    str got = jsonc_to_json(&a, str_from(text));
    assert_string_equal(got.p, expected);
    arena_done(&a);
}

static void comments_become_spaces(void **state)
{
    becomes("{ // x\n \"a\": 1 /* y\n z */ }", "{     \n \"a\": 1     \n      }");
    becomes("\xef\xbb\xbf{}", "{}");
    becomes("/", "/");
    becomes("/* open", "       ");
    becomes("// end", "      ");
}

static void trailing_commas_too(void **state)
{
    becomes("[1, 2, /**/ \n]", "[1, 2       \n]");
    becomes("{\"a\":[1,],}", "{\"a\":[1 ] }");
    becomes("[1,,]", "[1, ]"); /* still wrong, as it should be */
    becomes(",", ",");
}

static void strings_are_left_alone(void **state)
{
    becomes("{\"a\": \"// no /* no */ ,]\"}", "{\"a\": \"// no /* no */ ,]\"}");
    becomes("[\"\\\"//\",]", "[\"\\\"//\" ]");
    becomes("\"open //", "\"open //");
    becomes("\"\\", "\"\\");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_become_spaces),
        cmocka_unit_test(trailing_commas_too),
        cmocka_unit_test(strings_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
