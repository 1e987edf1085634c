#include <errno.h>

#include "base/utf8.h"
#include "support/unit.h"

static const char *const VALID[] = {
    "",
    "a",
    "\x7f",
    "\xc2\x80",
    "\xdf\xbf",
    "\xe0\xa0\x80",
    "\xed\x9f\xbf",
    "\xee\x80\x80",
    "\xef\xbf\xbf",
    "\xf0\x90\x80\x80",
    "\xf4\x8f\xbf\xbf",
    "Gr\xc3\xbc\xc3\x9f"
    "e \xf0\x9f\x98\x80",
};

static const char *const INVALID[] = {
    "\x80",
    "\xbf",
    "\xc0\x80",
    "\xc1\xbf",
    "\xc2",
    "\xc2\x41",
    "\xe0\x80\x80",
    "\xe0\x9f\xbf",
    "\xe1\x80",
    "\xed\xa0\x80",
    "\xed\xbf\xbf",
    "\xf0\x80\x80\x80",
    "\xf0\x8f\xbf\xbf",
    "\xf0\x90\x80",
    "\xf4\x90\x80\x80",
    "\xf5\x80\x80\x80",
    "\xff",
    "\xfe",
    "\xe1\x80\xc0",
    "\xf1\x80\x80\x7f",
};

/* Every case is tried at each distance from the start, to cross the wide ASCII steps. */
TEST(validity_at_every_offset)
{
    char text[64];
    memset(text, 'x', sizeof(text));
    for (size_t at = 0; at < 40; at++) {
        for (size_t i = 0; i < ARRAY_LEN(VALID); i++) {
            size_t n = strlen(VALID[i]);
            memcpy(text + at, VALID[i], n);
            assert_true(utf8_valid(str_make(text, at + n)));
            assert_true(utf8_valid(str_make(text, sizeof(text))));
            memset(text, 'x', sizeof(text));
        }
        for (size_t i = 0; i < ARRAY_LEN(INVALID); i++) {
            size_t n = strlen(INVALID[i]);
            memcpy(text + at, INVALID[i], n);
            assert_int_equal(utf8_valid_prefix(str_make(text, at + n)), at);
            assert_int_equal(utf8_valid_prefix(str_make(text, sizeof(text))), at);
            memset(text, 'x', sizeof(text));
        }
    }
    assert_true(utf8_valid(STR_NONE));
}

TEST(decode_inverts_encode)
{
    struct buf b;
    buf_init(&b, 8);
    for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
        if (cp >= 0xd800 && cp <= 0xdfff)
            continue;
        uint32_t back = UINT32_MAX;
        buf_clear(&b);
        assert_int_equal(utf8_encode(&b, cp), 0);
        assert_int_equal(utf8_decode(buf_str(&b), &back), b.n);
        assert_int_equal(back, cp);
    }
    buf_done(&b);
}

TEST(decode_refuses)
{
    uint32_t cp = 7;
    assert_int_equal(utf8_decode(STR_NONE, &cp), 0);
    for (size_t i = 0; i < ARRAY_LEN(INVALID); i++)
        assert_int_equal(utf8_decode(str_from(INVALID[i]), &cp), 0);
    assert_int_equal(cp, 7);
}

TEST(encode_replaces_what_is_no_character)
{
    struct buf b;
    buf_init(&b, 20);
    assert_int_equal(utf8_encode(&b, 0xd800), 0);
    assert_int_equal(utf8_encode(&b, 0x110000), 0);
    assert_string_equal(buf_cstr(&b), "\xef\xbf\xbd\xef\xbf\xbd");
    buf_done(&b);
}

TEST(truncate)
{
    str s = STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"); /* a ä € 😀 z: 1+2+3+4+1 bytes */
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t max = 0; max < ARRAY_LEN(want); max++)
        assert_int_equal(utf8_truncate(s, max).n, want[max]);
    assert_int_equal(utf8_truncate(STR_NONE, 5).n, 0);
    /* What is no character cannot be cut in half. */
    assert_int_equal(utf8_truncate(STR("\x80\x80\x80\x80\x80\x80"), 4).n, 4);
    assert_int_equal(utf8_truncate(STR("ab\xe2\x82"), 3).n, 3);
}

/* Every length, at every place in a word. */
TEST(count)
{
    static const char TEXT[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"; /* 5 characters */
    char text[8 + 10 * (sizeof(TEXT) - 1)];
    for (size_t before = 0; before <= 8; before++) {
        memset(text, '-', before);
        for (size_t n = 0; n < 10; n++) {
            size_t bytes = before + n * (sizeof(TEXT) - 1);
            assert_int_equal(utf8_count(str_make(text, bytes)), before + n * 5);
            memcpy(text + bytes, TEXT, sizeof(TEXT) - 1);
        }
    }
    assert_int_equal(utf8_count(STR_NONE), 0);
}

static void check_sanitise(str in, const char *want)
{
    struct buf b;
    buf_init(&b, 100);
    assert_int_equal(utf8_sanitise(&b, in), 0);
    assert_string_equal(buf_cstr(&b), want);
    buf_done(&b);
}

#define FFFD "\xef\xbf\xbd"

TEST(sanitise)
{
    check_sanitise(STR_NONE, "");
    check_sanitise(STR("plain \xc3\xa4"), "plain \xc3\xa4");
    check_sanitise(STR("a\xff"
                       "b"),
                   "a" FFFD "b");
    check_sanitise(STR("\xe2\x82"), FFFD); /* one truncated character, one mark */
    check_sanitise(STR("\xe2\x82x"), FFFD "x");
    check_sanitise(STR("\xc0\xaf"), FFFD FFFD); /* overlong: each byte is wrong by itself */
    check_sanitise(STR("\xed\xa0\x80"), FFFD FFFD FFFD);
    check_sanitise(STR("\xf0\x9f\x98"
                       "a"),
                   FFFD "a");
    struct buf b;
    buf_init(&b, 4);
    assert_int_equal(utf8_sanitise(&b, STR("ab\xff")), -ENOBUFS);
    buf_done(&b);
}
