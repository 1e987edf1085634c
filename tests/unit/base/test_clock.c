#include <errno.h>

#include "base/clock.h"
#include "support/unit.h"

static void check_iso(int64_t ms, const char *want)
{
    char out[CLOCK_ISO_LEN + 1];
    clock_iso(ms, out);
    assert_string_equal(out, want);
}

TEST(iso)
{
    check_iso(0, "1970-01-01T00:00:00.000Z");
    check_iso(1774434600123, "2026-03-25T10:30:00.123Z");
    check_iso(951782399999, "2000-02-28T23:59:59.999Z");
    check_iso(951782400000, "2000-02-29T00:00:00.000Z");
    check_iso(-1, "1969-12-31T23:59:59.999Z");
    check_iso(-1000, "1969-12-31T23:59:59.000Z");
    check_iso(INT64_MAX, "9999-12-31T23:59:59.999Z");
    check_iso(INT64_MIN, "0000-01-01T00:00:00.000Z");
}

static void check_parse(const char *text, int64_t want)
{
    int64_t got = 0;
    assert_int_equal(clock_parse_iso(str_from(text), &got), 0);
    assert_true(got == want);
}

TEST(parse)
{
    check_parse("1970-01-01", 0);
    check_parse("1970-01-01Z", 0);
    check_parse("2026-03-25T10:30", 1774434600000);
    check_parse("2026-03-25T10:30Z", 1774434600000);
    check_parse("2026-03-25T10:30:00.123Z", 1774434600123);
    check_parse("2026-03-25T10:30:00.123999999Z", 1774434600123);
    check_parse("2026-03-25T10:30:00.1Z", 1774434600100);
    check_parse("2026-03-25T12:30:00+02:00", 1774434600000);
    check_parse("2026-03-25T05:00:00-05:30", 1774434600000);
    check_parse("2000-02-29", 951782400000);
    check_parse("0000-01-01", INT64_C(-62167219200000));
    check_parse("9999-12-31T23:59:59.999Z", INT64_C(253402300799999));
}

TEST(parse_refuses)
{
    static const char *const bad[] = {
        "",
        "2026",
        "2026-3-25",
        "2026-03-25T",
        "2026-03-25T10",
        "2026-03-25 10:30",
        "2026-03-25t10:30",
        "2026-03-25T10:30z",
        "2026-03-25T24:00",
        "2026-03-25T10:60",
        "2026-03-25T10:30:60",
        "2026-03-25T10:30:00.",
        "2026-03-25T10:30:00.1234567890",
        "2026-03-25T10:30:00,5",
        "2026-03-25T10:30:00+0200",
        "2026-03-25T10:30:00+24:00",
        "2026-03-25T10:30:00Z ",
        " 2026-03-25",
        "2026-00-01",
        "2026-13-01",
        "2026-01-00",
        "2026-02-29",
        "1900-02-29",
        "2026-04-31",
        "-026-04-30",
        "+026-04-30",
        "12026-04-30",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t v = 7;
        assert_int_equal(clock_parse_iso(str_from(bad[i]), &v), -EINVAL);
        assert_int_equal(v, 7);
    }
}

TEST(round_trip)
{
    /* A prime step of about nine days visits every month and leap rule. */
    for (int64_t ms = INT64_C(-62167219200000); ms < INT64_C(253402300800000); ms += 777600001) {
        char out[CLOCK_ISO_LEN + 1];
        int64_t back = 0;
        clock_iso(ms, out);
        assert_int_equal(clock_parse_iso(str_from(out), &back), 0);
        assert_true(back == ms);
    }
}

TEST(clocks_move_forward)
{
    uint64_t us = clock_mono_us(), ms = clock_mono_ms();
    assert_true(ms >= us / 1000);
    assert_true(clock_mono_us() >= us);
    assert_true(clock_now_ms() > 1600000000000);
}
