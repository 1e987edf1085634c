#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/budget.h"
#include "support/tempdir.h"
#include "unit/store/rig.h"

#define MILLION 1000000 /* tokens of claude-opus-5 that cost 5 dollars */

struct world {
    struct rig rig;
    struct llm *llm;
    struct pool *pool;
    struct tempdir dir;
    struct arena arena;
    struct budgets *b;
    char path[128];
    bool is_done;
    int code;
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    struct err e = {0};
    rig_init(&w->rig, "memory", NULL);
    w->llm = llm_new(w->rig.loop, NULL, &(struct llm_conf){0}, NULL, &e);
    assert_non_null(w->llm);
    w->pool = pool_new(w->rig.loop, "test", 1);
    arena_init(&w->arena);
    tempdir_make(&w->dir);
    snprintf(w->path, sizeof w->path, "%s/budgets.json", w->dir.path);
    w->b = budgets_open(&(struct doc_place){.pool = w->pool, .path = w->path});
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    budgets_stop(w->b);
    budgets_free(w->b);
    pool_free(w->pool);
    llm_free(w->llm);
    rig_done(&w->rig);
    arena_done(&w->arena);
    tempdir_drop(&w->dir);
    free(w);
    return 0;
}

static void on_changed(void *ctx, const struct err *err)
{
    struct world *w = ctx;
    w->code = err ? err->code : 0;
    w->is_done = true;
}

static int set(struct world *w, const char *key, const char *amount)
{
    struct json *v = NULL;
    struct budget_edit edit = {0};
    assert_int_equal(json_parse(&w->arena, str_from(amount), JSON_COPY, &v, NULL), 0);
    if (strcmp(key, "workspace") == 0)
        edit.workspace = v;
    else if (strcmp(key, "person") == 0)
        edit.person = v;
    else
        edit.people = v;
    w->is_done = false;
    budgets_change(w->b, &edit, on_changed, w);
    assert_true(loop_run_until(w->rig.loop, &w->is_done, RIG_WAIT_MS));
    return w->code;
}

static str response(struct world *w, const char *model, int tokens, const char *more)
{
    char now[CLOCK_ISO_LEN + 1];
    clock_iso(clock_now_ms(), now);
    return arena_printf(&w->arena,
                        "{\"ts\":\"%s\",\"type\":\"llm.response\",\"runId\":\"run_a\","
                        "\"model\":\"%s\",\"inputTokens\":%d,\"outputTokens\":0%s}",
                        now, model, tokens, more);
}

static void on_created(void *ctx, const struct err *err, const struct conv *conv)
{
    struct world *w = ctx;
    assert_null(err);
    w->is_done = true;
}

/* A conversation of this month. */
static void create(struct world *w, const char *owner, int tokens)
{
    str line = response(w, "claude-opus-5", tokens, "");
    struct conv_create spec = {.owner_id = str_from(owner), .events = &line, .nevents = 1};
    w->is_done = false;
    int64_t at = clock_now_ms(); /* of the line, or later */
    store_create(w->rig.store, &spec, on_created, w);
    assert_true(loop_run_until(w->rig.loop, &w->is_done, RIG_WAIT_MS));
    while (clock_now_ms() <= at) /* the logs are read up to the millisecond of the start */
        (void)usleep(200);
}

static const struct json *shown(struct world *w, const char *user, bool is_admin)
{
    struct buf b;
    struct json_writer out;
    struct json *v = NULL;
    jw_start(&out, &b, 1 << 20);
    jw_object(&out);
    budgets_write(w->b, str_from(user), is_admin, &out);
    jw_end(&out);
    assert_int_equal(json_parse(&w->arena, buf_keep_whole(&b, &w->arena), JSON_COPY, &v, NULL), 0);
    return v;
}

static bool has_state(struct world *w, const char *user, const char *part, const char *state)
{
    return str_eq(json_get_string(json_get(shown(w, user, false), part), "state"), str_from(state));
}

