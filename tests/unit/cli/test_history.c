#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/screen/history.h"
#include "support/unit.h"

struct fixture {
    char dir[64], path[96];
    struct history h;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/nb-history-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->path, sizeof f->path, "%s/history", f->dir);
    assert_int_equal(history_init(&f->h, f->path), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    history_done(&f->h);
    (void)unlink(f->path);
    assert_int_equal(rmdir(f->dir), 0);
    free(f);
    return 0;
}

static void reopen(struct fixture *f)
{
    history_done(&f->h);
    assert_int_equal(history_init(&f->h, f->path), 0);
}

static void write_file(const struct fixture *f, str text)
{
    int fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.p, text.n), text.n);
    close(fd);
}

TEST_WITH(survives_and_is_private, setup, teardown)
{
    struct fixture *f = *state;
    struct stat st;
    assert_int_equal(f->h.len, 0);
    assert_int_equal(history_add(&f->h, STR("one")), 0);
    assert_int_equal(history_add(&f->h, STR("two\nlines \\n \\")), 0);
    reopen(f);
    assert_int_equal(f->h.len, 2);
    assert_string_equal(f->h.entries[0], "one");
    assert_string_equal(f->h.entries[1], "two\nlines \\n \\");
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

TEST_WITH(repetitions_and_empty_lines_are_left_out, setup, teardown)
{
    struct fixture *f = *state;
    (void)history_add(&f->h, STR("a"));
    (void)history_add(&f->h, STR("a"));
    (void)history_add(&f->h, STR(""));
    (void)history_add(&f->h, STR("b"));
    (void)history_add(&f->h, STR("a"));
    assert_int_equal(f->h.len, 3);
}

TEST_WITH(has_a_ceiling_in_memory_and_on_disk, setup, teardown)
{
    struct fixture *f = *state;
    struct buf many;
    char name[32];
    for (int i = 0; i < HISTORY_MAX + 5; i++) {
        int n = snprintf(name, sizeof name, "entry %d", i);
        (void)history_add(&f->h, str_make(name, (size_t)n));
    }
    assert_int_equal(f->h.len, HISTORY_MAX);
    assert_string_equal(f->h.entries[0], "entry 5");
    assert_string_equal(f->h.entries[HISTORY_MAX - 1], "entry 1004");

    buf_init(&many, 1 << 20);
    for (int i = 0; i < 2 * HISTORY_MAX + 1; i++)
        buf_printf(&many, "line %d\n", i);
    write_file(f, buf_str(&many));
    reopen(f);
    assert_int_equal(f->h.len, HISTORY_MAX);
    struct stat st;
    assert_int_equal(stat(f->path, &st), 0);
    assert_true((size_t)st.st_size < many.n * 6 / 10); /* was rewritten */
    assert_int_equal(st.st_mode & 0777, 0600);
    reopen(f);
    assert_string_equal(f->h.entries[0], "line 1001");
    buf_done(&many);
}

TEST_WITH(a_damaged_file_is_read_as_far_as_possible, setup, teardown)
{
    struct fixture *f = *state;
    write_file(f, STR("good\n\xff\xfe bad\n\n\nalso good\\"));
    reopen(f);
    assert_int_equal(f->h.len, 2);
    assert_string_equal(f->h.entries[1], "also good\\");
}

TEST(without_a_file)
{
    struct history h;
    assert_int_equal(history_init(&h, NULL), 0);
    assert_int_equal(history_add(&h, STR("x")), 0);
    assert_int_equal(h.len, 1);
    history_done(&h);
    assert_int_equal(history_init(&h, "/nonexistent/history"), 0);
    assert_int_equal(history_add(&h, STR("x")), -2);
    assert_int_equal(h.len, 1);
    history_done(&h);
}

TEST_WITH(search, setup, teardown)
{
    struct fixture *f = *state;
    (void)history_add(&f->h, STR("git log"));
    (void)history_add(&f->h, STR("make"));
    (void)history_add(&f->h, STR("git diff"));
    assert_int_equal(history_search(&f->h, STR("git"), f->h.len), 2);
    assert_int_equal(history_search(&f->h, STR("git"), 2), 0);
    assert_int_equal(history_search(&f->h, STR("git"), 0), -1);
    assert_int_equal(history_search(&f->h, STR("none"), 99), -1);
}
