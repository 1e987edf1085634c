#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/session/logins.h"
#include "cli/session/remote.h"
#include "support/tempdir.h"
#include "support/unit.h"

TEST(an_address_is_written_in_one_way)
{
    static const struct {
        const char *typed, *url; /* NULL: refused */
        bool is_insecure;
    } CASES[] = {
        {"https://nb.example", "https://nb.example", false},
        {"HTTPS://NB.Example:443/", "https://nb.example", false},
        {"https://nb.example:8443/Team/", "https://nb.example:8443/Team", false},
        {"http://127.0.0.1:27247/", "http://127.0.0.1:27247", false},
        {"http://localhost", "http://localhost", false},
        {"http://[::1]:80/", "http://[::1]", false},
        {"http://nb.example", NULL, false},
        {"http://nb.example", "http://nb.example", true},
        {"http://127.0.0.1.evil.example", NULL, false},
        {"http://localhost@evil.example", NULL, true},
        {"https://a:b@nb.example", NULL, true},
        {"https://nb.example?x", NULL, true},
        {"https://nb.example/#/c/1", NULL, true},
        {"https://nb.example/a//b", NULL, true},
        {"https://nb.example/../x", NULL, true},
        {"https://nb.example/\r\nX: y", NULL, true},
        {"https://", NULL, true},
        {"nb.example", NULL, true},
        {"", NULL, true},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const char *url = NULL;
        struct err e = {0};
        int r = remote_url(&a, CASES[i].typed, CASES[i].is_insecure, &url, &e);
        assert_int_equal(r, CASES[i].url ? 0 : -EINVAL);
        if (CASES[i].url)
            assert_string_equal(url, CASES[i].url);
    }
    arena_done(&a);
}

TEST(a_token_is_one_word)
{
    assert_true(remote_token_is_valid(STR("nb_Abc-123_~+/=")));
    assert_false(remote_token_is_valid(STR_NONE));
    assert_false(remote_token_is_valid(STR("two words")));
    assert_false(remote_token_is_valid(STR("a\r\nX-Evil: 1")));
    assert_false(remote_token_is_valid(STR("caf\xc3\xa9")));
}

/* ---- the file ---- */

static struct config c;
static struct tempdir home;

static int open_dir(void **state)
{
    c = (struct config){0};
    arena_init(&c.arena);
    c.work_dir = home.path;
    return tempdir_make(&home);
}

static int close_dir(void **state)
{
    arena_done(&c.arena);
    return tempdir_drop(&home);
}

static void put(const char *url, const char *token, const char *workspace)
{
    struct login l = {str_from(url), str_from(token), str_from(workspace)};
    struct err e = {0};
    assert_int_equal(logins_put(&c, &l, &e), 0);
}

TEST_WITH(the_token_of_an_address_is_used_for_that_address_only, open_dir, close_dir)
{
    struct err e = {0};
    put("https://a.example", "one", "ws_a");
    put("https://b.example", "two", NULL);
    put("https://a.example", "three", "ws_b"); /* replaces the first */
    assert_int_equal(remote_use(&c, "https://A.example/", NULL, false, &e), 0);
    assert_true(str_eq(c.remote.token, STR("three")));
    assert_string_equal(c.workspace, "ws_b");
    c.workspace = "ws_named";
    assert_int_equal(remote_use(&c, "https://a.example", NULL, false, &e), 0);
    assert_string_equal(c.workspace, "ws_named");
    static const char *const OTHERS[] = {"https://a.example:444", "https://a.example/x",
                                         "https://a.example.evil.example", "https://c.example"};
    for (size_t i = 0; i < ARRAY_LEN(OTHERS); i++) {
        assert_int_equal(remote_use(&c, OTHERS[i], NULL, false, &e), -ENOENT);
        assert_null(c.remote.url);
        assert_int_equal(c.remote.token.n, 0);
    }
    assert_int_equal(remote_use(&c, "http://a.example", NULL, true, &e), -ENOENT);
    assert_int_equal(logins_remove(&c, STR("https://b.example"), &e), 0);
    assert_int_equal(logins_remove(&c, STR("https://b.example"), &e), -ENOENT);
}

TEST_WITH(a_file_that_others_can_read_or_replace_is_refused, open_dir, close_dir)
{
    struct logins all;
    struct err e = {0};
    struct stat st;
    const char *path = config_path(&c, LOGINS_FILE);
    assert_int_equal(logins_read(&c.arena, &c, &all, &e), 0); /* there is none */
    assert_int_equal(all.n, 0);
    put("https://a.example", "one", NULL);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(logins_read(&c.arena, &c, &all, &e), -EPERM);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(logins_read(&c.arena, &c, &all, &e), -EPERM);
}

TEST_WITH(a_damaged_file_is_an_error_and_the_number_of_logins_is_limited, open_dir, close_dir)
{
    static const char *const BAD[] = {"", "{", "[]", "{\"logins\":{}}", "{\"logins\":7}"};
    struct logins all;
    struct err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        int fd = open(config_path(&c, LOGINS_FILE), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, BAD[i], strlen(BAD[i])), strlen(BAD[i]));
        close(fd);
        assert_int_equal(logins_read(&c.arena, &c, &all, &e), -EINVAL);
    }
    assert_int_equal(unlink(config_path(&c, LOGINS_FILE)), 0);
    for (int i = 0; i < LOGINS_MAX; i++)
        put(arena_printf(&c.arena, "https://h%d.example", i).p, "t", NULL);
    struct login more = {STR("https://more.example"), STR("t"), STR_NONE};
    assert_int_equal(logins_put(&c, &more, &e), -ENOSPC);
    put("https://h0.example", "again", NULL);
}
