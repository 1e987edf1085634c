#include "base/utf8.h"
#include "cli/screen/markdown.h"
#include "support/unit.h"

static const struct markdown_style PLAIN = {.width = 40};
static const struct markdown_style COLOR = {.width = 40, .has_color = true};

static const char *rendered(str text, const struct markdown_style *style)
{
    static struct buf b;
    buf_done(&b);
    buf_init(&b, MARKDOWN_OUTPUT_MAX);
    markdown_render(&b, text, style);
    return buf_cstr(&b);
}

#define SHOWS(in, out) assert_string_equal(rendered(STR(in), &PLAIN), out)

#define RULE "────────────────────────────────────────\n"

TEST(paragraphs)
{
    SHOWS("", "");
    SHOWS(" \n\n", "");
    SHOWS("one", "one\n");
    SHOWS("one\ntwo\n\n\nthree\n", "one two\n\nthree\n");
    SHOWS("hard  \nbreak", "hard\nbreak\n");
    SHOWS("a paragraph that is a little longer than one line of forty",
          "a paragraph that is a little longer than\none line of forty\n");
    SHOWS("Tom &amp; Jerry &#8594; &unknown; &#x41;", "Tom & Jerry → &unknown; A\n");
}

TEST(headings_and_emphasis)
{
    SHOWS("# Big\nText\n## Small", "# Big\n\nText\n\n## Small\n");
    SHOWS("**bold** *it* ~~no~~ `code`", "bold it no `code`\n");
    assert_string_equal(rendered(STR("# Big"), &COLOR), "\x1b[0;1;4mBig\x1b[0m\n");
    assert_string_equal(rendered(STR("a **b** *c* `d`"), &COLOR),
                        "a \x1b[0;1mb\x1b[0m \x1b[0;3mc\x1b[0m \x1b[0;36md\x1b[0m\n");
}

TEST(lists)
{
    SHOWS("- a\n- b\n  - c\n    1. d\n- e", "• a\n• b\n  ◦ c\n    1. d\n• e\n");
    SHOWS("9. a\n10. b", "9. a\n10. b\n");
    SHOWS("- a\n\n- b\n\n  more\n\nend", "• a\n\n• b\n\n  more\n\nend\n");
    SHOWS("- [ ] todo\n- [x] done", "☐ todo\n☑ done\n");
    SHOWS("- an item that needs more than one line to be shown",
          "• an item that needs more than one line\n  to be shown\n");
    SHOWS("-\n- x", "•\n• x\n");
}

TEST(code_is_never_wrapped)
{
    SHOWS("```c\nint x;\n\n    a_line_that_is_much_longer_than_forty_columns();\n```\nafter",
          "── c ───────────────────────────────────\n"
          "int x;\n\n    a_line_that_is_much_longer_than_forty_columns();\n" RULE "\nafter\n");
    SHOWS("```\nnot **bold**", RULE "not **bold**\n" RULE);
    SHOWS("- x\n  ```\n  y\n  ```\n", "• x\n  ──────────────────────────────────────\n  y\n"
                                      "  ──────────────────────────────────────\n");
    SHOWS("~~~\n```\n\nstill\n~~~", RULE "```\n\nstill\n" RULE);
}

TEST(quotes_and_rules)
{
    SHOWS("> a\n> b\n>\n> - c", "│ a b\n│\n│ • c\n");
    SHOWS("a\n\n---\n\nb", "a\n\n" RULE "\nb\n");
}

TEST(links)
{
    SHOWS("[nb](https://x.org/a)", "nb (https://x.org/a)\n");
    SHOWS("https://x.org/a", "https://x.org/a\n");
    SHOWS("![cat](c.png)", "cat (c.png)\n");
    SHOWS("[ref]: https://x.org", "[ref]: https://x.org\n"); /* never swallowed */
}

TEST(tables)
{
    SHOWS("| a | long head |\n|--:|:-:|\n| 1 | x |\n| 222 | 日本 |", "  a │ long head\n"
                                                                     "────┼──────────\n"
                                                                     "  1 │     x\n"
                                                                     "222 │   日本\n");
    SHOWS("|a|b|\n|---|---|\n|x|a cell with so many words that it has to be wrapped|",
          "a │ b\n"
          "──┼─────────────────────────────────────\n"
          "x │ a cell with so many words that it\n"
          "  │ has to be wrapped\n");
}

