#include <errno.h>

#include "base/text/plain.h"
#include "support/unit.h"

#define RLO "\xe2\x80\xae"     /* U+202E */
#define LRI "\xe2\x81\xa6"     /* U+2066 */
#define ALM "\xd8\x9c"         /* U+061C */
#define CSI "\xc2\x9b"         /* U+009B */
#define TAG "\xf3\xa0\x81\x81" /* U+E0041 */

static struct arena arena;

static void check(str got, const char *want)
{
    assert_string_equal(arena_cstr(&arena, got), want);
}

TEST(text_keeps_lines_and_tabs_alone)
{
    check(plain_text(&arena, STR("a\nb\tc\r\nd")), "a\nb\tc\r\nd");
    check(plain_text(&arena, STR("\x1b]0;title\x07\x1b[31mred\rx")), "]0;title[31mredx");
    check(plain_text(&arena, STR("a" CSI "31m" RLO "b" LRI ALM TAG "c\x7f")), "a31mbc");
    check(plain_text(&arena, STR("\xff-\xe2\x80")), "\xef\xbf\xbd-\xef\xbf\xbd\xef\xbf\xbd");
    check(plain_text(&arena, STR("Gr\xc3\xbc\xc3\x9f"
                                 "e \xe2\x80\x93 \xf0\x9f\x98\x80")),
          "Gr\xc3\xbc\xc3\x9f"
          "e \xe2\x80\x93 \xf0\x9f\x98\x80");
    assert_true(plain_is_text(STR("a\n\tb\xe2\x80\x93")));
    assert_false(plain_is_text(STR("a" RLO)));
    assert_false(plain_is_text(STR("a\r")));
}

/* Text is looked at in words: a byte is found in each place of one. */
TEST(every_byte_in_every_place)
{
    char text[24];
    for (size_t at = 0; at < sizeof text; at++) {
        for (int c = 0; c < 256; c++) {
            memset(text, 'x', sizeof text);
            text[at] = (char)c;
            bool is_plain = (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
            assert_int_equal(plain_is_text(str_make(text, sizeof text)), is_plain);
            assert_int_equal(plain_is_line(str_make(text, sizeof text)), c >= 0x20 && c < 0x7f);
        }
    }
}

TEST(line_has_no_hidden_character)
{
    check(plain_line(&arena, STR("  a\n\tb" RLO "c  d\x1b ")), "a b c d");
    check(plain_line(&arena, STR(RLO)), "");
    assert_false(plain_is_line(STR("a\nb")));
    assert_false(plain_is_line(STR("a" CSI)));
    assert_true(plain_is_line(STR("J\xc3\xbcrgen \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d")));
}

TEST(json_keeps_its_value)
{
    check(plain_json(&arena, STR("{\"a\":\"" RLO CSI ALM "\x7f\"}")),
          "{\"a\":\"\\u202e\\u009b\\u061c\\u007f\"}");
    check(plain_json(&arena, STR("\"" TAG "\"")), "\"\\udb40\\udc41\"");
    str same = STR("{\"a\":\"\xe2\x80\x93 \xc3\xa4\"}");
    assert_ptr_equal(plain_json(&arena, same).p, same.p);
    assert_true(plain_json_is_clean(same));
}

/* Every code point: what is called hidden never comes out, and everything else stays. */
TEST(every_character)
{
    size_t hidden = 0;
    for (uint32_t cp = 0; cp < 0x110000; cp++) {
        if (plain_is_hidden(cp))
            hidden++;
    }
    assert_int_equal(hidden, 32 + 33 + 1 + 2 + 7 + 4 + 128);
}

TEST(errors_show_no_paths)
{
    static const struct {
        const char *given, *shown; /* NULL = the same */
    } CASES[] = {
        {"cannot open /srv/nb/conversations/conv_1.jsonl: no space left on device",
         "cannot open " PLAIN_PATH ": no space left on device"},
        {"/data is full", PLAIN_PATH " is full"},
        {"cannot rename /a/b to /c/d.", "cannot rename " PLAIN_PATH " to " PLAIN_PATH "."},
        {"\"/home/some body/x y.json\" is missing", "\"" PLAIN_PATH "\" is missing"},
        {"cannot read /home/some body/x.json: gone", "cannot read " PLAIN_PATH ": gone"},
        {"(see /etc/nb, or /home/ann/.nb)", "(see " PLAIN_PATH ", or " PLAIN_PATH ")"},
        {"path=/tmp/x", "path=" PLAIN_PATH},
        {"/v1/chat takes POST; /mcp as well; so does /.well-known/x", NULL},
        {"cannot reach https://example.com/a/b: refused", NULL},
        {"text/plain and/or 1 / 2, 1 /2", NULL},
        {"no such conversation", NULL},
        {"/", NULL},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        str got = plain_without_paths(&a, str_from(CASES[i].given));
        const char *want = CASES[i].shown ? CASES[i].shown : CASES[i].given;
        assert_string_equal(arena_printf(&a, "%.*s", STR_ARG(got)).p, want);
    }
    struct err e;
    err_set(&e, -EIO, "cannot sync /srv/nb/x: input/output error");
    plain_err(&e);
    assert_string_equal(e.msg, "cannot sync " PLAIN_PATH ": input/output error");
    assert_int_equal(e.code, -EIO);
    arena_done(&a);
}

int main(void)
{
    arena_init(&arena);
    int r = run_unit_tests("tests", NULL);
    arena_done(&arena);
    return r;
}
