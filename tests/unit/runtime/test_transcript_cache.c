#include "runtime/history/transcript_cache.h"
#include "support/unit.h"

#define LINE STR("{\"type\":\"user.message\",\"content\":\"hi\"}")

static struct transcript *make(size_t bytes)
{
    struct transcript *t = transcript_new();
    transcript_add(t, LINE);
    transcript_settle(t, 100);
    (void)arena_alloc(&t->arena, bytes);
    return t;
}

TEST(what_was_given_can_be_taken_once)
{
    struct transcript_cache r;
    transcript_cache_init(&r);
    struct transcript *t = make(1);
    transcript_cache_give(&r, STR("conv_a"), t);
    assert_null(transcript_cache_take(&r, STR("conv_b")));
    assert_ptr_equal(transcript_cache_take(&r, STR("conv_a")), t);
    assert_null(transcript_cache_take(&r, STR("conv_a")));
    assert_int_equal(r.bytes, 0);
    transcript_free(t);
    transcript_cache_done(&r);
}

TEST(a_newer_one_replaces_the_older)
{
    struct transcript_cache r;
    transcript_cache_init(&r);
    struct transcript *t = make(1);
    transcript_cache_give(&r, STR("conv_a"), make(1));
    transcript_cache_give(&r, STR("conv_a"), t);
    assert_int_equal(map_len(&r.entries), 1);
    assert_int_equal(r.bytes, transcript_size(t));
    assert_ptr_equal(transcript_cache_take(&r, STR("conv_a")), t);
    transcript_free(t);
    transcript_cache_done(&r);
}

TEST(doubtful_empty_and_long_ones_are_not_kept)
{
    struct transcript_cache r;
    transcript_cache_init(&r);
    struct transcript *lost = make(1);
    lost->is_lost = true;
    transcript_cache_give(&r, STR("conv_a"), lost);
    transcript_cache_give(&r, STR("conv_a"), transcript_new());
    transcript_cache_give(&r, STR("conv_a"), make(TRANSCRIPT_CACHE_ONE_BYTES + 1));
    assert_null(map_get(&r.entries, STR("conv_a")));
    assert_int_equal(r.bytes, 0);
    transcript_cache_done(&r);
}

static void give_many(struct transcript_cache *r, size_t n, size_t bytes)
{
    for (size_t i = 0; i < n; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "conv_%zu", i);
        transcript_cache_give(r, str_from(id), make(bytes));
    }
}

TEST(bytes_have_a_ceiling)
{
    struct transcript_cache r;
    transcript_cache_init(&r);
    give_many(&r, 40, 1024 * 1024);
    assert_in_range(r.bytes, TRANSCRIPT_CACHE_ALL_BYTES / 2, TRANSCRIPT_CACHE_ALL_BYTES);
    assert_null(map_get(&r.entries, STR("conv_0")));
    assert_non_null(map_get(&r.entries, STR("conv_39")));
    transcript_cache_done(&r);
}

TEST(their_number_has_a_ceiling)
{
    struct transcript_cache r;
    transcript_cache_init(&r);
    give_many(&r, TRANSCRIPT_CACHE_MAX + 3, 1);
    assert_int_equal(map_len(&r.entries), TRANSCRIPT_CACHE_MAX);
    assert_null(map_get(&r.entries, STR("conv_2")));
    assert_non_null(map_get(&r.entries, STR("conv_3")));
    transcript_cache_done(&r);
}
