#include "base/utf8.h"
#include "cli/screen/editor.h"
#include "cli/term/text.h"
#include "support/unit.h"

static const char *const WORDS[] = {"/help", "/new", "/next", NULL};

struct fixture {
    struct history h;
    struct editor e;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    (void)history_init(&f->h, NULL);
    (void)history_add(&f->h, STR("first"));
    (void)history_add(&f->h, STR("second one"));
    (void)history_add(&f->h, STR("third"));
    editor_init(&f->e, &f->h, WORDS);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    editor_done(&f->e);
    history_done(&f->h);
    free(f);
    return 0;
}

/* Feeds all bytes, one by one, and returns the last event. */
static enum editor_event keys(struct fixture *f, str bytes)
{
    enum editor_event event = EDITOR_NOTHING, last = EDITOR_NOTHING;
    for (size_t i = 0; i < bytes.n; i++) {
        assert_int_equal(editor_feed(&f->e, str_slice(bytes, i, i + 1), &event), 1);
        last = event != EDITOR_NOTHING ? event : last;
    }
    return last;
}

/* The text with '|' at the cursor. */
static const char *seen(struct fixture *f)
{
    static struct buf b;
    str text = buf_str(&f->e.text);
    buf_done(&b);
    buf_init(&b, 2 * EDITOR_TEXT_MAX);
    buf_add_str(&b, str_slice(text, 0, f->e.cursor));
    buf_add_char(&b, '|');
    buf_add_str(&b, str_skip(text, f->e.cursor));
    return buf_cstr(&b);
}

struct step {
    const char *keys, *seen;
};

static void check(void **state, const struct step *steps, size_t n)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < n; i++) {
        (void)keys(f, str_from(steps[i].keys));
        assert_string_equal(seen(f), steps[i].seen);
    }
}

#define CHECK(...)                                                                                 \
    static const struct step STEPS[] = {__VA_ARGS__};                                              \
    check(state, STEPS, ARRAY_LEN(STEPS))

TEST_WITH(moving, setup, teardown)
{
    CHECK({"one two", "one two|"}, {"\x01", "|one two"}, {"\x06", "o|ne two"}, {"\x05", "one two|"},
          {"\x02", "one tw|o"}, {"\x1b\x62", "one |two"}, {"\x1b\x62", "|one two"},
          {"\x1b\x66", "one| two"}, {"\x1b[1;5C", "one two|"}, {"\x1b[1;5D", "one |two"},
          {"\x1b[D", "one| two"}, {"\x1bOC", "one |two"}, {"\x1b[H", "|one two"},
          {"\x1b[F", "one two|"}, {"\x1b[1~", "|one two"}, {"\x1b[4~", "one two|"},
          {"\x1b[C", "one two|"});
}

TEST_WITH(erasing, setup, teardown)
{
    CHECK({"abcd", "abcd|"}, {"\x7f", "abc|"}, {"\x08", "ab|"}, {"\x01\x04", "|b"},
          {"\x1b[3~", "|"}, {"\x7f", "|"}, {"\x1b[3~", "|"});
}

TEST_WITH(killing_and_yanking, setup, teardown)
{
    CHECK({"one two-x three", "one two-x three|"}, {"\x17", "one two-x |"}, {"\x17", "one |"},
          {"\x19", "one two-x three|"}, {"\x1b\x7f", "one two-x |"}, {"\x15", "|"},
          {"\x19", "one two-x three|"}, {"\x01\x1b\x64", "| two-x three"}, {"\x06\x0b", " |"},
          {"\x19\x19", " two-x threetwo-x three|"});
}

TEST_WITH(characters_of_any_width, setup, teardown)
{
    CHECK({"日本e\xcc\x81x", "日本e\xcc\x81x|"}, {"\x02\x02", "日本|e\xcc\x81x"},
          {"\x7f", "日|e\xcc\x81x"}, {"\x04", "日|x"}, {"ü", "日ü|x"});
}

TEST_WITH(broken_bytes_never_enter_the_text, setup, teardown)
{
    struct fixture *f = *state;
    (void)keys(f, STR("a\xff\xe2\x82z\xc0\x80\xed\xa0\x80\x00q"));
    assert_true(utf8_valid(buf_str(&f->e.text)));
    assert_string_equal(seen(f), "azq|");
}

