/* The text of a message: the prompt, then each file between fences that it cannot close. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/term/input.h"
#include "os/file.h"
#include "support/unit.h"

static struct arena arena;
static char path[64];

static int make_file(void **state)
{
    arena_init(&arena);
    (void)snprintf(path, sizeof path, "/tmp/nb-input-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int drop_file(void **state)
{
    arena_done(&arena);
    return unlink(path);
}

static struct input_files files;

static int compose(const char *prompt, str content, str *ret, struct err *e)
{
    struct cli cli = {.is_tty_in = true, .chat = {.prompt = prompt}};
    assert_int_equal(file_write_atomic(path, content, 0600, NULL), 0);
    cli.chat.files = (struct arg_list){.items = {path}, .len = 1};
    return input_compose(&cli, &arena, ret, &files, e);
}

TEST_WITH(a_file_follows_the_prompt_under_its_name, make_file, drop_file)
{
    str got;
    assert_int_equal(compose("what is this?", STR("line\n"), &got, NULL), 0);
    str expected = arena_printf(&arena, "what is this?\n\nFile %s:\n```\nline\n```", path + 5);
    assert_true(str_eq(got, expected));
}

TEST_WITH(a_file_without_a_last_line_feed_gets_one, make_file, drop_file)
{
    str got;
    assert_int_equal(compose("x", STR("no end"), &got, NULL), 0);
    assert_true(str_ends(got, STR("\nno end\n```")));
}

TEST_WITH(the_fence_is_longer_than_any_in_the_file, make_file, drop_file)
{
    str got;
    assert_int_equal(compose("x", STR("````\ncode\n````\n"), &got, NULL), 0);
    assert_true(str_find(got, STR(":\n`````\n````\n"), 0) > 0);
    assert_true(str_ends(got, STR("\n`````")));
}

TEST_WITH(what_is_not_text_is_given_as_a_file, make_file, drop_file)
{
    str got;
    struct err e = {0};
    assert_int_equal(compose("x", STR("\xff\xfe"), &got, &e), 0);
    assert_true(str_eq(got, STR("x")));
    assert_int_equal(files.n, 1);
    assert_string_equal(files.paths[0], path);
    assert_int_equal(
        compose("x", STR("`````````````````````````````````````````````````"), &got, &e), -EINVAL);
}

TEST_WITH(a_line_that_is_too_long_stays_too_long, make_file, drop_file)
{
    struct buf line;
    size_t n = TURN_MESSAGE_MAX + 100u;
    char *bytes = arena_alloc(&arena, n);
    memset(bytes, 'a', n);
    bytes[n - 2] = '\n';
    bytes[n - 1] = 'b';
    FILE *in = fmemopen(bytes, n, "r");
    buf_init(&line, INPUT_LINE_MAX);
    assert_true(input_read_line(in, &line));
    assert_int_equal(line.n, INPUT_LINE_MAX); /* more than a message may have */
    assert_true(input_read_line(in, &line));
    assert_true(str_eq(buf_str(&line), STR("b"))); /* the last one has no line feed */
    assert_false(input_read_line(in, &line));
    fclose(in);
    buf_done(&line);
}
