#include <errno.h>

#include "base/clock.h"
#include "bundle/oauth/oauth_token.h"
#include "unit/bundle/arena_rig.h"

static struct oauth_state state_before(void)
{
    return (struct oauth_state){
        .access_token = STR("old"), .refresh_token = STR("kept"), .scope = STR("a")};
}

TEST(what_is_not_in_the_answer_stays)
{
    struct oauth_state s = state_before();
    struct err e = {0};
    int64_t now = clock_now_ms();
    assert_int_equal(oauth_token_take(&arena, 200,
                                      STR("{\"access_token\":\"new\",\"token_type\":\"bearer\","
                                          "\"expires_in\":60}"),
                                      &s, &e),
                     0);
    assert_true(str_eq(s.access_token, STR("new")) && str_eq(s.refresh_token, STR("kept")) &&
                str_eq(s.scope, STR("a")));
    assert_in_range(s.expires_ms - now, 60000, 120000);
    assert_int_equal(oauth_token_take(&arena, 200,
                                      STR("{\"access_token\":\"x\",\"token_type\":\"Bearer\","
                                          "\"refresh_token\":\"y\",\"scope\":\"b\"}"),
                                      &s, &e),
                     0);
    assert_true(str_eq(s.refresh_token, STR("y")) && str_eq(s.scope, STR("b")) &&
                s.expires_ms == 0);
}

TEST(what_is_no_token_is_refused)
{
    static const struct {
        int status;
        const char *body;
        int code;
    } CASES[] = {
        {200, "", -EPROTO},
        {200, "{}", -EPROTO},
        {200, "{\"access_token\":\"x\"}", -EPROTO},
        {200, "{\"access_token\":\"x\",\"token_type\":\"mac\"}", -EPROTO},
        {200, "{\"access_token\":\"a b\",\"token_type\":\"bearer\"}", -EPROTO},
        {200, "{\"access_token\":\"a\\r\\nX: y\",\"token_type\":\"bearer\"}", -EPROTO},
        {400, "{\"error\":\"invalid_grant\"}", -EACCES},
        {401, "<html>", -EACCES},
        {403, "{\"error\":\"access_denied\"}", -EACCES},
        {503, "", -EREMOTEIO},
        {429, "{\"error\":\"too_many_requests\"}", -EREMOTEIO},
        {408, "<html>", -EREMOTEIO},
        {425, "", -EREMOTEIO},
        {400, "{\"error\":\"temporarily_unavailable\"}", -EREMOTEIO},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct oauth_state s = state_before();
        struct err e = {0};
        assert_int_equal(oauth_token_take(&arena, CASES[i].status, str_from(CASES[i].body), &s, &e),
                         CASES[i].code);
        assert_true(str_eq(s.access_token, STR("old")));
    }
}

TESTS_SHARE(setup, teardown)
