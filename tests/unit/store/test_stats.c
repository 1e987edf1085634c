#include "rig.h"
#include "store/stats.h"

struct answer {
    struct stats stats;
    char models[STATS_MODELS_MAX][64];
    struct err err;
    bool is_done;
};

static void on_stats(void *ctx, const struct err *err, const struct stats *s)
{
    struct answer *a = ctx;
    a->is_done = true;
    if (err) {
        a->err = *err;
        return;
    }
    a->stats = *s;
    for (size_t i = 0; i < s->nmodels; i++)
        (void)snprintf(a->models[i], sizeof a->models[i], "%.*s", STR_ARG(s->models[i].model));
}

static struct answer ask(struct rig *r, const struct actor *v, enum stats_period p)
{
    struct answer a = {0};
    stats_start(r->store, v, p, on_stats, &a);
    assert_false(a.is_done);
    assert_true(loop_run_until(r->loop, &a.is_done, RIG_WAIT_MS));
    assert_int_equal(a.err.code, 0);
    return a;
}

static void on_created(void *ctx, const struct err *err, const struct conv *c)
{
    assert_null(err);
    *(bool *)ctx = true;
}

static void make(struct rig *r, str owner, int64_t age_ms, const char *model, int in, int out)
{
    char iso[CLOCK_ISO_LEN + 1], line[512];
    bool is_done = false;
    clock_iso(clock_now_ms() - age_ms, iso);
    (void)snprintf(line, sizeof line,
                   "{\"ts\":\"%s\",\"type\":\"llm.response\",\"model\":\"%s\",\"content\":[],"
                   "\"inputTokens\":%d,\"outputTokens\":%d,\"cacheReadTokens\":1}",
                   iso, model, in, out);
    str event = str_from(line);
    struct conv_create spec = {.owner_id = owner, .events = &event, .nevents = 1};
    store_create(r->store, &spec, on_created, &is_done);
    assert_true(loop_run_until(r->loop, &is_done, RIG_WAIT_MS));
}

static const int64_t DAY = 24 * 3600 * 1000ll;

TEST(totals)
{
    struct rig rig, *r = &rig;
    rig_init(r, "memory", NULL);
    make(r, STR("usr_a"), 0, "known", 1000, 500);
    make(r, STR("usr_a"), 0, "known", 2000, 0);
    make(r, STR("usr_b"), 0, "mystery", 10, 1);
    struct answer a = ask(r, NULL, STATS_ALL);
    assert_int_equal(a.stats.total.conversations, 3);
    assert_int_equal(a.stats.total.usage.input_tokens, 3010);
    assert_int_equal(a.stats.total.usage.output_tokens, 501);
    assert_int_equal(a.stats.total.usage.cache_read_tokens, 3);
    assert_int_equal(a.stats.total.unpriced, 1);
    assert_int_equal(a.stats.nmodels, 2);
    assert_string_equal(a.models[0], "known");
    assert_int_equal(a.stats.models[0].conversations, 2);
    assert_int_equal(a.stats.models[0].unpriced, 0);
    assert_true(a.stats.models[0].cost_usd > 0.0034 && a.stats.models[0].cost_usd < 0.0036);
    rig_done(r);
}

TEST(period)
{
    struct rig rig, *r = &rig;
    rig_init(r, "memory", NULL);
    make(r, STR("usr_a"), 0, "known", 1, 0);
    make(r, STR("usr_a"), 3 * DAY, "known", 10, 0);
    make(r, STR("usr_a"), 20 * DAY, "known", 100, 0);
    make(r, STR("usr_a"), 500 * DAY, "known", 1000, 0);
    assert_int_equal(ask(r, NULL, STATS_DAY).stats.total.usage.input_tokens, 1);
    assert_int_equal(ask(r, NULL, STATS_WEEK).stats.total.usage.input_tokens, 11);
    assert_int_equal(ask(r, NULL, STATS_MONTH).stats.total.usage.input_tokens, 111);
    assert_int_equal(ask(r, NULL, STATS_YEAR).stats.total.usage.input_tokens, 111);
    assert_int_equal(ask(r, NULL, STATS_ALL).stats.total.usage.input_tokens, 1111);
    rig_done(r);
}

TEST(only_what_may_be_seen)
{
    struct rig rig, *r = &rig;
    rig_init(r, "memory", NULL);
    struct principal p = {.user_id = STR("usr_b"), .scopes = SCOPE_ALL};
    struct actor *b = actor_new(NULL, STR("ws_a"), &p, (struct json_strs){0});
    make(r, STR("usr_a"), 0, "known", 1000, 0);
    make(r, STR("usr_b"), 0, "known", 7, 0);
    assert_int_equal(ask(r, b, STATS_ALL).stats.total.usage.input_tokens, 7);
    actor_unref(b);
    rig_done(r);
}

/* More models than there is room for are counted together, and none is lost. */
TEST(many_models)
{
    struct rig rig, *r = &rig;
    rig_init(r, "memory", NULL);
    int64_t sum = 0;
    for (int i = 0; i < STATS_MODELS_MAX + 20; i++) {
        char model[32];
        (void)snprintf(model, sizeof model, "model-%d", i);
        make(r, STR("usr_a"), 0, model, 1, 0);
    }
    struct answer a = ask(r, NULL, STATS_ALL);
    assert_int_equal(a.stats.nmodels, STATS_MODELS_MAX);
    assert_string_equal(a.models[0], "other");
    for (size_t i = 0; i < a.stats.nmodels; i++)
        sum += a.stats.models[i].conversations;
    assert_int_equal(sum, STATS_MODELS_MAX + 20);
    rig_done(r);
}

TEST(cancel)
{
    struct rig rig, *r = &rig;
    rig_init(r, "memory", NULL);
    struct answer a = {0};
    bool never = false;
    stats_cancel(stats_start(r->store, NULL, STATS_ALL, on_stats, &a));
    stats_cancel(NULL);
    (void)loop_run_until(r->loop, &never, 50);
    assert_false(a.is_done);
    rig_done(r);
}

TEST(names)
{
    enum stats_period p;
    struct err e = {0};
    assert_int_equal(stats_period_parse(STR("week"), &p, &e), 0);
    assert_string_equal(stats_period_name(p), "week");
    assert_true(stats_period_parse(STR("eon"), &p, &e) < 0);
    assert_non_null(strstr(e.msg, "month"));
}
