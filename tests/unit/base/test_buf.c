#include <errno.h>

#include "base/buf.h"
#include "support/unit.h"

TEST(appends)
{
    struct buf b;
    buf_init(&b, 1000);
    assert_string_equal(buf_cstr(&b), "");
    assert_int_equal(buf_add_lit(&b, "n="), 0);
    assert_int_equal(buf_add_u64(&b, UINT64_MAX), 0);
    assert_int_equal(buf_add_char(&b, ' '), 0);
    assert_int_equal(buf_add_i64(&b, INT64_MIN), 0);
    assert_int_equal(buf_add_char(&b, ' '), 0);
    assert_int_equal(buf_add_i64(&b, 0), 0);
    assert_int_equal(buf_add_str(&b, STR_NONE), 0);
    assert_int_equal(buf_printf(&b, " %s-%d", "x", 42), 0);
    assert_string_equal(buf_cstr(&b), "n=18446744073709551615 -9223372036854775808 0 x-42");
    assert_int_equal(b.n, strlen(b.p));
    buf_done(&b);
}

TEST(ceiling_is_exact)
{
    struct buf b;
    buf_init(&b, 4);
    assert_int_equal(buf_add_lit(&b, "abcd"), 0);
    assert_int_equal(buf_add_char(&b, 'e'), -ENOBUFS);
    assert_true(buf_failed(&b));
    assert_string_equal(buf_cstr(&b), "abcd");
    buf_done(&b);
}

TEST(failure_sticks_until_cleared)
{
    struct buf b;
    buf_init(&b, 4);
    assert_int_equal(buf_add_lit(&b, "abcde"), -ENOBUFS);
    assert_int_equal(buf_add_char(&b, 'x'), -ENOBUFS);
    assert_int_equal(buf_printf(&b, "y"), -ENOBUFS);
    assert_int_equal(b.n, 0);
    buf_clear(&b);
    assert_false(buf_failed(&b));
    assert_int_equal(buf_add_lit(&b, "abcd"), 0);
    buf_done(&b);
}

TEST(failed_number_changes_nothing)
{
    struct buf b;
    buf_init(&b, 3);
    assert_int_equal(buf_add_char(&b, 'a'), 0);
    assert_int_equal(buf_add_i64(&b, -123), -ENOBUFS);
    assert_string_equal(buf_cstr(&b), "a");
    buf_done(&b);
}

TEST(printf_at_every_length)
{
    /* Crosses each growth of the buffer, where the first attempt does not fit. */
    for (int n = 0; n < 300; n++) {
        struct buf b;
        buf_init(&b, 300);
        assert_int_equal(buf_printf(&b, "%*s", n, ""), 0);
        assert_int_equal(b.n, n);
        assert_int_equal(strlen(buf_cstr(&b)), n);
        buf_done(&b);
    }
    struct buf b;
    buf_init(&b, 9);
    assert_int_equal(buf_add_lit(&b, "keep"), 0);
    assert_int_equal(buf_printf(&b, "%s", "too long"), -ENOBUFS);
    assert_string_equal(buf_cstr(&b), "keep");
    buf_done(&b);
}

TEST(reserve_gives_room_behind_the_end)
{
    struct buf b;
    buf_init(&b, 5000);
    assert_int_equal(buf_add_lit(&b, "head"), 0);
    assert_int_equal(buf_reserve(&b, 4096), 0);
    memset(b.p + b.n, 'x', 4096);
    assert_memory_equal(b.p, "headx", 5);
    assert_int_equal(buf_reserve(&b, SIZE_MAX), -ENOBUFS);
    buf_done(&b);
}

TEST(consume_and_truncate)
{
    struct buf b;
    buf_init(&b, 100);
    (void)buf_add_lit(&b, "0123456789");
    buf_consume(&b, 3);
    assert_string_equal(buf_cstr(&b), "3456789");
    buf_truncate(&b, 2);
    assert_string_equal(buf_cstr(&b), "34");
    buf_consume(&b, 2);
    assert_string_equal(buf_cstr(&b), "");
    buf_consume(&b, 0);
    buf_done(&b);
}

TEST(take_hands_over)
{
    struct buf b;
    size_t n = 99;
    buf_init(&b, 100);
    char *p = buf_take(&b, &n);
    assert_string_equal(p, "");
    assert_int_equal(n, 0);
    free(p);
    (void)buf_add_lit(&b, "mine");
    p = buf_take(&b, &n);
    assert_string_equal(p, "mine");
    assert_int_equal(n, 4);
    free(p);
    assert_int_equal(buf_add_lit(&b, "again"), 0); /* usable, with the same ceiling */
    assert_int_equal(b.max, 100);
    buf_done(&b);
}

TEST(reset_gives_memory_back)
{
    struct buf b;
    buf_init(&b, 100);
    (void)buf_add_lit(&b, "x");
    buf_reset(&b);
    assert_null(b.p);
    assert_int_equal(b.max, 100);
    buf_done(&b);
    struct buf zero = {0};
    buf_done(&zero);
}

TEST(recycling_keeps_a_small_buffer_and_frees_a_large_one)
{
    struct buf b;
    buf_init(&b, 100);
    (void)buf_add_lit(&b, "x");
    size_t cap = b.cap;
    buf_recycle(&b, cap);
    assert_int_equal(b.cap, cap);
    assert_int_equal(b.n, 0);
    buf_recycle(&b, cap - 1);
    assert_null(b.p);
    assert_int_equal(b.max, 100);
    assert_int_equal(buf_add_lit(&b, "again"), 0);
    buf_done(&b);
}

TEST(growth_is_geometric)
{
    struct buf b;
    size_t growths = 0, cap = 0;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 1 << 20; i++) {
        assert_int_equal(buf_add_char(&b, 'x'), 0);
        growths += b.cap != cap;
        cap = b.cap;
    }
    assert_true(growths < 20);
    assert_int_equal(b.cap, (1 << 20) + 1); /* never beyond the ceiling and its NUL */
    buf_done(&b);
}

TEST(kept_bytes_are_in_the_arena_and_the_buffer_is_free)
{
    struct arena a;
    struct buf b;
    arena_init(&a);
    buf_init(&b, 3);
    buf_add_lit(&b, "abc");
    str s = buf_keep_whole(&b, &a);
    assert_true(str_eq(s, STR("abc")));
    assert_null(b.p);
    buf_init(&b, 3);
    buf_add_lit(&b, "ab");
    buf_add_lit(&b, "cd");
    assert_true(str_eq(buf_keep(&b, &a), STR("ab")));
    arena_done(&a);
}

TEST(bytes_of_a_failed_buffer_are_not_kept_as_a_whole)
{
    struct arena a;
    struct buf b;
    arena_init(&a);
    buf_init(&b, 3);
    buf_add_lit(&b, "ab");
    buf_add_lit(&b, "cd");
    assert_null(buf_keep_whole(&b, &a).p);
    assert_null(b.p);
    arena_done(&a);
}
