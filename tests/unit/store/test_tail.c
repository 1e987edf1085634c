#include "store/log/tail.h"
#include "support/unit.h"

static const struct store_range ALL = {.max_events = 1000, .max_bytes = 1u << 20};

/* The events after `after` as "pos:line|", or "-" when the log must be read. */
static const char *page(struct arena *a, const struct tail *t, store_pos after)
{
    struct store_range range = ALL;
    struct store_page p;
    str all = STR("=");
    range.after = after;
    if (!tail_page(t, a, &range, &p))
        return "-";
    assert_true(p.reached_end);
    assert_false(p.reached_start);
    assert_int_equal(p.start, after);
    for (size_t i = 0; i < p.n; i++)
        all = arena_printf(a, "%.*s%llu:%.*s|", STR_ARG(all), (unsigned long long)p.events[i].pos,
                           STR_ARG(p.events[i].line));
    return arena_cstr(a, all);
}

TEST(what_came_since)
{
    struct arena a;
    struct tail t = {0};
    str first[] = {STR("a\n"), STR("bb\n")}, second[] = {STR("ccc\n")};
    arena_init(&a);
    assert_string_equal(page(&a, &t, 0), "-");
    tail_add(&t, 100, first, 2);
    tail_add(&t, 105, second, 1);
    assert_string_equal(page(&a, &t, 100), "=102:a|105:bb|109:ccc|");
    assert_string_equal(page(&a, &t, 102), "=105:bb|109:ccc|");
    assert_string_equal(page(&a, &t, 109), "=");
    assert_string_equal(page(&a, &t, 99), "-");  /* before what is kept */
    assert_string_equal(page(&a, &t, 103), "-"); /* inside a line */
    assert_string_equal(page(&a, &t, 110), "-"); /* beyond the end */
    tail_drop(&t);
    assert_string_equal(page(&a, &t, 109), "-");
    arena_done(&a);
}

TEST(a_gap_drops_what_was_before)
{
    struct arena a;
    struct tail t = {0};
    str line[] = {STR("a\n")};
    arena_init(&a);
    tail_add(&t, 100, line, 1);
    tail_add(&t, 200, line, 1);
    assert_string_equal(page(&a, &t, 100), "-");
    assert_string_equal(page(&a, &t, 200), "=202:a|");
    tail_drop(&t);
    arena_done(&a);
}

TEST(pages_that_need_more)
{
    struct arena a;
    struct tail t = {0};
    struct store_page p;
    str lines[] = {STR("a\n"), STR("b\n")};
    arena_init(&a);
    tail_add(&t, 100, lines, 2);
    struct store_range few = ALL, small = ALL, back = ALL, blobs = ALL;
    few.after = small.after = blobs.after = 100;
    few.max_events = 1;
    small.max_bytes = 3;
    back.backwards = blobs.with_blobs = true;
    assert_false(tail_page(&t, &a, &few, &p));
    assert_false(tail_page(&t, &a, &small, &p));
    assert_false(tail_page(&t, &a, &back, &p));
    assert_false(tail_page(&t, &a, &blobs, &p));
    tail_drop(&t);
    arena_done(&a);
}

/* Lines of every length go in; what is kept is whole lines, the newest, within the ceiling. */
TEST(ceiling)
{
    static char text[TAIL_BYTES_MAX + 1];
    struct arena a;
    struct tail t = {0};
    struct store_page p;
    store_pos at = 50;
    arena_init(&a);
    memset(text, 'x', sizeof(text));
    for (size_t n = 1; n <= 1500; n++) {
        text[n - 1] = '\n';
        tail_add(&t, at, &(str){text, n}, 1);
        text[n - 1] = 'x';
        at += n;
        struct store_range range = ALL;
        range.after = t.start;
        assert_true(t.n <= TAIL_BYTES_MAX && tail_end(&t) == at);
        assert_true(tail_page(&t, &a, &range, &p));
        assert_int_equal(p.events[p.n - 1].line.n, n - 1);
        assert_int_equal(p.events[0].pos, t.start + p.events[0].line.n + 1);
        arena_reset(&a);
    }
    assert_true(t.n > TAIL_BYTES_MAX - 1500);
    text[TAIL_BYTES_MAX - 1] = '\n';
    tail_add(&t, at, &(str){text, TAIL_BYTES_MAX}, 1);
    assert_int_equal(t.n, TAIL_BYTES_MAX);
    text[TAIL_BYTES_MAX - 1] = 'x';
    text[TAIL_BYTES_MAX] = '\n';
    tail_add(&t, at + TAIL_BYTES_MAX, &(str){text, TAIL_BYTES_MAX + 1}, 1);
    assert_int_equal(t.n, 0);
    tail_drop(&t);
    arena_done(&a);
}
