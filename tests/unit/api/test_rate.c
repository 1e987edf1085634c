#include "api/ingress/rate.h"
#include "support/unit.h"

#define MINUTE 60000

TEST(window)
{
    struct rates r;
    int64_t now = 1000 * MINUTE + 15000;
    rates_init(&r);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rates_take(&r, STR("usr_a"), RATE_CHAT, 3, now), 0);
    assert_int_equal(rates_take(&r, STR("usr_a"), RATE_CHAT, 3, now), 45);
    assert_int_equal(rates_take(&r, STR("usr_a"), RATE_CHAT, 3, now + 44999), 1);
    assert_int_equal(rates_take(&r, STR("usr_a"), RATE_TOOLS, 3, now), 0);
    assert_int_equal(rates_take(&r, STR("usr_b"), RATE_CHAT, 3, now), 0);
    assert_int_equal(rates_take(&r, STR("usr_a"), RATE_CHAT, 3, now + 45000), 0);
    assert_int_equal(map_len(&r.people), 1); /* who does not come again is forgotten */
    rates_done(&r);
}

TEST(no_limit)
{
    struct rates r;
    rates_init(&r);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(rates_take(&r, STR("usr_a"), RATE_MCP, 0, 5), 0);
    assert_int_equal(map_len(&r.people), 0);
    rates_done(&r);
}

/* Beyond the ceiling people share one count: memory is bounded, and nobody gets away. */
TEST(ceiling)
{
    struct rates r;
    char id[32];
    rates_init(&r);
    for (int i = 0; i < RATE_PEOPLE_MAX + 10; i++) {
        int n = snprintf(id, sizeof id, "usr_%d", i);
        (void)rates_take(&r, str_make(id, (size_t)n), RATE_CHAT, 5, 5);
    }
    assert_int_equal(map_len(&r.people), RATE_PEOPLE_MAX + 1);
    assert_true(rates_take(&r, STR("usr_new"), RATE_CHAT, 5, 5) > 0);
    rates_done(&r);
}
