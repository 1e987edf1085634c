#include <errno.h>

#include "auth/oidc/provider.h"
#include "base/clock.h"
#include "support/issuer.h"
#include "support/unit.h"

enum { MINUTE = 60 * 1000, HOUR = 60 * MINUTE };

static struct issuer issuer;
static struct loop *loop;
static struct fetcher *fetcher;
static struct instance_oidc conf;
static struct oidc_provider *provider;
static struct arena arena;
static uint64_t now;

static uint64_t the_time(void)
{
    return now;
}

static int start(void **state)
{
    loop = loop_new(NULL);
    fetcher = fetcher_new(loop);
    return issuer_start(&issuer, "{}");
}

static int stop(void **state)
{
    issuer_stop(&issuer);
    fetcher_free(fetcher);
    loop_free(loop);
    return 0;
}

static const struct json *tell(const char *command)
{
    return issuer_tell(&issuer, loop, fetcher, &arena, command);
}

static int begin(void **state)
{
    arena_init(&arena);
    tell("{\"down\":false}");
    now = HOUR;
    conf = (struct instance_oidc){.issuer = str_from(issuer.url), .client_id = STR("nb")};
    provider = provider_new(loop, NULL, fetcher, &conf, the_time);
    return 0;
}

static int end(void **state)
{
    provider_free(provider);
    arena_done(&arena);
    return 0;
}

struct waiting {
    struct provider_wait wait;
    bool is_done;
    int code;
};

static void on_done(void *ctx, const struct err *err)
{
    struct waiting *w = ctx;
    w->is_done = true;
    w->code = err->code;
}

static struct waiting waiting(struct waiting *at)
{
    return (struct waiting){.wait = {.fn = on_done, .ctx = at}};
}

static int fetch_keys(void)
{
    struct waiting w = waiting(&w);
    provider_fetch_keys(provider, &w.wait);
    assert_false(w.is_done);
    assert_true(loop_run_until(loop, &w.is_done, 60000));
    return w.code;
}

static int discover(void)
{
    struct waiting w = waiting(&w);
    provider_discover(provider, &w.wait);
    assert_false(w.is_done);
    assert_true(loop_run_until(loop, &w.is_done, 60000));
    return w.code;
}

static struct jwt fresh_token(void)
{
    struct jwt t;
    str text = json_get_string(tell("{\"mint\":[{}]}"), "token");
    assert_int_equal(jwt_parse(&arena, text, &t, NULL), 0);
    return t;
}

static int64_t count(const char *path)
{
    return json_get_int(json_get(tell("{}"), "counts"), path, 0);
}

TEST_WITH(addresses_are_kept_for_an_hour, begin, end)
{
    int64_t before = count("/.well-known/openid-configuration");
    assert_int_equal(discover(), 0);
    const struct provider_meta *m = provider_meta(provider);
    assert_true(str_ends(m->token_endpoint, STR("/token")));
    assert_true(m->has_offline_access);
    now += HOUR - 1;
    assert_int_equal(discover(), 0);
    assert_int_equal(count("/.well-known/openid-configuration"), before + 1);
    now += 1;
    assert_int_equal(discover(), 0);
    assert_int_equal(count("/.well-known/openid-configuration"), before + 2);
}

TEST_WITH(keys_are_kept_for_five_minutes, begin, end)
{
    struct jwt t = fresh_token();
    assert_null(provider_key(provider, &t));
    assert_int_equal(fetch_keys(), 0);
    assert_non_null(provider_key(provider, &t));
    now += 5 * MINUTE - 1;
    assert_non_null(provider_key(provider, &t));
    now += 1;
    assert_null(provider_key(provider, &t));
    assert_non_null(provider_known_key(provider, &t));
}

TEST_WITH(a_rotation_is_seen_but_nobody_can_hammer, begin, end)
{
    struct jwt old = fresh_token();
    assert_int_equal(fetch_keys(), 0);
    tell("{\"rotate\":\"ES256\"}");
    struct jwt t = fresh_token();
    assert_null(provider_key(provider, &t));
    int64_t before = count("/jwks");
    for (int i = 0; i < 20; i++) /* unknown names, one after another */
        assert_int_equal(fetch_keys(), 0);
    assert_int_equal(count("/jwks"), before);
    assert_null(provider_key(provider, &t));
    now += 10 * 1000;
    assert_int_equal(fetch_keys(), 0);
    assert_int_equal(count("/jwks"), before + 1);
    assert_non_null(provider_key(provider, &t));
    assert_null(provider_key(provider, &old)); /* revoked by the rotation */
}

TEST_WITH(an_outage, begin, end)
{
    struct jwt t = fresh_token();
    assert_int_equal(fetch_keys(), 0);
    tell("{\"down\":true}");
    now += 6 * MINUTE;
    assert_int_equal(fetch_keys(), -EHOSTUNREACH);
    assert_non_null(provider_known_key(provider, &t)); /* the old ones will do for a while */
    now += HOUR;
    assert_null(provider_known_key(provider, &t));
    tell("{\"down\":false}");
    now += 10 * 1000;
    assert_int_equal(fetch_keys(), 0);
    assert_non_null(provider_key(provider, &t));
}

TEST_WITH(many_wait_for_one_answer, begin, end)
{
    struct waiting w[10];
    int64_t before = count("/jwks");
    for (int i = 0; i < 10; i++) {
        w[i] = waiting(&w[i]);
        provider_fetch_keys(provider, &w[i].wait);
    }
    list_del(&w[3].wait.node); /* one gives up */
    assert_true(loop_run_until(loop, &w[9].is_done, 60000));
    for (int i = 0; i < 10; i++)
        assert_int_equal(w[i].is_done, i != 3);
    assert_int_equal(count("/jwks"), before + 1);
}

TEST_WITH(nobody_there, begin, end)
{
    provider_free(provider);
    conf.issuer = STR("http://127.0.0.1:1");
    provider = provider_new(loop, NULL, fetcher, &conf, the_time);
    assert_int_equal(discover(), -EHOSTUNREACH);
    assert_int_equal(provider_meta(provider)->token_endpoint.n, 0);
    assert_int_equal(fetch_keys(), -EHOSTUNREACH);
}

TESTS_SHARE(start, stop)
