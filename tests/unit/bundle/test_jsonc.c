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

TEST(comments_become_spaces)
{
    becomes("{ // x\n \"a\": 1 /* y\n z */ }", "{     \n \"a\": 1     \n      }");
    becomes("\xef\xbb\xbf{}", "{}");
    becomes("/", "/");
    becomes("/* open", "       ");
    becomes("// end", "      ");
}

TEST(trailing_commas_too)
{
    becomes("[1, 2, /**/ \n]", "[1, 2       \n]");
    becomes("{\"a\":[1,],}", "{\"a\":[1 ] }");
    becomes("[1,,]", "[1, ]"); /* still wrong, as it should be */
    becomes(",", ",");
}

TEST(strings_are_left_alone)
{
    becomes("{\"a\": \"// no /* no */ ,]\"}", "{\"a\": \"// no /* no */ ,]\"}");
    becomes("[\"\\\"//\",]", "[\"\\\"//\" ]");
    becomes("\"open //", "\"open //");
    becomes("\"\\", "\"\\");
}
