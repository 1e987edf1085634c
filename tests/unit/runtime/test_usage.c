#include <errno.h>

#include "llm/llm.h"
#include "runtime/usage.h"
#include "unit/store/rig.h"

struct world {
    struct rig rig;
    struct llm *llm;
    struct arena arena;
    struct usage_report report;
    struct usage_row *rows; /* copies */
    struct err err;
    bool is_done;
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    struct err e = {0};
    rig_init(&w->rig, "memory", NULL);
    w->llm = llm_new(w->rig.loop, NULL, &(struct llm_conf){0}, NULL, &e);
    assert_non_null(w->llm);
    arena_init(&w->arena);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    llm_free(w->llm);
    rig_done(&w->rig);
    arena_done(&w->arena);
    free(w);
    return 0;
}

static void on_created(void *ctx, const struct err *err, const struct conv *conv)
{
    struct world *w = ctx;
    assert_null(err);
    w->is_done = true;
}

static void create(struct world *w, const char *owner, const str *events, size_t n)
{
    struct conv_create spec = {.owner_id = str_from(owner), .events = events, .nevents = n};
    w->is_done = false;
    store_create(w->rig.store, &spec, on_created, w);
    assert_true(loop_run_until(w->rig.loop, &w->is_done, RIG_WAIT_MS));
}

static void on_usage(void *ctx, const struct err *err, const struct usage_report *r)
{
    struct world *w = ctx;
    w->is_done = true;
    if (err) {
        w->err = *err;
        return;
    }
    w->report = *r;
    w->rows = arena_array(&w->arena, r->n, sizeof *w->rows);
    for (size_t i = 0; i < r->n; i++) {
        w->rows[i] = r->rows[i];
        w->rows[i].key = arena_str(&w->arena, r->rows[i].key);
    }
}

static void ask(struct world *w, const struct usage_query *q)
{
    w->is_done = false;
    usage_start(w->rig.store, w->llm, q, on_usage, w);
    assert_true(loop_run_until(w->rig.loop, &w->is_done, RIG_WAIT_MS));
    assert_int_equal(w->err.code, 0);
}

static str response(struct world *w, const char *ts, const char *run, const char *model, int tokens)
{
    return arena_printf(
        &w->arena,
        "{\"ts\":\"%s\",\"type\":\"llm.response\",\"runId\":\"%s\",\"model\":\"%s\","
        "\"inputTokens\":%d,\"outputTokens\":0}",
        ts, run, model, tokens);
}

TEST_WITH(keys_are_words, setup, teardown)
{
    enum usage_key k;
    struct err e = {0};
    assert_int_equal(usage_key_parse(STR("user"), &k, &e), 0);
    assert_int_equal(k, USAGE_BY_USER);
    assert_int_equal(usage_key_parse(STR("hour"), &k, &e), -EINVAL);
}

TEST_WITH(an_empty_store, setup, teardown)
{
    struct world *w = *state;
    ask(w, &(struct usage_query){0});
    assert_int_equal(w->report.n, 0);
    assert_int_equal(w->report.total.calls, 0);
}

TEST_WITH(users_are_those_who_started_the_runs, setup, teardown)
{
    struct world *w = *state;
    str events[] = {
        STR("{\"ts\":\"2026-03-01T10:00:00Z\",\"type\":\"run.start\",\"runId\":\"run_a\","
            "\"userId\":\"usr_ann\"}"),
        response(w, "2026-03-01T10:00:01Z", "run_a", "claude-opus-5", 1000000),
        response(w, "2026-03-01T10:00:02Z", "run_gone", "claude-opus-5", 1),
    };
    create(w, "usr_owner", events, ARRAY_LEN(events));
    ask(w, &(struct usage_query){.by = USAGE_BY_USER});
    assert_int_equal(w->report.n, 2);
    assert_true(str_eq(w->rows[0].key, STR("usr_ann")));
    assert_true(w->rows[0].cost_usd == 5.0);
    assert_true(str_eq(w->rows[1].key, STR("usr_owner")));
}

TEST_WITH(others_see_only_what_they_may, setup, teardown)
{
    struct world *w = *state;
    str mine[] = {response(w, "2026-03-01T10:00:01Z", "run_a", "demo", 1)};
    str theirs[] = {response(w, "2026-03-01T10:00:01Z", "run_b", "demo", 10)};
    create(w, "usr_me", mine, 1);
    create(w, "usr_other", theirs, 1);
    struct principal p = {.user_id = STR("usr_me"), .scopes = SCOPE_ALL};
    struct actor *me = actor_new(NULL, STR("ws_a"), &p, (struct json_strs){0});
    ask(w, &(struct usage_query){.actor = me});
    actor_unref(me);
    assert_int_equal(w->report.total.usage.input_tokens, 1);
    ask(w, &(struct usage_query){0});
    assert_int_equal(w->report.total.usage.input_tokens, 11);
}

TEST_WITH(a_price_that_is_not_known_is_counted, setup, teardown)
{
    struct world *w = *state;
    str events[] = {
        response(w, "2026-03-01T10:00:01Z", "r", "nobody:knows", 5),
        response(w, "2026-03-01T10:00:02Z", "r", "nobody:knows", 0), /* cost nothing anyway */
        STR("{\"ts\":\"2026-03-01T10:00:03Z\",\"type\":\"aux.usage\",\"source\":\"title\","
            "\"model\":\"nobody:knows\",\"inputTokens\":7,\"outputTokens\":0,\"costUsd\":0.5}"),
    };
    create(w, "usr_me", events, ARRAY_LEN(events));
    ask(w, &(struct usage_query){.by = USAGE_BY_MODEL});
    assert_int_equal(w->rows[0].calls, 3);
    assert_int_equal(w->rows[0].unpriced, 1);
    assert_true(w->rows[0].cost_usd == 0.5);
}

/* One conversation of more events than fit in a page, and more models than rows. */
TEST_WITH(too_many_keys_are_counted_together, setup, teardown)
{
    enum { MODELS = USAGE_ROWS_MAX + 50 };
    struct world *w = *state;
    static str events[MODELS];
    for (int i = 0; i < MODELS; i++) {
        char model[32];
        (void)snprintf(model, sizeof model, "m%d", i);
        events[i] = response(w, "2026-03-01T10:00:01Z", "r", model, 1);
    }
    create(w, "usr_me", events, MODELS);
    ask(w, &(struct usage_query){.by = USAGE_BY_MODEL});
    assert_int_equal(w->report.n, USAGE_ROWS_MAX + 1);
    assert_int_equal(w->report.total.calls, MODELS);
    assert_true(str_eq(w->rows[0].key, STR("other"))); /* 50 tokens, the others one each */
    assert_int_equal(w->rows[0].calls, 50);
}

TEST_WITH(a_cancelled_job_is_silent, setup, teardown)
{
    struct world *w = *state;
    str events[] = {response(w, "2026-03-01T10:00:01Z", "r", "demo", 1)};
    create(w, "usr_me", events, 1);
    w->is_done = false;
    usage_cancel(usage_start(w->rig.store, w->llm, &(struct usage_query){0}, on_usage, w));
    usage_cancel(NULL);
    assert_false(loop_run_until(w->rig.loop, &w->is_done, 50));
}