TEST_WITH(unknown_sequences_do_nothing, setup, teardown)
{
    CHECK({"a\x1b[99;99~b", "ab|"}, {"\x1b[1234567890123456789012345zc", "abc|"},
          {"\x1bOP", "abc|"}, {"\x1b\x1b[D", "ab|c"}, {"\x1bq", "ab|c"});
}

TEST_WITH(history, setup, teardown)
{
    CHECK({"dra", "dra|"}, {"\x1b[A", "third|"}, {"\x1b[A", "second one|"}, {"\x10", "first|"},
          {"\x1b[A", "first|"}, {"\x1b[B", "second one|"}, {"\x0e\x1b[B", "dra|"},
          {"\x1b[B", "dra|"});
}

TEST_WITH(searching, setup, teardown)
{
    CHECK({"mine", "mine|"}, {"\x12", "mine|"}, {"s", "|second one"}, {"t", "fir|st"},
          {"\x7f", "|second one"}, {"\x07", "mine|"}, {"\x12ir", "th|ird"}, {"\x12", "f|irst"},
          {"\x12", "f|irst"}, {"\x05", "first|"});
    struct fixture *f = *state;
    assert_false(f->e.is_searching);
    (void)keys(f, STR("\x15\x12one"));
    assert_true(f->e.is_searching);
    assert_int_equal(keys(f, STR("\r")), EDITOR_SUBMIT);
    assert_string_equal(buf_cstr(&f->e.text), "second one");
}

TEST_WITH(several_lines, setup, teardown)
{
    CHECK({"one\x1b\rtwo", "one\ntwo|"}, {"\\\r3", "one\ntwo\n3|"}, {"\x1b[A", "one\nt|wo\n3"},
          {"\x05\x1b[B", "one\ntwo\n3|"}, {"\x1b[A\x1b[A", "o|ne\ntwo\n3"}, {"\x0b", "o|\ntwo\n3"},
          {"\x0b", "o|two\n3"});
    struct fixture *f = *state;
    editor_clear(&f->e);
    assert_int_equal(keys(f, STR("a\\\\\r")), EDITOR_SUBMIT); /* an escaped backslash */
}

TEST_WITH(pasted_text_is_one_message, setup, teardown)
{
    struct fixture *f = *state;
    assert_int_equal(keys(f, STR("x\x1b[200~a\rb\r\nc\x03\x1b[31m\td\x1b[201~y")), EDITOR_NOTHING);
    assert_string_equal(seen(f), "xa\nb\nc\tdy|");
    assert_int_equal(keys(f, STR("\r")), EDITOR_SUBMIT);
}

TEST_WITH(events, setup, teardown)
{
    struct fixture *f = *state;
    enum editor_event event;
    assert_int_equal(editor_feed(&f->e, STR("ab\rcd"), &event), 3); /* the rest waits */
    assert_int_equal(event, EDITOR_SUBMIT);
    assert_string_equal(buf_cstr(&f->e.text), "ab");
    assert_int_equal(keys(f, STR("\x03")), EDITOR_NOTHING); /* clears first */
    assert_string_equal(seen(f), "|");
    assert_int_equal(keys(f, STR("\x03")), EDITOR_INTERRUPT);
    assert_int_equal(keys(f, STR("\x0c")), EDITOR_REFRESH);
    assert_int_equal(keys(f, STR("\x1a")), EDITOR_SUSPEND);
    assert_int_equal(keys(f, STR("x\x04\x7f")), EDITOR_NOTHING);
    assert_int_equal(keys(f, STR("\x04")), EDITOR_END);
}

TEST_WITH(escape_alone_is_forgotten, setup, teardown)
{
    struct fixture *f = *state;
    (void)keys(f, STR("ab\x1b"));
    assert_true(editor_is_waiting(&f->e));
    editor_idle(&f->e);
    (void)keys(f, STR("b"));
    assert_string_equal(seen(f), "abb|");
}

TEST_WITH(completion, setup, teardown)
{
    CHECK({"/h\t", "/help |"}, {"\x15/n\t", "/ne|"}, {"\t", "/ne|"}, {"x\t", "/next |"},
          {"\x15he\t", "he|"}, {"\x15/zz\t", "/zz|"});
    struct fixture *f = *state;
    (void)keys(f, STR("\x15/n\t"));
    assert_string_equal(buf_cstr(&f->e.hint), "/new  /next  ");
    (void)keys(f, STR("w"));
    assert_int_equal(f->e.hint.n, 0);
}

