#include "api/files/range.h"
#include "support/unit.h"

static void expect(const char *header, uint64_t size, enum range_result found, uint64_t from,
                   uint64_t to)
{
    uint64_t a, b;
    assert_int_equal(range_parse(str_from(header), size, &a, &b), found);
    if (found != RANGE_BEYOND) {
        assert_int_equal(a, from);
        assert_int_equal(b, to);
    }
}

TEST(one_range_of_bytes_is_understood)
{
    expect("bytes=0-0", 10, RANGE_PART, 0, 1);
    expect("bytes=2-", 10, RANGE_PART, 2, 10);
    expect("bytes=2-99", 10, RANGE_PART, 2, 10);
    expect("bytes=-3", 10, RANGE_PART, 7, 10);
    expect("bytes=-99", 10, RANGE_PART, 0, 10);
    expect("bytes=2-18446744073709551615", 10, RANGE_PART, 2, 10);
}

TEST(a_range_beyond_the_end_is_refused)
{
    expect("bytes=10-", 10, RANGE_BEYOND, 0, 0);
    expect("bytes=-0", 10, RANGE_BEYOND, 0, 0);
    expect("bytes=0-", 0, RANGE_BEYOND, 0, 0);
}

TEST(anything_else_means_the_whole)
{
    static const char *const OTHERS[] = {"",          "bytes=",    "bytes=-", "bytes=a-b",
                                         "lines=1-",  "bytes=3-2", "bytes=1", "bytes=0-1,3-4",
                                         "bytes=+1-", "bytes=1-+2"};
    for (size_t i = 0; i < ARRAY_LEN(OTHERS); i++)
        expect(OTHERS[i], 10, RANGE_WHOLE, 0, 10);
}
