#include <errno.h>
#include <sys/stat.h>

#include "bundle/oauth/oauth.h"
#include "support/tempdir.h"
#include "unit/bundle/arena_rig.h"
#include "workspace/secrets/credentials.h"

TEST(what_is_kept_comes_back)
{
    struct tempdir dir;
    struct oauth_state back, s = {
                                 .issuer = STR("https://as"),
                                 .resource = STR("https://x/mcp"),
                                 .token_endpoint = STR("https://as/t"),
                                 .client_id = STR("me"),
                                 .client_secret = STR("hush"),
                                 .auth = OAUTH_AUTH_POST,
                                 .access_token = STR("one"),
                                 .refresh_token = STR("two"),
                                 .expires_ms = 1234567890123,
                             };
    struct err e = {0};
    struct stat st;
    assert_int_equal(tempdir_make(&dir), 0);
    assert_int_equal(oauth_state_load(&arena, dir.path, STR("far"), &back, &e), -ENOKEY);
    struct json other = json_of_str(STR("kept"));
    assert_int_equal(credentials_set(dir.path, STR("far"), STR("key"), &other, &e), 0);
    assert_int_equal(oauth_state_load(&arena, dir.path, STR("far"), &back, &e), -ENOKEY);
    assert_int_equal(oauth_state_save(dir.path, STR("far"), &s, &e), 0);
    assert_int_equal(oauth_state_load(&arena, dir.path, STR("far"), &back, &e), 0);
    assert_true(str_eq(back.issuer, s.issuer) && str_eq(back.resource, s.resource) &&
                str_eq(back.token_endpoint, s.token_endpoint) && back.scope.n == 0 &&
                str_eq(back.client_id, s.client_id) && str_eq(back.client_secret, s.client_secret));
    assert_true(back.auth == OAUTH_AUTH_POST && str_eq(back.access_token, s.access_token) &&
                str_eq(back.refresh_token, s.refresh_token) && back.expires_ms == s.expires_ms);
    assert_int_equal(stat(arena_printf(&arena, "%s/far.json", dir.path).p, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(oauth_state_load(&arena, dir.path, STR("near"), &back, &e), -ENOKEY);
    assert_int_equal(tempdir_drop(&dir), 0);
}

TESTS_SHARE(setup, teardown)
