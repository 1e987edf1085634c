#include "base/bytes/random.h"
#include "support/unit.h"

TEST(bytes_fill_everything)
{
    /* A byte that stays zero in eight draws of 1,000 bytes was not written: the chance that a
     * written one looks like that is below 10^-15 in all. */
    uint8_t seen[1000] = {0}, p[1002] = {0};
    for (int round = 0; round < 8; round++) {
        random_bytes(p + 1, 1000);
        for (size_t i = 0; i < 1000; i++)
            seen[i] |= p[i + 1];
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_not_equal(seen[i], 0);
    assert_int_equal(p[0], 0);
    assert_int_equal(p[1001], 0);
    random_bytes(p, 0);
}

TEST(numbers_differ)
{
    assert_true(random_u64() != random_u64());
}

TEST(ids)
{
    char a[RANDOM_ID_MAX], b[RANDOM_ID_MAX];
    random_id("conv", a);
    random_id("conv", b);
    assert_int_equal(strlen(a), 5 + 16);
    assert_memory_equal(a, "conv_", 5);
    assert_int_equal(strspn(a + 5, "0123456789abcdef"), 16);
    assert_string_not_equal(a, b);
    random_id("fourteen_chars", a);
    assert_int_equal(strlen(a), RANDOM_ID_MAX - 1);
}