TEST(html_is_text)
{
    SHOWS("<b>x</b>\n\n<script>alert(1)</script>", "<b>x</b>\n\n<script>alert(1)</script>\n");
}

/* Nothing but printable characters, line feeds and our own colour sequences. */
static void assert_harmless(str out, bool has_color)
{
    assert_true(utf8_valid(out));
    for (size_t i = 0; i < out.n; i++) {
        unsigned char c = (unsigned char)out.p[i];
        if (c == 0x1b) {
            assert_true(has_color && out.p[++i] == '[');
            while (out.p[++i] != 'm')
                assert_true(strchr("0123456789;", out.p[i]) != NULL);
        } else {
            assert_true(c == '\n' || (c >= 0x20 && c != 0x7f));
            assert_false(c == 0xc2 && (unsigned char)out.p[i + 1] < 0xa0);
            assert_false(c == 0xe2 && (unsigned char)out.p[i + 1] == 0x80 &&
                         (unsigned char)out.p[i + 2] >= 0xaa &&
                         (unsigned char)out.p[i + 2] <= 0xae);
        }
    }
}

TEST(escape_sequences_cannot_be_smuggled)
{
    static const char *const HOSTILE[] = {
        "\x1b]0;title\x07 text",
        "```\x1b[2J\n\x1b[31mred\n```",
        "`\x1b[2J`",
        "# \x1b[2J",
        "&#27;[2J &#x1b;[2J &#155;2J &#x202e;x &#0; &#xd800; &#99999999999;",
        "[a\x1b[1m](http://x/\x1b[2J)",
        "[a](<http://x/&#27;[2J>)",
        "![\x1b](\x9b"
        "2J)",
        "| \x1b[2J |\n|---|\n| \xc2\x9b"
        "2J |",
        "- \x1b[2J\n\n> \x08\x08\r",
        "\xe2\x80\xae exe",
        "``` \x1b[2J\nx\n```",
    };
    for (size_t i = 0; i < ARRAY_LEN(HOSTILE); i++) {
        assert_harmless(str_from(rendered(str_from(HOSTILE[i]), &COLOR)), true);
        assert_harmless(str_from(rendered(str_from(HOSTILE[i]), &PLAIN)), false);
    }
    SHOWS("&#27;[2J", "␛[2J\n");
}

/* ---- streaming ---- */

static const char LONG_TEXT[] =
    "# Title\n\nA paragraph with **bold** and `code`,\nover two lines.\n\n"
    "1. one\n2. two\n\n   more of two\n\n3. three\n\n* another list\n\n"
    "```python\ndef f():\n\n    return '```'\n```\n\n> quoted\n> text\n\n"
    "| a | b |\n|---|---|\n| 1 | 日本語 |\n\n---\n\n- [x] done\n- deep\n  - deeper\n\n"
    "    indented 👍\n\nlast [link](http://x/) line";

/* The same text in pieces of `step` bytes. */
static void stream(str text, size_t step, const struct markdown_style *style, struct buf *out)
{
    struct markdown_stream m;
    struct buf peek;
    buf_init(&peek, MARKDOWN_OUTPUT_MAX);
    markdown_stream_init(&m);
    for (size_t i = 0; i < text.n; i += step) {
        markdown_stream_feed(&m, str_slice(text, i, i + step), style, out);
        markdown_stream_peek(&m, style, &peek);
        assert_harmless(buf_str(&peek), style->has_color);
        buf_clear(&peek);
    }
    markdown_stream_end(&m, style, out);
    assert_int_equal(m.pending.n, 0);
    markdown_stream_done(&m);
    buf_done(&peek);
}

TEST(pieces_do_not_matter)
{
    str text = str_from(LONG_TEXT);
    struct buf out;
    buf_init(&out, MARKDOWN_OUTPUT_MAX);
    for (size_t step = 1; step <= text.n; step++) {
        stream(text, step, &COLOR, &out);
        assert_string_equal(buf_cstr(&out), rendered(text, &COLOR));
        buf_clear(&out);
    }
    buf_done(&out);
}

