#include <errno.h>

#include "bundle/package/mpak.h"
#include "support/unit.h"
#include "unit/bundle/registry_rig.h"

static struct rig rig;

struct got {
    bool is_done;
    str text;
    struct err err;
};

static void on_done(void *ctx, const struct json *result, const struct err *err)
{
    struct got *g = ctx;
    assert_false(g->is_done);
    assert_true((result == NULL) == (err != NULL));
    g->is_done = true;
    if (err)
        g->err = *err;
    else
        g->text = json_to_str(&rig.arena, result);
}

static struct mpak_conf conf(void)
{
    return (struct mpak_conf){rig.fetcher, rig.url};
}

static int wait_for(struct got *g)
{
    assert_true(loop_run_until(rig.loop, &g->is_done, RIG_WAIT_MS));
    return g->err.code;
}

static int locate(const char *version)
{
    struct got g = {0};
    struct mpak_conf c = conf();
    mpak_locate(&c, STR("@s/p"), str_from(version), on_done, &g);
    assert_false(g.is_done);
    return wait_for(&g);
}

static int setup(void **state)
{
    return rig_make(&rig);
}

static int teardown(void **state)
{
    return rig_drop(&rig);
}

TEST_WITH(questions_have_the_right_addresses, setup, teardown)
{
    struct got g = {0};
    struct mpak_conf c = conf();
    rig_answer(&rig, "/v1/bundles/search?q=a%20b%26&limit=5&offset=0", 200,
               STR("{\"bundles\":[]}"));
    mpak_search(&c, STR("a b&"), 5, 0, on_done, &g);
    assert_int_equal(wait_for(&g), 0);
    assert_true(str_eq(g.text, STR("{\"bundles\":[]}")));
    g = (struct got){0};
    rig_answer(&rig, "/v1/bundles/@s/p", 200, STR("{\"name\":\"@s/p\"}"));
    mpak_info(&c, STR("@s/p"), on_done, &g);
    assert_int_equal(wait_for(&g), 0);
    g = (struct got){0};
    rig_answer(&rig, "/v1/bundles/@s/p/versions", 200, STR("{}"));
    mpak_versions(&c, STR("@s/p"), on_done, &g);
    assert_int_equal(wait_for(&g), 0);
    const char *target =
        arena_printf(&rig.arena, "/v1/bundles/@s/p/versions/1.0/download?os=linux&arch=%s",
                     mpak_arch())
            .p;
    rig_answer(&rig, target, 200,
               STR("{\"url\":\"https://x.io/f\",\"bundle\":{\"version\":\"1.0\",\"sha256\":"
                   "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}}"));
    assert_int_equal(locate("1.0"), 0);
    assert_string_equal(rig.last, target);
}

TEST_WITH(answers_that_cannot_be_used, setup, teardown)
{
    const char *target =
        arena_printf(&rig.arena, "/v1/bundles/@s/p/versions/latest/download?os=linux&arch=%s",
                     mpak_arch())
            .p;
    static const char *const BAD[] = {
        "",
        "[]",
        "<html>",
        "{}",
        "{\"url\":\"https://x.io\",\"bundle\":{\"version\":\"1\",\"sha256\":\"abc\"}}",
        "{\"url\":\"https://x.io\",\"bundle\":{\"version\":\"../1\",\"sha256\":"
        "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}}",
        "{\"url\":\"file:///etc/passwd\",\"bundle\":{\"version\":\"1\",\"sha256\":"
        "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}}",
    };
    assert_int_equal(locate(""), -ENOENT);
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        rig_answer(&rig, target, 200, str_from(BAD[i]));
        assert_int_equal(locate(""), -EIO);
    }
    rig_answer(&rig, target, 500, STR("{}"));
    assert_int_equal(locate(""), -EIO);
    struct mpak_conf c = {rig.fetcher, "http://127.0.0.1:1"};
    struct got g = {0};
    mpak_search(&c, STR("x"), 1, 0, on_done, &g);
    assert_true(wait_for(&g) < 0);
    assert_non_null(strstr(g.err.msg, "cannot reach the registry"));
}

TEST_WITH(a_question_can_be_withdrawn, setup, teardown)
{
    struct got g = {0};
    struct mpak_conf c = conf();
    rig_answer(&rig, "/v1/bundles/@s/q", 0, STR_NONE);
    struct mpak_call *call = mpak_info(&c, STR("@s/q"), on_done, &g);
    assert_false(loop_run_until(rig.loop, &g.is_done, 50));
    mpak_cancel(call);
    assert_false(loop_run_until(rig.loop, &g.is_done, 20));
}

TEST_WITH(where_downloads_may_lead, setup, teardown)
{
    struct mpak_conf c = conf(), open = {rig.fetcher, NULL};
    str own = arena_printf(&rig.arena, "%s/files/x", rig.url);
    unsigned far = FETCH_FOLLOW_SAME_ORIGIN | FETCH_HTTPS_ONLY | FETCH_PUBLIC_ONLY;
    assert_int_equal(mpak_fetch_flags(&c, own), FETCH_FOLLOW_SAME_ORIGIN);
    assert_int_equal(mpak_fetch_flags(&c, STR("https://x.io/f")), far);
    assert_int_equal(mpak_fetch_flags(&open, own), far);
    assert_int_equal(mpak_fetch_flags(&open, STR("garbage")), far);
}

TEST_WITH(levels_become_scores, setup, teardown)
{
    static const struct {
        const char *text;
        int score;
    } CASES[] = {{"{\"certification_level\":0}", 0},
                 {"{\"certification_level\":4}", 100},
                 {"{\"certification\":{\"level\":2}}", 50},
                 {"{\"certification_level\":50}", -1},
                 {"{}", -1}};
    struct json *v;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        json_parse(&rig.arena, str_from(CASES[i].text), 0, &v, NULL);
        assert_int_equal(mpak_trust_score(v), CASES[i].score);
    }
}
