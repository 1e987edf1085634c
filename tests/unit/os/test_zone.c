#include <errno.h>

#include "os/file.h"
#include "os/zone.h"
#include "support/unit.h"

TEST(fixed)
{
    int32_t off;
    char abbr[ZONE_ABBR_MAX];
    assert_int_equal(zone_offset(STR("UTC"), 0, &off, abbr, NULL), 0);
    assert_int_equal(off, 0);
    assert_int_equal(zone_offset(STR_NONE, 0, &off, abbr, NULL), 0);
    assert_string_equal(abbr, "UTC");
    assert_int_equal(zone_offset(STR("+05:30"), 0, &off, abbr, NULL), 0);
    assert_int_equal(off, 19800);
    assert_int_equal(zone_offset(STR("-08:00"), 0, &off, abbr, NULL), 0);
    assert_int_equal(off, -28800);
}

TEST(named)
{
    int32_t off;
    char abbr[ZONE_ABBR_MAX];
    if (!file_exists("/usr/share/zoneinfo/Europe/Berlin"))
        skip(); /* no zone files on this machine */
    assert_int_equal(zone_offset(STR("Europe/Berlin"), 1768000000, &off, abbr, NULL),
                     0); /* January 2026 */
    assert_int_equal(off, 3600);
    assert_string_equal(abbr, "CET");
    assert_int_equal(zone_offset(STR("Europe/Berlin"), 1782000000, &off, abbr, NULL),
                     0); /* June 2026 */
    assert_int_equal(off, 7200);
    assert_string_equal(abbr, "CEST");
}

TEST(refused)
{
    static const char *const NAMES[] = {
        "Nowhere/Land", "../../etc/passwd", "/etc/passwd", "a.b", "+25:00",
        "+1:00",        "Europe",           "x\ny"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        int32_t off;
        char abbr[ZONE_ABBR_MAX];
        struct err e = {0};
        assert_int_equal(zone_offset(str_from(NAMES[i]), 0, &off, abbr, &e), -ENOENT);
        assert_true(e.msg[0] != 0);
    }
}
