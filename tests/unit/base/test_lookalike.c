#include "base/text/lookalike.h"
#include "support/unit.h"

static struct arena arena;

static void alike(const char *x, const char *y)
{
    if (!lookalike_eq(&arena, str_from(x), str_from(y)))
        fail_msg("'%s' does not look like '%s'", x, y);
}

TEST(names_that_look_alike)
{
    alike("bash", "BASH");
    alike("bash", "b\xd0\xb0sh");                /* Cyrillic a */
    alike("bash", "\xef\xbd\x82\xef\xbd\x81sh"); /* full-width */
    alike("bash", "ba\xe2\x80\x8bsh");           /* zero-width space */
    alike("bash", "b-a_s.h");
    alike("skills", "sk1l1s");
    alike("skills", "sk|lls");
    alike("conversations", "c0nversati\xce\xbfns"); /* Greek omicron */
    alike("modern", "modem");
    alike("view", "viev\x76");
    alike("nb", "\xf0\x9d\x90\xa7\xf0\x9d\x90\x9b"); /* mathematical bold */
    alike("resume", "r\xc3\xa9sum\xc3\xa9");
    alike("nb", "n\xf3\xa0\x81\xa1"
                "b"); /* a tag character */
}

TEST(names_that_do_not)
{
    assert_false(lookalike_eq(&arena, STR("bash"), STR("dash")));
    assert_false(lookalike_eq(&arena, STR("files"), STR("file")));
    assert_false(lookalike_eq(&arena, STR(""), STR("a")));
    assert_true(lookalike_eq(&arena, STR(""), STR("--")));
}

TEST(separators_can_be_kept)
{
    assert_true(str_eq(lookalike_skeleton(&arena, STR("nb__x.y"), true), STR("nb-x-y")));
    assert_true(str_eq(lookalike_skeleton(&arena, STR("_nb_"), true), STR("nb")));
}

TEST(any_bytes_are_taken)
{
    assert_true(lookalike_skeleton(&arena,
                                   STR("\xff\xfe"
                                       "a"),
                                   false)
                    .n > 0);
}

int main(void)
{
    arena_init(&arena);
    int failed = run_unit_tests("tests", NULL);
    arena_done(&arena);
    return failed;
}