TEST(finished_blocks_come_out_at_once)
{
    struct markdown_stream m;
    struct buf out;
    buf_init(&out, 4096);
    markdown_stream_init(&m);
    markdown_stream_feed(&m, STR("one\n\n"), &PLAIN, &out);
    assert_string_equal(buf_cstr(&out), "");
    markdown_stream_feed(&m, STR("two\n"), &PLAIN, &out);
    assert_string_equal(buf_cstr(&out), "one\n");
    buf_clear(&out);
    markdown_stream_peek(&m, &PLAIN, &out);
    assert_string_equal(buf_cstr(&out), "\ntwo\n");
    buf_clear(&out);
    markdown_stream_feed(&m, STR("\n```\na\n\nb\n"), &PLAIN, &out);
    assert_string_equal(buf_cstr(&out), "\ntwo\n");
    buf_clear(&out);
    markdown_stream_peek(&m, &PLAIN, &out);
    assert_string_equal(buf_cstr(&out), "\n" RULE "a\n\nb\n" RULE);
    markdown_stream_done(&m);
    buf_done(&out);
}

TEST(a_block_has_a_ceiling)
{
    struct buf text, out;
    buf_init(&text, 8 * MARKDOWN_BLOCK_MAX);
    buf_init(&out, MARKDOWN_OUTPUT_MAX);
    buf_add_lit(&text, "```c\n");
    while (text.n < 3 * MARKDOWN_BLOCK_MAX)
        buf_add_lit(&text, "int line_of_code;\n");
    while (text.n < 5 * MARKDOWN_BLOCK_MAX)
        buf_add_lit(&text, "one_endless_line ");
    stream(buf_str(&text), 4096, &PLAIN, &out);
    const char *whole = rendered(buf_str(&text), &PLAIN);
    assert_string_equal(buf_cstr(&out), whole);
    assert_non_null(strstr(whole, "int line_of_code;\n" RULE "\n── c ─"));
    buf_done(&text);
    buf_done(&out);
}

TEST(tables_do_not_explode)
{
    struct buf text;
    buf_init(&text, MARKDOWN_BLOCK_MAX);
    for (int i = 0; i < 7000; i++)
        buf_add_lit(&text, "|a");
    buf_add_char(&text, '\n');
    for (int i = 0; i < 7000; i++)
        buf_add_lit(&text, "|---");
    buf_add_char(&text, '\n');
    for (int i = 0; i < 7000; i++)
        buf_add_lit(&text, "|\n");
    const char *out = rendered(buf_str(&text), &PLAIN);
    assert_true(strlen(out) < 4 * text.n); /* shown as the text it is */
    buf_done(&text);
}

TEST(depth_has_a_ceiling)
{
    struct buf text;
    buf_init(&text, MARKDOWN_BLOCK_MAX);
    for (int i = 0; i < 500; i++)
        buf_add_lit(&text, "> ");
    buf_add_lit(&text, "deep\n\nflat");
    const char *out = rendered(buf_str(&text), &PLAIN);
    assert_non_null(strstr(out, "deep\n\nflat\n"));
    assert_true(strlen(out) < 400);
    buf_done(&text);
}

/* Random Markdown in random pieces: always harmless, always the same. */
TEST(random_text)
{
    static const char *const PARTS[] = {
        "\n",    "\n\n", "- ",          "1. ",  "```",  "`",     "**",       "*",
        "> ",    "| ",   "|---|---|\n", "# ",   "text", " ",     "  ",       "[a](b)",
        "\x1b[", "日",   "&#27;",       "\xff", "~~",   "---\n", "[x]: y\n", "\t",
        "\r\n",  "<b>",  "http://x ",   "    ", "\\",   "[ ] "};
    uint32_t seed = 12345;
    struct buf text, out;
    buf_init(&text, 1 << 20);
    buf_init(&out, MARKDOWN_OUTPUT_MAX);
    for (int round = 0; round < 300; round++) {
        buf_clear(&text);
        for (int i = 0; i < 60; i++) {
            seed = seed * 1664525 + 1013904223;
            buf_add_lit(&text, PARTS[(seed >> 16) % ARRAY_LEN(PARTS)]);
        }
        buf_clear(&out);
        stream(buf_str(&text), 1 + (seed >> 8) % 7, &COLOR, &out);
        assert_string_equal(buf_cstr(&out), rendered(buf_str(&text), &COLOR));
        assert_harmless(buf_str(&out), true);
    }
    buf_done(&text);
    buf_done(&out);
}
