/* Files in typed messages: which words name one, and what Tab makes of them. */
#include <sys/stat.h>

#include "cli/chat/mentions.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

static struct tempdir dir;
static struct arena arena;

static void put(const char *name, str bytes)
{
    assert_int_equal(
        file_write_atomic(arena_printf(&arena, "%s/%s", dir.path, name).p, bytes, 0600, NULL), 0);
}

static int begin(void **state)
{
    arena_init(&arena);
    int r = tempdir_make(&dir);
    put("a.txt", STR("text"));
    put("pic.png", STR("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"));
    put("my pic.png", STR("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"));
    put("paper.pdf", STR("%PDF-1.7"));
    put("empty", STR_NONE);
    return r < 0 ? r : mkdir(arena_printf(&arena, "%s/pictures", dir.path).p, 0700);
}

static int end(void **state)
{
    arena_done(&arena);
    return tempdir_drop(&dir);
}

/* The names that were found, joined by commas. DIR is the directory of the files. */
static const char *found(const char *written)
{
    struct mentions m;
    struct buf b;
    str text = str_from(written);
    ptrdiff_t at = str_find(text, STR("DIR"), 0);
    if (at >= 0)
        text = arena_printf(&arena, "%.*s%s%s", (int)at, written, dir.path, written + at + 3);
    mentions_find(&arena, text, dir.path, dir.path, &m);
    buf_init(&b, 4096);
    for (size_t i = 0; i < m.n; i++)
        buf_printf(&b, "%s%s", i > 0 ? "," : "", strrchr(m.paths[i], '/') + 1);
    return arena_cstr(&arena, buf_keep(&b, &arena));
}

TEST_WITH(an_at_sign_names_a_file, begin, end)
{
    assert_string_equal(found("look at @a.txt please"), "a.txt");
    assert_string_equal(found("@a.txt, @pic.png. (@paper.pdf)"), "a.txt,pic.png");
    assert_string_equal(found("@\"my pic.png\" and @my\\ pic.png"), "my pic.png");
    assert_string_equal(found("@~/a.txt"), "a.txt");
    assert_string_equal(found("@DIR/a.txt"), "a.txt");
    assert_string_equal(found("mail me@a.txt or @nobody, @empty @pictures @"), "");
    assert_string_equal(found("what's in @a.txt and what's not"), "a.txt");
}

TEST_WITH(a_pasted_path_of_a_picture_is_enough, begin, end)
{
    assert_string_equal(found("DIR/pic.png"), "pic.png");
    assert_string_equal(found("file://DIR/my%20pic.png what is it"), "my pic.png");
    assert_string_equal(found("'DIR/my pic.png' "), "my pic.png");
    assert_string_equal(found("~/paper.pdf ./pic.png"), "paper.pdf,pic.png");
    assert_string_equal(found("DIR/a.txt pic.png"), ""); /* a text is only talked about */
}

TEST_WITH(a_message_has_a_bounded_number, begin, end)
{
    struct buf b;
    struct mentions m;
    buf_init(&b, 65536);
    for (size_t i = 0; i < MENTIONS_MAX + 2; i++) {
        const char *name = arena_printf(&arena, "f%zu", i).p;
        put(name, STR("x"));
        buf_printf(&b, "@%s @%s ", name, name);
    }
    mentions_find(&arena, buf_str(&b), dir.path, NULL, &m);
    assert_int_equal(m.n, MENTIONS_MAX);
    assert_true(m.is_cut);
    buf_done(&b);
}

static const char *completed(const char *typed, bool is_one)
{
    struct buf common, all;
    buf_init(&common, 4096);
    buf_init(&all, 4096);
    str from = arena_printf(&arena, "%s/%s", dir.path, typed);
    assert_int_equal(mentions_complete(NULL, from, &common, &all), is_one);
    str got = buf_keep(&common, &arena);
    buf_done(&all);
    size_t skipped = strlen(dir.path) + 1;
    return got.n > 0 ? arena_cstr(&arena, str_skip(got, skipped)) : "";
}

TEST_WITH(tab_completes_a_path, begin, end)
{
    assert_string_equal(completed("a", true), "a.txt ");
    assert_string_equal(completed("p", false), "p");
    assert_string_equal(completed("pic", false), "pic");
    assert_string_equal(completed("pict", true), "pictures/");
    assert_string_equal(completed("my\\ p", true), "my\\ pic.png ");
    assert_string_equal(completed("zzz", false), "");
}

TEST(conversations_are_whole_words_and_listed_once)
{
    str ids[MENTIONS_CONVERSATIONS_MAX];
    struct buf b;
    assert_int_equal(
        mentions_conversations(STR("compare @conv_0123456789abcdef, (@conv_0123456789abcde0) and "
                                   "@conv_0123456789abcdef"),
                               ids),
        2);
    assert_true(str_eq(ids[1], STR("conv_0123456789abcde0")));
    assert_int_equal(
        mentions_conversations(STR("x@conv_0123456789abcdef @conv_ @conv_../../x"), ids), 0);
    assert_int_equal(mentions_conversations(STR_NONE, ids), 0);
    buf_init(&b, 65536);
    for (int i = 0; i < 20; i++)
        buf_printf(&b, "@conv_%016x ", i);
    assert_int_equal(mentions_conversations(buf_str(&b), ids), MENTIONS_CONVERSATIONS_MAX);
    buf_done(&b);
}
