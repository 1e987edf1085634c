/* The answer of a terminal, between keys. */
#include "cli/screen/term_answer.h"
#include "support/unit.h"

static char keys[8192];

static str take(struct term_answer *t, str bytes)
{
    return str_make(keys, term_answer_take(t, bytes, keys));
}

TEST(the_answer_is_taken_out_of_the_keys)
{
    struct term_answer t = {.is_awaited = true};
    assert_true(str_eq(take(&t, STR("ab\x1b[?62;4;22c\x1b[A")), STR("ab\x1b[A")));
    assert_true(t.has_sixel && !t.is_awaited);
    /* only one was asked for */
    assert_true(str_eq(take(&t, STR("\x1b[?62;22c")), STR("\x1b[?62;22c")));
    assert_true(t.has_sixel);
}

TEST(only_a_four_behind_the_first_number_is_sixel)
{
    static const struct {
        str answer;
        bool has_sixel;
    } CASES[] = {
        {STR_INIT("\x1b[?62;22c"), false},    {STR_INIT("\x1b[?4c"), false},
        {STR_INIT("\x1b[?4;6c"), false},      {STR_INIT("\x1b[?6c"), false},
        {STR_INIT("\x1b[?64;1;44c"), false},  {STR_INIT("\x1b[?64;1;4c"), true},
        {STR_INIT("\x1b[?65;4;6;18c"), true},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct term_answer t = {.is_awaited = true};
        assert_int_equal(take(&t, CASES[i].answer).n, 0);
        assert_int_equal(t.has_sixel, CASES[i].has_sixel);
        assert_false(t.is_awaited);
    }
}

TEST(an_answer_in_pieces_is_held_back_and_keys_are_not)
{
    struct term_answer t = {.is_awaited = true};
    assert_true(str_eq(take(&t, STR("x\x1b[?6")), STR("x")));
    assert_true(str_eq(take(&t, STR("2;")), STR("")));
    assert_true(str_eq(take(&t, STR("4cy")), STR("y")));
    assert_true(t.has_sixel);
    t = (struct term_answer){.is_awaited = true};
    assert_true(str_eq(take(&t, STR("\x1b")), STR("\x1b"))); /* the Escape key waits for nothing */
    assert_true(str_eq(take(&t, STR("\x1b[")), STR("\x1b[")));
}

TEST(what_is_no_answer_stays)
{
    struct term_answer t = {.is_awaited = true};
    assert_true(str_eq(take(&t, STR("\x1b[?2004h\x1b[?c\x1b[?62;4c")), STR("\x1b[?2004h\x1b[?c")));
    assert_true(t.has_sixel);
    t = (struct term_answer){.is_awaited = true};
    char longer[4096] = "\x1b[?";
    memset(longer + 3, '4', sizeof longer - 3);
    assert_int_equal(take(&t, str_make(longer, sizeof longer)).n, sizeof longer);
    assert_int_equal(t.n, 0);
    t = (struct term_answer){0}; /* nobody asked */
    assert_true(str_eq(take(&t, STR("\x1b[?62;4c")), STR("\x1b[?62;4c")));
}