static int check(struct world *w, const char *user)
{
    struct err e = {0};
    return budgets_check(w->b, str_from(user), &e);
}

static void note(struct world *w, str user, str line)
{
    (void)budgets_note(w->b, user, &line, 1);
}

/* Until the logs of the month are read. */
static void read_logs(struct world *w)
{
    bool never = false;
    while (json_get_bool(shown(w, "usr_ann", false), "isCounting", true))
        (void)loop_run_until(w->rig.loop, &never, 1);
}

TEST_WITH(without_a_limit_nothing_is_refused_or_counted, setup, teardown)
{
    struct world *w = *state;
    budgets_start(w->b, w->rig.store, w->llm);
    note(w, STR("usr_ann"), response(w, "claude-opus-5", MILLION, ""));
    assert_int_equal(check(w, "usr_ann"), 0);
    assert_true(has_state(w, "usr_ann", "personal", "unlimited"));
    assert_int_equal(budgets_check(NULL, STR("usr_ann"), NULL), 0);
    assert_true(budgets_note(NULL, STR("usr_ann"), &STR("{}"), 1).usd == 0);
}

TEST_WITH(the_month_so_far_and_each_call_count, setup, teardown)
{
    struct world *w = *state;
    create(w, "usr_ann", MILLION);
    create(w, "usr_ben", MILLION);
    assert_int_equal(set(w, "people", "{\"usr_ann\":12}"), 0);
    budgets_start(w->b, w->rig.store, w->llm);
    read_logs(w);
    assert_true(has_state(w, "usr_ann", "personal", "ok")); /* 5 of 12 */
    note(w, STR("usr_ann"), response(w, "claude-opus-5", MILLION, ""));
    assert_true(has_state(w, "usr_ann", "personal", "warning")); /* 10 of 12 */
    note(w, STR("usr_ann"), response(w, "nobody-knows-it", MILLION, ""));
    note(w, STR("usr_ann"), response(w, "claude-opus-5", MILLION, ",\"quoted\":true"));
    note(w, STR("usr_ann"), STR("not json"));
    assert_int_equal(check(w, "usr_ann"), 0);
    note(w, STR("usr_ann"), response(w, "claude-opus-5", MILLION, ""));
    assert_int_equal(check(w, "usr_ann"), -EDQUOT);
    assert_int_equal(check(w, "usr_ben"), 0);
    assert_int_equal(set(w, "people", "{\"usr_ann\":null}"), 0);
    assert_int_equal(check(w, "usr_ann"), 0);
}

TEST_WITH(the_workspace_has_a_budget_of_its_own, setup, teardown)
{
    struct world *w = *state;
    create(w, "usr_ann", MILLION);
    assert_int_equal(set(w, "workspace", "10"), 0);
    assert_int_equal(set(w, "person", "1000"), 0);
    budgets_start(w->b, w->rig.store, w->llm);
    read_logs(w);
    assert_int_equal(check(w, "usr_cyd"), 0);
    note(w, STR("usr_ben"), response(w, "claude-opus-5", MILLION, ""));
    assert_int_equal(check(w, "usr_cyd"), -EDQUOT);
    assert_null(json_get(json_get(shown(w, "usr_cyd", false), "workspace"), "spentUsd"));
    assert_non_null(json_get(json_get(shown(w, "usr_cyd", true), "workspace"), "spentUsd"));
    assert_int_equal(set(w, "workspace", "0"), 0); /* nothing at all */
    assert_int_equal(check(w, "usr_cyd"), -EDQUOT);
}

TEST_WITH(an_amount_is_a_number_of_dollars, setup, teardown)
{
    static const char *const BAD[] = {"-1", "\"5\"", "true", "1e12", "[]"};
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(set(w, "workspace", BAD[i]), -EINVAL);
    assert_int_equal(set(w, "people", "{\"usr_ann\":\"x\"}"), -EINVAL);
    assert_int_equal(set(w, "workspace", "2.5"), 0);
    assert_int_equal(set(w, "workspace", "null"), 0);
}
