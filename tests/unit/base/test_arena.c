#include "base/arena.h"
#include "support/unit.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

TEST(alignment_and_separation)
{
    struct arena a;
    arena_init(&a);
    assert_int_equal(a.total, 0);
    uint8_t *p[200];
    for (size_t i = 0; i < ARRAY_LEN(p); i++) {
        p[i] = arena_alloc(&a, i);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        memset(p[i], (int)i, i);
    }
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        for (size_t j = 0; j < i; j++)
            assert_int_equal(p[i][j], i);
    arena_done(&a);
}

TEST(first_chunk_is_small_and_chunks_grow)
{
    struct arena a;
    arena_init(&a);
    (void)arena_alloc(&a, 1);
    assert_int_equal(a.total, 1024);
    size_t chunks = 1, total = a.total;
    for (int i = 0; i < 10000; i++) {
        (void)arena_alloc(&a, 100);
        chunks += a.total != total;
        total = a.total;
    }
    assert_true(chunks < 40);
    arena_done(&a);
    assert_int_equal(a.total, 0);
}

TEST(big_allocations_leave_the_chunk_in_use)
{
    struct arena a;
    arena_init(&a);
    char *before = arena_alloc(&a, 16);
    char *big = arena_zalloc(&a, 1 << 20);
    char *after = arena_alloc(&a, 16);
    assert_true(after > before && after - before < 1024);
    assert_int_equal(big[(1 << 20) - 1], 0);
    assert_true(a.total < (1 << 20) + 4096);
    arena_done(&a);

    arena_init(&a);
    (void)arena_alloc(&a, 1 << 20); /* as the very first one */
    (void)arena_alloc(&a, 16);
    assert_true(a.total < (1 << 20) + 4096);
    arena_done(&a);
}

TEST(reset_keeps_one_normal_chunk)
{
    struct arena a;
    arena_init(&a);
    arena_reset(&a);
    for (int i = 0; i < 5000; i++)
        (void)arena_alloc(&a, 100);
    (void)arena_alloc(&a, 1 << 20);
    arena_reset(&a);
    assert_int_equal(a.total, 64 * 1024);
    size_t held = a.total;
    char *p = arena_zalloc(&a, 1000);
    assert_int_equal(p[999], 0);
    assert_int_equal(a.total, held);
    arena_done(&a);
}

TEST(reset_drops_a_lone_big_chunk)
{
    struct arena a;
    arena_init(&a);
    (void)arena_alloc(&a, 1 << 20);
    arena_reset(&a);
    assert_int_equal(a.total, 0);
    assert_non_null(arena_alloc(&a, 1));
    arena_done(&a);
}

TEST(strings)
{
    struct arena a;
    arena_init(&a);
    str s = arena_str(&a, str_make("hello world", 5));
    assert_int_equal(s.n, 5);
    assert_string_equal(s.p, "hello");
    assert_string_equal(arena_cstr(&a, STR_NONE), "");
    assert_string_equal(arena_concat(&a, STR("ab"), STR("cd")).p, "abcd");
    assert_string_equal(arena_concat(&a, STR_NONE, STR_NONE).p, "");
    const str parts[] = {STR("a"), STR_NONE, STR("bc"), STR("d")};
    assert_string_equal(arena_join(&a, parts, ARRAY_LEN(parts)).p, "abcd");
    assert_int_equal(arena_join(&a, parts, ARRAY_LEN(parts)).n, 4);
    assert_string_equal(arena_join(&a, parts, 0).p, "");
    assert_string_equal(arena_printf(&a, "%d-%s", 7, "x").p, "7-x");
    str wide = arena_printf(&a, "%1000d", 5);
    assert_int_equal(wide.n, 1000);
    assert_int_equal(strlen(wide.p), 1000);
    arena_done(&a);
}

TEST(array_is_zeroed)
{
    struct arena a;
    arena_init(&a);
    memset(arena_alloc(&a, 500), 0xff, 500);
    arena_reset(&a);
    uint64_t *v = arena_array(&a, 50, sizeof(*v));
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(v[i], 0);
    arena_done(&a);
}

/* Only where AddressSanitizer looks on: what lies behind an allocation must not be touched. */
TEST(overruns_are_seen)
{
#ifdef __SANITIZE_ADDRESS__
    struct arena a;
    arena_init(&a);
    for (size_t n = 1; n < 40; n++) {
        char *p = arena_alloc(&a, n);
        assert_false(__asan_address_is_poisoned(p + n - 1));
        assert_true(__asan_address_is_poisoned(p + n));
    }
    char *p = arena_alloc(&a, 1);
    arena_reset(&a);
    assert_true(__asan_address_is_poisoned(p));
    arena_done(&a);
#else
    skip();
#endif
}

TEST(copies_of_lists_do_not_share_their_strings)
{
    struct arena a;
    char x[] = "x", y[] = "yy";
    const str list[] = {{x, 1}, {y, 2}};
    const char *const argv[] = {x, y, NULL};
    arena_init(&a);
    str *strs = arena_strs(&a, list, 2);
    const char **cstrs = arena_cstrs(&a, argv);
    x[0] = y[0] = '!';
    assert_true(str_eq(strs[0], STR("x")) && str_eq(strs[1], STR("yy")));
    assert_string_equal(cstrs[1], "yy");
    assert_null(cstrs[2]);
    assert_null(arena_cstrs(&a, NULL));
    assert_non_null(arena_strs(&a, NULL, 0));
    arena_done(&a);
}

TEST(an_array_grows_in_the_arena_and_keeps_its_elements)
{
    struct arena a;
    uint16_t *items = NULL;
    size_t cap = 0;
    arena_init(&a);
    for (uint16_t n = 0; n < 100; n++) {
        ARENA_GROW(&a, items, n, cap);
        assert_true(n < cap);
        items[n] = n;
    }
    uint16_t *copy = arena_copy(&a, items, 100, 102, sizeof(*copy));
    items[99] = 0;
    for (uint16_t n = 0; n < 100; n++)
        assert_int_equal(copy[n], n);
    assert_int_equal(copy[100] | copy[101], 0);
    arena_done(&a);
}

TEST(a_thread_keeps_chunks_for_its_next_arena)
{
    struct arena a, b;
    arena_keep(true);
    arena_init(&a);
    arena_init(&b);
    char *first = arena_alloc(&a, 100);
    arena_done(&a);
    assert_ptr_equal(arena_alloc(&a, 200), first);
    assert_ptr_not_equal(arena_alloc(&b, 100), first); /* it is in use again */
    arena_done(&a);
    arena_done(&b);
    arena_trim();
    arena_trim();
    arena_keep(false);
}

TEST(only_so_many_chunks_are_kept)
{
    struct arena arenas[300];
    arena_keep(true);
    for (size_t i = 0; i < ARRAY_LEN(arenas); i++) {
        arena_init(&arenas[i]);
        memset(arena_alloc(&arenas[i], 900), 1, 900);
        memset(arena_alloc(&arenas[i], 1900), 1, 1900);
        memset(arena_alloc(&arenas[i], 100000), 1, 100000); /* not of a usual size: freed */
    }
    for (size_t i = 0; i < ARRAY_LEN(arenas); i++)
        arena_done(&arenas[i]);
    for (size_t i = 0; i < ARRAY_LEN(arenas); i++) { /* kept and new ones */
        memset(arena_alloc(&arenas[i], 900), 2, 900);
        arena_reset(&arenas[i]);
        memset(arena_alloc(&arenas[i], 900), 3, 900);
    }
    for (size_t i = 0; i < ARRAY_LEN(arenas); i++)
        arena_done(&arenas[i]);
    arena_trim();
}
