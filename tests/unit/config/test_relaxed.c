/* Settings as people write them: what is replaced, and that the rest stays where it is. */
#include "config/relaxed.h"
#include "support/unit.h"

static void expect(const char *given, const char *strict, bool has_comments)
{
    struct arena a;
    bool had;
    arena_init(&a);
    str made = relaxed_json(&a, str_from(given), &had);
    assert_true(str_eq(made, str_from(strict)));
    assert_int_equal(made.n, strlen(given)); /* lines and columns of errors stay */
    assert_int_equal(had, has_comments);
    arena_done(&a);
}

TEST(comments_and_commas_become_spaces)
{
    expect("{\"a\":1}", "{\"a\":1}", false);
    expect("{ // x\n\"a\":1}", "{     \n\"a\":1}", true);
    expect("{/*x\ny*/\"a\":1}", "{   \n   \"a\":1}", true);
    expect("{\"a\":[1,2,],}", "{\"a\":[1,2 ] }", true);
    expect("[1, // last\n]", "[1         \n]", true);
    expect("[1,,]", "[1, ]", true); /* still wrong, as it should be */
    expect("{\"a\":1} // end", "{\"a\":1}       ", true);
}

TEST(strings_are_left_alone)
{
    expect("{\"u\":\"http://x/*y*/,]\"}", "{\"u\":\"http://x/*y*/,]\"}", false);
    expect("{\"q\":\"\\\"//\"}", "{\"q\":\"\\\"//\"}", false);
    expect("\"unended //", "\"unended //", false);
    expect("{\"a\":1 /* unended", "{\"a\":1 /* unended", false);
}

TEST(a_byte_order_mark_is_not_a_comment)
{
    expect("\xef\xbb\xbf{}", "   {}", false);
    expect("", "", false);
    expect("\"\\", "\"\\", false);
}
