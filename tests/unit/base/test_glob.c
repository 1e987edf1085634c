#include "base/text/glob.h"
#include "support/unit.h"

TEST(matches)
{
    static const struct {
        const char *pattern, *s;
        bool matches;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "anything", true},
        {"abc", "abc", true},
        {"abc", "abcd", false},
        {"abc", "xabc", false},
        {"a*", "a", true},
        {"a*", "ba", false},
        {"*a", "bba", true},
        {"*a", "ab", false},
        {"a*c", "ac", true},
        {"a*c", "abcbc", true},
        {"a*c", "abcb", false},
        {"*ab*", "xxabyy", true},
        {"*a*b*", "ba", false},
        {"**", "x", true},
        {"a**b", "ab", true},
        {"a?c", "abc", false},
        {"a?c", "a?c", true},
        {"[a]", "a", false},
        {"nb__*", "nb__x", true},
        {"nb__*", "nb_x", false},
        {"*.md", ".md", true},
        {"a*b*c", "a-b-b", false},
        {"\\*", "\\x", true},
        {"*aab", "aaab", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(glob_match(str_from(rows[i].pattern), str_from(rows[i].s)),
                         rows[i].matches);
    assert_true(glob_match(STR_NONE, STR_NONE));
}

/* Exponential matchers never finish this one. */
TEST(many_stars_stay_cheap)
{
    char s[4000];
    memset(s, 'a', sizeof(s));
    assert_false(glob_match(STR("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"), str_make(s, sizeof(s))));
}
