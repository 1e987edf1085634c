#include "attach/file_name.h"
#include "support/unit.h"

static void expect_clean(str given, const char *wanted)
{
    struct arena a;
    arena_init(&a);
    assert_string_equal(arena_cstr(&a, file_name_clean(&a, given)), wanted);
    arena_done(&a);
}

TEST(a_name_has_no_path_and_nothing_that_cannot_be_seen)
{
    expect_clean(STR("report.pdf"), "report.pdf");
    expect_clean(STR("../../etc/passwd"), "passwd");
    expect_clean(STR("C:\\Users\\x\\a.txt"), "a.txt");
    expect_clean(STR("a\r\nb\x1b[31m\0.txt"), "ab[31m.txt");
    expect_clean(STR("exe\xe2\x80\xaetxt.png"), "exetxt.png"); /* U+202E turns the text around */
    expect_clean(STR(".."), "file");
    expect_clean(STR(" . "), "file");
    expect_clean(STR(""), "file");
    expect_clean(STR("\xff.png"), "\xef\xbf\xbd.png");
}

TEST(a_name_has_a_ceiling)
{
    struct arena a;
    char text[1000];
    arena_init(&a);
    memset(text, 'a', sizeof text);
    memcpy(text + FILE_NAME_MAX - 1, "\xc3\xa9", 2);
    assert_int_equal(file_name_clean(&a, str_make(text, sizeof text)).n, FILE_NAME_MAX - 1);
    arena_done(&a);
}

TEST(a_header_has_the_name_encoded)
{
    struct arena a;
    arena_init(&a);
    assert_true(str_eq(file_name_decode(&a, STR("caf%C3%A9%20x")), STR("caf\xc3\xa9 x")));
    assert_true(str_eq(file_name_decode(&a, STR("100%")), STR("100%")));
    assert_true(str_eq(file_name_disposition(&a, STR("caf\xc3\xa9 \"x\".png")),
                       STR("attachment; filename=\"caf__ _x_.png\"; "
                           "filename*=UTF-8''caf%C3%A9%20%22x%22.png")));
    arena_done(&a);
}
