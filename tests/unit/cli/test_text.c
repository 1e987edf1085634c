#include "cli/term/text.h"
#include "support/unit.h"

static const char *safe(void (*add)(struct buf *, str), str in)
{
    static struct buf b;
    buf_done(&b);
    buf_init(&b, 4096);
    add(&b, in);
    return buf_cstr(&b);
}

TEST(no_control_character_survives)
{
    assert_string_equal(safe(text_add, STR("\x1b[2Jx\x07\x7f")), "␛[2Jx␇␡");
    assert_string_equal(safe(text_add, STR("a\xc2\x9b"
                                           "31m")),
                        "a\xef\xbf\xbd"
                        "31m"); /* C1: a one-character CSI */
    for (int c = 1; c < 0x20; c++) {
        char one[2] = {(char)c, 0};
        const char *out = safe(text_add, str_make(one, 1));
        if (c != '\n')
            assert_true((unsigned char)out[0] >= 0x20);
    }
    assert_string_equal(safe(text_add, STR("a\0b")), "a␀b");
}

TEST(reordering_is_shown)
{
    assert_string_equal(safe(text_add, STR("exe.\xe2\x80\xaegpj")), "exe.\xef\xbf\xbdgpj");
    assert_string_equal(safe(text_add, STR("\xe2\x81\xa6x")), "\xef\xbf\xbdx");
    assert_string_equal(safe(text_add, STR("שלום")), "שלום");
}

TEST(invalid_utf8_is_replaced)
{
    assert_string_equal(safe(text_add, STR("a\xff\xe2\x82")),
                        "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(line_ends_and_tabs)
{
    assert_string_equal(safe(text_add, STR("a\r\nb\n\tc\rd")), "a\nb\n    c␍d");
    assert_string_equal(safe(text_add_line, STR("  a\n\n b\t\tc  ")), "a b c");
    assert_string_equal(safe(text_add_line, STR("x\x1b[1m")), "x␛[1m");
}

TEST(width)
{
    assert_int_equal(text_width(STR("abc")), 3);
    assert_int_equal(text_width(STR("日本")), 4);
    assert_int_equal(text_width(STR("e\xcc\x81")), 1);
    assert_int_equal(text_width(STR("\x1b[1;36mab\x1b[0m")), 2);
}

static const char *clipped(str s, size_t width)
{
    static struct buf b;
    buf_done(&b);
    buf_init(&b, 4096);
    text_clip(&b, s, width);
    return buf_cstr(&b);
}

TEST(clip)
{
    assert_string_equal(clipped(STR("abc"), 3), "abc");
    assert_string_equal(clipped(STR("abcd"), 3), "ab…");
    assert_string_equal(clipped(STR("日本語"), 4), "日…");
    assert_string_equal(clipped(STR("\x1b[1mabcd\x1b[0m"), 3), "\x1b[1mab…\x1b[0m");
    assert_string_equal(clipped(STR("abc"), 0), "");
}
