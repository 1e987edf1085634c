#include "bundle/supervise/stderr_ring.h"
#include "support/unit.h"

TEST(keeps_the_newest_whole_lines)
{
    struct stderr_ring r;
    stderr_ring_init(&r, 100);
    for (int i = 0; i < 1000; i++) {
        char line[32];
        snprintf(line, sizeof(line), "line %d\n", i);
        stderr_ring_add(&r, str_from(line));
        assert_true(stderr_ring_text(&r).n <= 200);
    }
    str text = stderr_ring_text(&r);
    assert_true(str_ends(text, STR("line 998\nline 999\n")));
    assert_true(str_starts(text, STR("line ")));
    assert_true(text.n >= 80);
    stderr_ring_done(&r);
}

TEST(one_endless_line_is_cut)
{
    struct stderr_ring r;
    char *huge = xcalloc(1, 5000);
    stderr_ring_init(&r, 100);
    memset(huge, 'x', 5000);
    stderr_ring_add(&r, (str){huge, 5000});
    for (int i = 0; i < 50; i++)
        stderr_ring_add(&r, (str){huge, 77});
    assert_in_range(stderr_ring_text(&r).n, 100, 200);
    free(huge);
    stderr_ring_done(&r);
}

TEST(notes_stand_on_lines_of_their_own)
{
    struct stderr_ring r;
    stderr_ring_init(&r, 100);
    stderr_ring_add(&r, STR("half"));
    stderr_ring_note(&r, "it crashed");
    stderr_ring_note(&r, "again");
    assert_true(str_eq(stderr_ring_text(&r), STR("half\n-- it crashed\n-- again\n")));
    stderr_ring_done(&r);
}
