#include "base/buf.h"
#include "media/pdf_output.h"
#include "support/unit.h"

static int set_up(void **state)
{
    static struct arena a;
    arena_init(&a);
    *state = &a;
    return 0;
}

static int tear_down(void **state)
{
    arena_done(*state);
    return 0;
}

TEST_WITH(pages_have_the_size_in_which_they_are_seen, set_up, tear_down)
{
    struct media_pages p;
    assert_true(pdf_output_pages(*state,
                                 STR("Title:           Page 1\n"
                                     "Pages:           3\n"
                                     "Page    1 size:  612 x 792 pts (letter)\n"
                                     "Page    1 rot:   0\n"
                                     "Page    2 size:  300 x 200.5 pts\n"
                                     "Page    2 rot:   90\n"
                                     "Page    3 size:  1.0368e+06 x 0.5 pts\n"
                                     "Page    3 rot:   270\n"
                                     "File size:       0 bytes\n"),
                                 &p));
    assert_int_equal(p.count, 3);
    assert_int_equal(p.n, 3);
    assert_true(p.sizes[0].width == 612 && p.sizes[0].height == 792);
    assert_true(p.sizes[1].width == 200.5 && p.sizes[1].height == 300);
    assert_true(p.sizes[2].width == 1 && p.sizes[2].height == 1e6);
}

TEST_WITH(a_pdf_that_lies_about_its_pages_gets_no_more_than_the_limit, set_up, tear_down)
{
    struct arena *a = *state;
    struct media_pages p;
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_add_lit(&b, "Pages: 100000\nPage 2 size: 1 x 1 pts\nPage 0 rot: 90\n");
    for (int i = 1; i <= 2000; i++)
        buf_printf(&b, "Page %4d size: 10 x 20 pts\nPage %4d rot: 0\n", i, i);
    assert_true(pdf_output_pages(a, buf_keep(&b, a), &p));
    assert_int_equal(p.count, 100000);
    assert_int_equal(p.n, MEDIA_PAGES_MAX);
    assert_true(p.sizes[0].width == 10);
    assert_true(pdf_output_pages(a, STR("Pages: 1\nPage 1 size: 1 x 1\nPage 2 size: 1 x 1\n"), &p));
    assert_int_equal(p.n, 1);
}

TEST_WITH(output_without_pages_is_refused, set_up, tear_down)
{
    static const str BAD[] = {
        STR_INIT(""),
        STR_INIT("Pages: 3\n"),
        STR_INIT("Page 1 size: 1 x 1 pts\n"),
        STR_INIT("Pages: -1\nPage 1 size: 1 x 1 pts\n"),
        STR_INIT("Pages: 99999999999999\nPage 1 size: 1 x 1 pts\n"),
        STR_INIT("Pages: 1\nPage 1 size: nan x 1 pts\n"),
        STR_INIT("Pages: 1\nPage 1 size: 1\n"),
    };
    struct media_pages p;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_false(pdf_output_pages(*state, BAD[i], &p));
}

#define WORD(x, text)                                                                              \
    "  <word xMin=\"" x "\" yMin=\"2\" xMax=\"30\" yMax=\"12.5\">" text "</word>\n"

TEST_WITH(words_have_places, set_up, tear_down)
{
    struct media_words w;
    pdf_output_words(*state,
                     STR("<doc>\n<page width=\"612\" height=\"792\">\n" WORD("1.5", "Tom&amp;Jerry")
                             WORD("2", "&lt;b&gt;&quot;&apos;&nbsp;") "</page>\n"),
                     &w);
    assert_int_equal(w.n, 2);
    assert_true(str_eq(w.words[0].text, STR("Tom&Jerry")));
    assert_true(w.words[0].x == 1.5 && w.words[0].y == 2 && w.words[0].x_end == 30 &&
                w.words[0].y_end == 12.5);
    assert_true(str_eq(w.words[1].text, STR("<b>\"'&nbsp;")));
}

TEST_WITH(words_without_form_are_left_out, set_up, tear_down)
{
    struct media_words w;
    pdf_output_words(*state,
                     STR(WORD("31", "behind its end") WORD("x", "no number") WORD("1e9", "far")
                             WORD("1", "") WORD("1", "\xff\xfe") WORD(
                                 "1", "good\x01\x1b[31m") "<word xMin=\"1\">short</word>\n<word "
                                                          ">\n<word </word>\n<wo"),
                     &w);
    assert_int_equal(w.n, 1);
    assert_true(str_eq(w.words[0].text, STR("good[31m")));
}

TEST_WITH(words_of_a_page_have_a_limit, set_up, tear_down)
{
    struct arena *a = *state;
    struct media_words w;
    struct buf b;
    buf_init(&b, 4 << 20);
    for (unsigned i = 0; i < MEDIA_WORDS_MAX + 5; i++)
        buf_add_lit(&b, WORD("1", "a"));
    pdf_output_words(a, buf_keep(&b, a), &w);
    assert_int_equal(w.n, MEDIA_WORDS_MAX);
}
