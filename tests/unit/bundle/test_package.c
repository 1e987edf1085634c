#include <errno.h>
#include <sys/stat.h>

#include "base/bytes/hash.h"
#include "bundle/package/package.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "unit/bundle/zip_writer.h"

static struct arena arena;
static struct tempdir dir;
static const char *packages;

static const char *archive_of(const char *manifest, char sum[SHA256_HEX_LEN + 1])
{
    struct zip_test_entry all[] = {{STR("manifest.json"), str_from(manifest), 0100644, 0, 0, 0},
                                   {STR("bin/run"), STR("#!"), 0100644, 0, 0, 0}};
    struct buf b;
    const char *path = arena_printf(&arena, "%s/a.mcpb", dir.path).p;
    buf_init(&b, 1 << 20);
    zip_write(&b, all, ARRAY_LEN(all));
    if (sum)
        sha256_hex(buf_str(&b), sum);
    assert_int_equal(file_write_atomic(path, buf_str(&b), 0600, NULL), 0);
    buf_done(&b);
    return path;
}

static const char *manifest(const char *version)
{
    return arena_printf(
               &arena,
               "{\"manifest_version\":\"0.3\",\"name\":\"m\",\"version\":\"%s\",\"server\":"
               "{\"type\":\"binary\",\"entry_point\":\"bin/run\"}}",
               version)
        .p;
}

static int install(const char *version, struct package *p, struct err *e)
{
    char *sum = arena_alloc(&arena, SHA256_HEX_LEN + 1);
    const char *archive = archive_of(manifest(version), sum);
    *p = (struct package){.name = STR("@a/b"),
                          .version = str_from(version),
                          .sha256 = str_from(sum),
                          .trust_score = 50};
    int r = package_install(&arena, packages, archive, p, e);
    assert_false(file_exists(archive));
    return r;
}

static int setup(void **state)
{
    arena_init(&arena);
    if (tempdir_make(&dir) < 0)
        return -1;
    packages = arena_printf(&arena, "%s/apps", dir.path).p;
    return 0;
}

static int teardown(void **state)
{
    arena_done(&arena);
    return tempdir_drop(&dir);
}

TEST_WITH(a_version_is_installed_and_found, setup, teardown)
{
    struct err e = {0};
    struct package p, found;
    struct stat st;
    struct manifest m;
    const char *path;
    assert_int_equal(package_find(&arena, packages, STR("@a/b"), &found, &e), 0);
    assert_null(found.dir);
    assert_int_equal(package_download_path(&arena, packages, STR("@a/b"), &path, &e), 0);
    if (install("1.0", &p, &e) < 0)
        fail_msg("%s", e.msg);
    assert_int_equal(package_find(&arena, packages, STR("@a/b"), &found, &e), 0);
    assert_string_equal(found.dir, p.dir);
    assert_true(str_eq(found.version, STR("1.0")));
    assert_int_equal(found.trust_score, 50);
    assert_true(found.checked_ms > 0 && found.checked_ms == found.pulled_ms);
    assert_int_equal(package_manifest(&arena, found.dir, &m, &e), 0);
    assert_int_equal(stat(arena_printf(&arena, "%s/bin/run", found.dir).p, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755); /* a program that nobody marked as one */
    /* Another name with the same directory is not this package. */
    assert_int_equal(package_find(&arena, packages, STR("@a-b/"), &found, &e), 0);
    assert_null(found.dir);
}

TEST_WITH(the_version_before_is_kept_older_ones_go, setup, teardown)
{
    struct err e = {0};
    struct package one, two, three;
    const char *path;
    package_download_path(&arena, packages, STR("@a/b"), &path, &e);
    assert_int_equal(install("1.0", &one, &e), 0);
    assert_int_equal(install("2.0", &two, &e), 0);
    assert_true(file_exists(one.dir));
    assert_int_equal(install("3.0", &three, &e), 0);
    assert_false(file_exists(one.dir));
    assert_true(file_exists(two.dir));
    assert_true(file_exists(three.dir));
    assert_int_equal(install("3.0", &three, &e), 0); /* once more is fine */
}

TEST_WITH(what_is_wrong_is_not_kept, setup, teardown)
{
    struct err e = {0};
    struct package found, p = {.name = STR("@a/b"),
                               .version = STR("1"),
                               .sha256 = STR("00112233445566778899aabbccddeeff00112233445566778899"
                                             "aabbccddeeff")};
    const char *path;
    package_download_path(&arena, packages, STR("@a/b"), &path, &e);
    const char *archive = archive_of(manifest("1"), NULL);
    assert_int_equal(package_install(&arena, packages, archive, &p, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "checksum"));
    assert_false(file_exists(archive));
    char *sum = arena_alloc(&arena, SHA256_HEX_LEN + 1);
    archive = archive_of("{\"name\":1}", sum);
    p.sha256 = str_from(sum);
    assert_int_equal(package_install(&arena, packages, archive, &p, &e), -EINVAL);
    assert_false(file_exists(p.dir));
    assert_int_equal(package_find(&arena, packages, STR("@a/b"), &found, &e), 0);
    assert_null(found.dir);
}

TEST_WITH(a_meta_file_that_cannot_be_read_is_an_empty_cache, setup, teardown)
{
    static const char *const BAD[] = {
        "", "[]", "{\"name\":\"@a/b\"}",
        "{\"name\":\"@a/b\",\"version\":\"../../x\",\"sha256\":\"0123456789abcdef\"}",
        "{\"name\":\"@x/y\",\"version\":\"1\",\"sha256\":\"0123456789abcdef\"}"};
    struct package p;
    struct err e = {0};
    const char *path;
    package_download_path(&arena, packages, STR("@a/b"), &path, &e);
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        file_write_atomic(arena_printf(&arena, "%s/a-b/.mpak-meta.json", packages).p,
                          str_from(BAD[i]), 0600, &e);
        assert_int_equal(package_find(&arena, packages, STR("@a/b"), &p, &e), 0);
        assert_null(p.dir);
    }
}

TEST_WITH(an_archive_is_unpacked_once, setup, teardown)
{
    struct err e = {0};
    const char *one, *two, *archive = archive_of(manifest("1"), NULL);
    assert_int_equal(package_of_archive(&arena, packages, archive, &one, &e), 0);
    assert_int_equal(package_of_archive(&arena, packages, archive, &two, &e), 0);
    assert_string_equal(one, two);
    assert_true(file_exists(archive));
    archive = archive_of(manifest("2"), NULL);
    assert_int_equal(package_of_archive(&arena, packages, archive, &two, &e), 0);
    assert_string_not_equal(one, two);
    assert_int_equal(package_of_archive(&arena, packages, "/dev/null", &two, &e), -EINVAL);
    assert_int_equal(package_of_archive(&arena, packages, "/nonexistent", &two, &e), -ENOENT);
}
