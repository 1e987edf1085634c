#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "bundle/package/archive.h"
#include "os/file.h"
#include "store/event/io.h"
#include "support/unit.h"
#include "unit/bundle/zip_writer.h"

static struct arena arena;
static char dir[64];
static const char *archive, *dest;

#define REG    0100000u
#define FOLDER 0040000u
#define LNK    0120000u
#define PIP    0010000u

static int unpack_bytes(str bytes, struct err *e)
{
    *e = (struct err){0};
    assert_int_equal(file_write_atomic(archive, bytes, 0600, e), 0);
    return archive_unpack(archive, dest, e);
}

static int unpack(const struct zip_test_entry *all, size_t n, struct err *e)
{
    struct buf b;
    buf_init(&b, 64u << 20);
    zip_write(&b, all, n);
    int r = unpack_bytes(buf_str(&b), e);
    buf_done(&b);
    return r;
}

static size_t count_files(void)
{
    size_t n = 0;
    struct dirent *d;
    DIR *s = opendir(dir);
    while ((d = readdir(s)) != NULL)
        n += d->d_name[0] != '.';
    closedir(s);
    return n;
}

/* Refused with this in the message, and nothing is left behind. */
static void refused(const struct zip_test_entry *all, size_t n, const char *message)
{
    struct err e;
    assert_int_equal(unpack(all, n, &e), -EINVAL);
    if (!strstr(e.msg, message))
        fail_msg("expected '%s', got '%s'", message, e.msg);
    assert_int_equal(count_files(), 1);
}

static void refused_name(str name, unsigned mode, const char *message)
{
    struct zip_test_entry all[] = {{STR("manifest.json"), STR("{}"), REG | 0644, 0, 0, 0},
                                   {name, STR("x"), mode, 0, 0, 0}};
    refused(all, 2, message);
}

static unsigned mode_of(const char *name)
{
    struct stat st;
    assert_int_equal(stat(arena_printf(&arena, "%s/%s", dest, name).p, &st), 0);
    return st.st_mode & 07777;
}

