#include <sys/mman.h>
#include <unistd.h>

#include "store/event/lines.h"
#include "support/unit.h"

static int file_of(str content)
{
    int fd = memfd_create("lines", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content.p, content.n), content.n);
    return fd;
}

/* Lines joined by '|'. */
static const char *forwards(struct arena *a, int fd, off_t from, off_t limit)
{
    struct lines l;
    struct line line;
    str all = STR_NONE;
    off_t at = from;
    lines_init(&l, fd, from, limit);
    while (lines_next(&l, &line) > 0) {
        assert_int_equal(line.start, at);
        assert_int_equal(line.end, at + (off_t)line.text.n + 1);
        at = line.end;
        all = arena_printf(a, "%.*s%.*s|", STR_ARG(all), STR_ARG(line.text));
    }
    lines_done(&l);
    return all.p ? all.p : "";
}

TEST(forwards)
{
    struct arena a;
    arena_init(&a);
    static const struct {
        const char *content, *lines;
    } cases[] = {
        {"", ""}, {"a", ""}, {"a\n", "a|"}, {"\n\n", "||"}, {"a\nbb\nccc", "a|bb|"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str content = str_from(cases[i].content);
        int fd = file_of(content);
        assert_string_equal(forwards(&a, fd, 0, (off_t)content.n), cases[i].lines);
        close(fd);
    }
    int fd = file_of(STR("a\nbb\nccc\n"));
    assert_string_equal(forwards(&a, fd, 2, 9), "bb|ccc|");
    assert_string_equal(forwards(&a, fd, 2, 6), "bb|");        /* nothing from the limit on */
    assert_string_equal(forwards(&a, fd, 0, 99), "a|bb|ccc|"); /* shorter than was thought */
    close(fd);
    arena_done(&a);
}

/* Lines of all lengths around the size of one read. */
TEST(long_lines)
{
    struct buf b;
    buf_init(&b, 1u << 26);
    size_t lengths[] = {0, 1, 65535, 262143, 262144, 262145, 700000, 3, 0};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        for (size_t k = 0; k < lengths[i]; k++)
            buf_add_char(&b, (char)('a' + i));
        buf_add_char(&b, '\n');
    }
    int fd = file_of(buf_str(&b));
    struct lines l;
    struct line line;
    lines_init(&l, fd, 0, (off_t)b.n);
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        assert_int_equal(lines_next(&l, &line), 1);
        assert_int_equal(line.text.n, lengths[i]);
        for (size_t k = 0; k < line.text.n; k++)
            assert_int_equal(line.text.p[k], 'a' + i);
    }
    assert_int_equal(lines_next(&l, &line), 0);
    lines_done(&l);
    buf_done(&b);
    close(fd);
}

/* Both directions find the same lines, whatever the pieces are that are read. */
static void assert_backwards(int fd, off_t end)
{
    struct lines l;
    struct lines_back b;
    struct line line, back;
    struct line *all = NULL;
    size_t n = 0, cap = 0;
    lines_init(&l, fd, 0, end);
    while (lines_next(&l, &line) > 0) {
        GROW(all, n, cap);
        all[n++] = (struct line){line.start, line.end, str_make(NULL, line.text.n)};
    }
    lines_done(&l);
    lines_back_init(&b, fd, end);
    while (n > 0) {
        assert_int_equal(lines_back_next(&b, &back), 1);
        n--;
        assert_int_equal(back.start, all[n].start);
        assert_int_equal(back.end, all[n].end);
        assert_int_equal(back.text.n, all[n].text.n);
        char *read = xcalloc(1, back.text.n + 1);
        assert_int_equal(pread(fd, read, back.text.n, back.start), back.text.n);
        assert_memory_equal(read, back.text.p, back.text.n);
        free(read);
    }
    assert_int_equal(lines_back_next(&b, &back), 0);
    lines_back_done(&b);
    free(all);
}

TEST(backwards)
{
    static const size_t LENGTHS[] = {0,      1,      65534,  65535,   65536, 131071,
                                     262143, 262144, 262145, 1500000, 3,     0};
    struct buf b;
    buf_init(&b, 1u << 26);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < ARRAY_LEN(LENGTHS); i++) {
            for (size_t k = 0; k < LENGTHS[(i * 7 + (size_t)round) % ARRAY_LEN(LENGTHS)]; k++)
                buf_add_char(&b, (char)('a' + (i + k) % 26));
            buf_add_char(&b, '\n');
        }
    for (int i = 0; i < 50000; i++)
        buf_printf(&b, "line %d\n", i);
    int fd = file_of(buf_str(&b));
    assert_backwards(fd, (off_t)b.n);
    assert_backwards(fd, 1);
    assert_backwards(fd, 0);
    buf_done(&b);
    close(fd);
}

TEST(backwards_over_a_line_that_is_too_long)
{
    static const size_t AROUND[] = {LINES_MAX_BYTES - 1, LINES_MAX_BYTES, LINES_MAX_BYTES + 1,
                                    LINES_MAX_BYTES + 5000000};
    for (size_t i = 0; i < ARRAY_LEN(AROUND); i++) {
        char *p = xcalloc(1, AROUND[i] + 9);
        memset(p, 'x', AROUND[i] + 9);
        memcpy(p, "one\n", 4);
        memcpy(p + 4 + AROUND[i], "\ntwo\n", 5);
        int fd = file_of(str_make(p, AROUND[i] + 9));
        assert_backwards(fd, (off_t)AROUND[i] + 9);
        close(fd);
        free(p);
    }
}

TEST(positions)
{
    int fd = file_of(STR("ab\nc\nd"));
    static const int boundary[] = {1, 0, 0, 1, 0, 1, 0};
    for (off_t i = 0; i < (off_t)ARRAY_LEN(boundary); i++)
        assert_int_equal(lines_is_boundary(fd, i), boundary[i]);
    assert_true(lines_is_boundary(fd, 99) < 0);
    off_t start;
    assert_int_equal(lines_last_start(fd, 6, &start), 0);
    assert_int_equal(start, 5);
    assert_int_equal(lines_last_start(fd, 2, &start), 0);
    assert_int_equal(start, 0);
    close(fd);
}

TEST(unended)
{
    struct arena a;
    str text;
    arena_init(&a);
    int fd = file_of(STR("x\n{\"a\":1}"));
    assert_int_equal(lines_unended(&a, fd, 2, 9, &text), 1);
    assert_true(str_eq(text, STR("{\"a\":1}")));
    assert_int_equal(lines_unended(&a, fd, 2, 8, &text), 0);
    assert_int_equal(lines_unended(&a, fd, 9, 9, &text), 0);
    close(fd);
    arena_done(&a);
}
