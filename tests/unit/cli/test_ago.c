#include "cli/term/text.h"
#include "support/unit.h"

#define SECOND 1000ll
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

TEST(words)
{
    static const int64_t NOW = 1774434600000; /* 2026-03-25T10:30:00Z */
    static const struct {
        int64_t before;
        const char *words;
    } CASES[] = {
        {-HOUR, "just now"},         {0, "just now"},
        {59 * SECOND, "just now"},   {MINUTE, "1 min ago"},
        {59 * MINUTE, "59 min ago"}, {HOUR, "1 h ago"},
        {23 * HOUR, "23 h ago"},     {DAY, "yesterday"},
        {2 * DAY, "2 days ago"},     {7 * DAY, "18 Mar"},
        {200 * DAY, "6 Sep 2025"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct buf b;
        buf_init(&b, 64);
        ago_add(&b, NOW - CASES[i].before, NOW);
        assert_string_equal(buf_cstr(&b), CASES[i].words);
        buf_done(&b);
    }
}
