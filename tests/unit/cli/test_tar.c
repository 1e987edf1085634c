#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/serve/tar.h"
#include "support/unit.h"

/* A file with these bytes, at its beginning. */
static int file_of(const void *bytes, size_t n)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void add(struct tar_writer *w, const char *name, const char *text)
{
    struct err e = {0};
    struct tar_file f = {name, 0600, 1774434600, strlen(text)};
    int fd = file_of(text, strlen(text));
    assert_int_equal(tar_add(w, &f, fd, &e), 0);
    close(fd);
}

struct archive {
    char *bytes;
    size_t n;
};

static struct archive archive_of(const char *name, const char *text)
{
    struct archive a = {0};
    struct err e = {0};
    struct tar_writer w = {.out = open_memstream(&a.bytes, &a.n)};
    add(&w, "first", "1");
    add(&w, name, text);
    assert_int_equal(tar_end(&w, &e), 0);
    fclose(w.out);
    assert_int_equal(w.files, 2);
    assert_int_equal(w.bytes, a.n);
    assert_int_equal(a.n % 512, 0);
    return a;
}

/* Reads to the end; returns the last code of tar_next or tar_read. */
static int read_all(const char *bytes, size_t n, struct tar_entry *last, char *text, size_t size)
{
    struct err e = {0};
    FILE *in = fmemopen((void *)bytes, n, "r");
    struct tar_reader r = {.in = in};
    struct tar_entry t;
    ssize_t code;
    while ((code = tar_next(&r, &t, &e)) > 0) {
        *last = t;
        ssize_t got = tar_read(&r, text, size - 1, &e);
        if (got < 0) {
            code = got;
            break;
        }
        text[got] = 0;
    }
    fclose(in);
    assert_true(code == 0 || e.msg[0] != 0);
    return (int)code;
}

TEST(round_trip)
{
    char deep[300], text[4096] = "", big[2000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    memset(deep, 'd', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    deep[50] = deep[150] = deep[250] = '/';
    const char *const NAMES[] = {"a", "dir/file.jsonl", deep};
    const char *const TEXTS[] = {"", "one line\n", big};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        struct archive a = archive_of(NAMES[i], TEXTS[i]);
        struct tar_entry t;
        assert_int_equal(read_all(a.bytes, a.n, &t, text, sizeof text), 0);
        assert_string_equal(t.name, NAMES[i]);
        assert_string_equal(text, TEXTS[i]);
        assert_int_equal(t.mode, 0600);
        assert_int_equal(t.mtime, 1774434600);
        free(a.bytes);
    }
}

/* A name of 98 characters, whose record has a length whose digits change with it. */
TEST(record_lengths)
{
    char name[200], text[16];
    for (size_t n = 80; n < 120; n++) {
        struct tar_entry t;
        memset(name, 'n', n);
        name[n] = 0;
        struct archive a = archive_of(name, "x");
        assert_int_equal(read_all(a.bytes, a.n, &t, text, sizeof text), 0);
        assert_string_equal(t.name, name);
        free(a.bytes);
    }
}

TEST(cut_anywhere)
{
    struct archive a = archive_of("second", "some text");
    struct tar_entry t;
    char text[64];
    for (size_t n = 1; n < a.n - 512; n += 37)
        assert_int_equal(read_all(a.bytes, n, &t, text, sizeof text), -EBADMSG);
    free(a.bytes);
}

TEST(flipped_header_bits)
{
    struct archive a = archive_of("second", "some text");
    struct tar_entry t;
    char text[64];
    for (size_t i = 0; i < 512; i++) {
        a.bytes[i] ^= 1;
        int r = read_all(a.bytes, a.n, &t, text, sizeof text);
        bool is_checksum = i >= 148 && i < 156; /* its blanks may differ */
        assert_true(r == -EBADMSG || is_checksum);
        a.bytes[i] ^= 1;
    }
    free(a.bytes);
}

TEST(names)
{
    static const char *const BAD[] = {"", "/a", "../a", "a/../b", "a//b", "./a", "a/.", ".."};
    static const char *const GOOD[] = {"a", "a/b", "..a", "a..", "a/...", ".a/b"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_false(tar_name_ok(str_from(BAD[i])));
    for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
        assert_true(tar_name_ok(str_from(GOOD[i])));
    char longest[TAR_NAME_MAX + 1];
    memset(longest, 'a', sizeof longest);
    assert_false(tar_name_ok(str_make(longest, TAR_NAME_MAX)));
    assert_true(tar_name_ok(str_make(longest, TAR_NAME_MAX - 1)));
    assert_false(tar_name_ok(str_make("a\0b", 3)));
}

TEST(shrunken_file)
{
    char *bytes = NULL;
    size_t n = 0;
    struct err e = {0};
    struct tar_writer w = {.out = open_memstream(&bytes, &n)};
    struct tar_file f = {"a", 0600, 0, 10};
    int fd = file_of("short", 5);
    assert_int_equal(tar_add(&w, &f, fd, &e), -EIO);
    close(fd);
    fclose(w.out);
    free(bytes);
}

TEST(a_hard_link_names_an_entry_before_it)
{
    struct archive a = {0};
    struct err e = {0};
    struct tar_entry last = {0};
    char text[16], deep[300];
    memset(deep, 'd', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    const char *targets[] = {"first", deep};
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        struct tar_writer w = {.out = open_memstream(&a.bytes, &a.n)};
        struct tar_file f = {"second", 0600, 1774434600, 0};
        add(&w, targets[i], "1");
        assert_int_equal(tar_add_link(&w, &f, targets[i], &e), 0);
        assert_int_equal(tar_end(&w, &e), 0);
        fclose(w.out);
        assert_int_equal(w.files, 2);
        assert_int_equal(read_all(a.bytes, a.n, &last, text, sizeof text), 0);
        assert_string_equal(last.name, "second");
        assert_string_equal(last.link, targets[i]);
        assert_int_equal(last.size, 0);
        free(a.bytes);
    }
}

TEST(a_link_out_of_the_archive_is_refused)
{
    static const char *const WRONG[] = {"../x", "/etc/passwd", ""};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        struct archive a = archive_of("second", "");
        struct tar_entry last = {0};
        char text[16];
        char *h = a.bytes + 2 * 512; /* of the second entry */
        h[156] = '1';
        memset(h + 157, 0, 100);
        memcpy(h + 157, WRONG[i], strlen(WRONG[i]));
        unsigned sum = 0;
        memset(h + 148, ' ', 8);
        for (size_t k = 0; k < 512; k++)
            sum += (unsigned char)h[k];
        snprintf(h + 148, 8, "%06o", sum);
        assert_int_equal(read_all(a.bytes, a.n, &last, text, sizeof text), -EBADMSG);
        free(a.bytes);
    }
}