TEST_WITH(text_has_a_ceiling, setup, teardown)
{
    struct fixture *f = *state;
    struct buf big;
    enum editor_event event;
    buf_init(&big, EDITOR_TEXT_MAX + 100);
    while (big.n < EDITOR_TEXT_MAX + 10)
        buf_add_char(&big, 'x');
    assert_int_equal(editor_feed(&f->e, buf_str(&big), &event), big.n);
    assert_int_equal(f->e.text.n, EDITOR_TEXT_MAX);
    (void)keys(f, STR("\x7f"));
    assert_int_equal(f->e.text.n, EDITOR_TEXT_MAX - 1);
    buf_done(&big);
}

static const char *drawn(struct fixture *f, size_t width, size_t *row, size_t *col)
{
    static struct buf b;
    buf_done(&b);
    buf_init(&b, 65536);
    editor_draw(&f->e, width, false, &b, row, col);
    return buf_cstr(&b);
}

TEST_WITH(drawing, setup, teardown)
{
    struct fixture *f = *state;
    size_t row, col;
    assert_string_equal(drawn(f, 10, &row, &col), "❯ ");
    assert_true(row == 0 && col == 2);
    (void)keys(f, STR("abcdefgh"));
    assert_string_equal(drawn(f, 10, &row, &col), "❯ abcdefgh");
    assert_true(row == 0 && col == 10);
    (void)keys(f, STR("日本\x1b\rx\x02"));
    assert_string_equal(drawn(f, 10, &row, &col), "❯ abcdefgh\n  日本\n  x");
    assert_true(row == 2 && col == 2);
    (void)keys(f, STR("\x12"));
    assert_string_equal(drawn(f, 10, &row, &col), "❯ abcdefgh\n  日本\n  x\n  search: ");
    assert_true(row == 2 && col == 2);
}

TEST_WITH(hostile_text_is_drawn_safely, setup, teardown)
{
    struct fixture *f = *state;
    size_t row, col;
    (void)history_add(&f->h, STR("a\x1b[2Jb\xe2\x80\xae"));
    editor_clear(&f->e);
    (void)keys(f, STR("\x10"));
    assert_string_equal(drawn(f, 40, &row, &col), "❯ a[2Jb\xef\xbf\xbd");
    assert_int_equal(col, 8);
}

TEST_WITH(control_x_control_e_asks_for_another_editor, setup, teardown)
{
    struct fixture *f = *state;
    assert_int_equal(keys(f, STR("text\x18\x05")), EDITOR_EXTERNAL);
    assert_string_equal(seen(f), "text|");
    assert_int_equal(keys(f, STR("\x18x\x05")), EDITOR_NOTHING); /* not in a row */
    assert_string_equal(seen(f), "textx|");
    assert_int_equal(keys(f, STR("\x18\x01y")), EDITOR_NOTHING); /* has no meaning */
    assert_string_equal(seen(f), "textxy|");
}

TEST_WITH(tab_behind_conv_asks_for_a_choice, setup, teardown)
{
    struct fixture *f = *state;
    assert_int_equal(keys(f, STR("see @conv\t")), EDITOR_NOTHING); /* nobody handles it */
    f->e.can_choose = true;
    assert_int_equal(keys(f, STR("\t")), EDITOR_CHOOSE);
    editor_mention(&f->e, STR("conv_0123456789abcdef"));
    assert_string_equal(seen(f), "see @conv_0123456789abcdef |");
    (void)keys(f, STR("@con\t"));
    assert_string_equal(seen(f), "see @conv_0123456789abcdef @con|");
}

TEST_WITH(many_candidates_take_several_rows, setup, teardown)
{
    struct fixture *f = *state;
    struct buf out;
    size_t row, col;
    buf_init(&out, 65536);
    editor_hint(&f->e, STR("/alpha  /beta  /gamma  /delta  a hint of several words  "));
    editor_draw(&f->e, 20, false, &out, &row, &col);
    assert_string_equal(buf_cstr(&out), "❯ \n"
                                        "  /alpha  /beta\n"
                                        "  /gamma  /delta\n"
                                        "  a hint of several…");
    buf_done(&out);
}
