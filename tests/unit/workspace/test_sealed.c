#include <errno.h>

#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/secrets/sealed.h"

TEST(secret_is_encrypted_and_needs_its_key)
{
    struct tempdir d;
    struct arena a;
    struct err e = {0};
    str got, raw;
    assert_int_equal(tempdir_make(&d), 0);
    arena_init(&a);
    const char *dir = arena_printf(&a, "%s/workspaces/ws_a/credentials", d.path).p;
    const char *path = arena_printf(&a, "%s/x.json", dir).p;
    const char *key = arena_printf(&a, "%s/" SEALED_KEY_NAME, d.path).p;
    assert_int_equal(file_make_dirs(dir, &e), 0);

    assert_int_equal(file_write_atomic(path, STR("{\"old\":\"PLAIN\"}"), 0600, &e), 0);
    assert_int_equal(sealed_read(&a, dir, path, 4096, &got, &e), 0);
    assert_string_equal(arena_cstr(&a, got), "{\"old\":\"PLAIN\"}");

    assert_int_equal(sealed_write(dir, path, STR("{\"k\":\"SECRET\"}"), &e), 0);
    assert_true(file_exists(key));
    assert_int_equal(file_read(&a, path, 4096, &raw, &e), 0);
    assert_int_equal(str_find(raw, STR("SECRET"), 0), -1);
    assert_int_equal(sealed_read(&a, dir, path, 4096, &got, &e), 0);
    assert_string_equal(arena_cstr(&a, got), "{\"k\":\"SECRET\"}");

    /* The name is part of what is sealed: another bundle's file does not take its place. */
    const char *other = arena_printf(&a, "%s/y.json", dir).p;
    assert_int_equal(file_write_atomic(other, raw, 0600, &e), 0);
    assert_int_equal(sealed_read(&a, dir, other, 4096, &got, &e), -EINVAL);

    assert_int_equal(unlink(key), 0);
    assert_int_equal(sealed_read(&a, dir, path, 4096, &got, &e), -ENOKEY);
    assert_non_null(strstr(e.msg, "NB_SECRETS_KEY_FILE"));
    assert_int_equal(sealed_write(dir, other, STR("{}"), &e), 0); /* a new key */
    assert_int_equal(sealed_read(&a, dir, path, 4096, &got, &e), -ENOKEY);
    assert_non_null(strstr(e.msg, "another key"));
    arena_done(&a);
    assert_int_equal(tempdir_drop(&d), 0);
}
