#include "base/bytes/random.h"
#include "llm/call/body_hash.h"
#include "support/unit.h"

static struct body_hash hash;

static int setup(void **state)
{
    (void)state;
    hash = (struct body_hash){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    body_hash_done(&hash);
    return 0;
}

static void assert_hash(str body)
{
    char is[SHA256_HEX_LEN + 1], whole[SHA256_HEX_LEN + 1];
    body_hash_hex(&hash, body, is);
    sha256_hex(body, whole);
    assert_string_equal(is, whole);
}

/* A body of `same` bytes that depend on `kind`, and `rest` bytes that differ each time. */
static str make(struct arena *a, char kind, size_t same, size_t rest)
{
    char *p = arena_alloc(a, same + rest + 1);
    for (size_t i = 0; i < same; i++)
        p[i] = (char)(kind + (char)(i % 23));
    if (rest > 0)
        random_bytes(p + same, rest);
    return str_make(p, same + rest);
}

static size_t kept(void)
{
    size_t n = 0;
    for (size_t i = 0; i < BODY_HEADS; i++)
        n += hash.heads[i].bytes.n;
    return n;
}

TEST_WITH(every_body_has_the_hash_of_its_bytes, setup, teardown)
{
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < 400; i++)
        assert_hash(make(&a, (char)('A' + (char)(random_u64() % 7)), random_u64() % 5000,
                         random_u64() % 300));
    assert_hash(STR_NONE);
    arena_done(&a);
}

TEST_WITH(the_beginning_that_bodies_share_is_hashed_once, setup, teardown)
{
    struct arena a;
    arena_init(&a);
    assert_hash(make(&a, 'a', 6400, 900));
    assert_hash(make(&a, 'a', 6400, 300));
    assert_int_equal(kept(), 6400);
    struct sha256_pieces before = hash.heads[0].state;
    assert_hash(make(&a, 'a', 6400, 500));
    assert_int_equal(kept(), 6400);
    assert_memory_equal(&before, &hash.heads[0].state, sizeof before);
    assert_hash(make(&a, 'a', 6400, 0)); /* nothing behind it */
    arena_done(&a);
}

/* Bodies of several models take turns, and do not displace each other. */
TEST_WITH(several_beginnings_are_kept, setup, teardown)
{
    struct arena a;
    arena_init(&a);
    for (int round = 0; round < 3; round++)
        for (char kind = 'a'; kind < 'a' + BODY_HEADS; kind++)
            assert_hash(make(&a, kind, 3200, 700));
    assert_int_equal(kept(), BODY_HEADS * 3200);
    arena_done(&a);
}

TEST_WITH(what_is_kept_is_bounded, setup, teardown)
{
    struct arena a;
    arena_init(&a);
    for (char kind = 'a'; kind < 'a' + 3 * BODY_HEADS; kind++)
        assert_hash(make(&a, kind, 3u * BODY_HEAD_MAX, 0));
    assert_int_equal(kept(), (size_t)BODY_HEADS * BODY_HEAD_MAX);
    assert_hash(make(&a, 'z', BODY_HEAD_MIN - 1, 0)); /* too short to keep */
    assert_int_equal(kept(), (size_t)BODY_HEADS * BODY_HEAD_MAX);
    arena_done(&a);
}