static int setup(void **state)
{
    arena_init(&arena);
    snprintf(dir, sizeof dir, "/tmp/nb-archive-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    archive = arena_printf(&arena, "%s/a.mcpb", dir).p;
    dest = arena_printf(&arena, "%s/out", dir).p;
    return 0;
}

static int teardown(void **state)
{
    arena_done(&arena);
    return io_remove_tree(&store_io_system, dir, 40);
}

TEST_WITH(files_and_permissions_come_out, setup, teardown)
{
    struct zip_test_entry all[] = {
        {STR("manifest.json"), STR("{}"), REG | 0644, 0, 0, 0},
        {STR("bin/"), STR(""), FOLDER | 0700, 0, 0, 0},
        {STR("bin/run"), STR("#!"), REG | 06777, 0, 0, 0},
        {STR("deep/er/x"), STR("1"), 0, 0, 0, 0},
        {STR("t/\xc3\xa9.txt"), STR(""), REG | 0400, 0, 0, 0},
    };
    struct err e;
    str text;
    if (unpack(all, ARRAY_LEN(all), &e) < 0)
        fail_msg("%s", e.msg);
    assert_int_equal(
        file_read(&arena, arena_printf(&arena, "%s/manifest.json", dest).p, 99, &text, &e), 0);
    assert_true(str_eq(text, STR("{}")));
    assert_int_equal(mode_of("bin/run"), 0755);
    assert_int_equal(mode_of("deep/er/x"), 0644);
    assert_int_equal(mode_of("t/\xc3\xa9.txt"), 0600);
    assert_int_equal(mode_of("bin"), 0755);
    assert_int_equal(archive_unpack(archive, dest, &e), -EEXIST);
    assert_int_equal(count_files(), 2);
}

TEST_WITH(names_that_lead_elsewhere, setup, teardown)
{
    refused_name(STR("../x"), REG | 0644, "outside the bundle");
    refused_name(STR("a/../../x"), REG | 0644, "outside the bundle");
    refused_name(STR("a/./x"), REG | 0644, "outside the bundle");
    refused_name(STR("a//x"), REG | 0644, "outside the bundle");
    refused_name(STR("/etc/x"), REG | 0644, "absolute");
    refused_name(STR("a\\..\\x"), REG | 0644, "unusual characters");
    refused_name(STR("a\nb"), REG | 0644, "unusual characters");
    refused_name(STR("\xff"), REG | 0644, "usable name");
    refused_name(STR(""), REG | 0644, "usable name");
}

TEST_WITH(links_devices_and_doubles, setup, teardown)
{
    refused_name(STR("link"), LNK | 0777, "symbolic link");
    refused_name(STR("pipe"), PIP | 0644, "neither a file nor a directory");
    refused_name(STR("odd"), FOLDER | 0755, "the reverse");
    refused_name(STR("manifest.json"), REG | 0644, "occurs twice");
    refused_name(STR("manifest.json/"), FOLDER | 0755, "occurs twice");
    refused_name(STR("manifest.json/x"), REG | 0644, "");
}

TEST_WITH(ways_of_packing, setup, teardown)
{
    struct zip_test_entry crypt = {STR("x"), STR("0123456789abcdef"), REG | 0644, 0, 0, 1};
    struct zip_test_entry odd = {STR("x"), STR("y"), REG | 0644, 0, 12, 0};
    refused(&crypt, 1, "encrypted");
    refused(&odd, 1, "unsupported compression method");
}

TEST_WITH(bombs, setup, teardown)
{
    struct zip_test_entry large[3];
    for (size_t i = 0; i < 3; i++)
        large[i] = (struct zip_test_entry){
            arena_printf(&arena, "f%zu", i), STR("x"), REG | 0644, 0xc0000000u, 8, 0};
    refused(large, 3, "more than allowed");
    large[0].claimed_size = 100u << 20;
    refused(large, 1, "more than allowed");
    str deep = STR("a");
    for (size_t i = 0; i <= ARCHIVE_DEPTH_MAX; i++)
        deep = arena_concat(&arena, deep, STR("/a"));
    refused_name(deep, REG | 0644, "too deep");
    char *name = arena_alloc(&arena, ARCHIVE_NAME_MAX + 1);
    memset(name, 'x', ARCHIVE_NAME_MAX + 1);
    refused_name(str_make(name, ARCHIVE_NAME_MAX + 1), REG | 0644, "usable name");
}

TEST_WITH(too_many_entries, setup, teardown)
{
    enum { N = 50001 };
    struct zip_test_entry *all = arena_array(&arena, N, sizeof *all);
    for (size_t i = 0; i < N; i++)
        all[i] = (struct zip_test_entry){arena_printf(&arena, "%zu", i), STR(""), 0, 0, 0, 0};
    refused(all, N, "50001 entries");
}

TEST_WITH(what_is_no_archive, setup, teardown)
{
    struct err e;
    assert_int_equal(unpack_bytes(STR(""), &e), -EINVAL);
    assert_int_equal(unpack_bytes(STR("PK\3\4 and so on"), &e), -EINVAL);
    assert_non_null(strstr(e.msg, "not a usable ZIP"));
    assert_int_equal(unpack(NULL, 0, &e), -EINVAL);
    assert_int_equal(archive_unpack("/nonexistent.mcpb", dest, &e), -ENOENT);
    assert_int_equal(archive_unpack("/dev/null", dest, &e), -EINVAL);
    assert_int_equal(archive_unpack(dir, dest, &e), -EINVAL);
}

TEST_WITH(damaged_content, setup, teardown)
{
    struct zip_test_entry one = {STR("x"), STR("content"), REG | 0644, 0, 0, 0};
    struct buf b;
    struct err e;
    buf_init(&b, 1 << 20);
    zip_write(&b, &one, 1);
    b.p[31 + 2] ^= 1; /* a byte of the content */
    assert_int_equal(unpack_bytes(buf_str(&b), &e), -EINVAL);
    assert_non_null(strstr(e.msg, "damaged"));
    assert_int_equal(count_files(), 1);
    buf_done(&b);
}
