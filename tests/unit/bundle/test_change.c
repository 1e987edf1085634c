/* The clock, the pool, the settings file, the records and the bundles are the test's own. */
#include <errno.h>

#include "base/clock.h"
#include "bundle/change.h"
#include "bundle/settings/settings.h"
#include "loop/timer.h"
#include "support/unit.h"
#include "workspace/deed.h"

/* ---- time and other threads ---- */

static uint64_t now_ms;
static struct timer *timer;
static struct job *job;

uint64_t clock_mono_ms(void)
{
    return now_ms;
}

void timer_init(struct timer *t, struct loop *l, loop_fn fn, void *ctx)
{
    *t = (struct timer){.fn = fn, .ctx = ctx};
}

void timer_stop(struct timer *t)
{
    timer = timer == t ? NULL : timer;
}

void timer_start(struct timer *t, uint64_t delay_ms)
{
    t->due_ms = now_ms + delay_ms;
    timer = t;
}

void pool_submit(struct pool *p, struct job *j)
{
    assert_null(job);
    job = j;
}

/* ---- nothing is recorded ---- */

struct deed *deed_begin(struct audit *log, const struct doer *by, str action, str target)
{
    return NULL;
}

void deed_set(struct deed *d, str action, str target) {}

void deed_detail(struct deed *d, const char *fmt, ...) {}

void deed_end(struct deed *d, const struct err *err) {}

str deed_plain_url(str url)
{
    return url;
}

/* Whatever is next: the pool's job, or the timer, however long that takes. False: nothing. */
static bool step(void)
{
    struct job *j = job;
    struct timer *t = timer;
    if (j) {
        job = NULL;
        j->work(j);
        j->done(j);
        return true;
    }
    if (!t)
        return false;
    timer = NULL;
    now_ms = t->due_ms;
    t->fn(t->ctx);
    return true;
}

/* ---- the settings ---- */

static bool is_in_file;
static int write_code; /* what becomes of the next writes */

int settings_add_bundle(const char *path, const struct json *entry, struct err *e)
{
    assert_string_equal(path, "/settings");
    is_in_file = write_code == 0;
    return write_code ? err_set(e, write_code, "the file is full") : 0;
}

int settings_remove_bundle(const char *path, str server_name, struct err *e)
{
    is_in_file = write_code != 0;
    return write_code ? err_set(e, write_code, "the file is full") : 0;
}

/* ---- the bundles ---- */

static struct bundle_info known;
static bool is_known, follows;
static enum bundle_state next_state;
static int looks;

struct bundle *bundles_find(const struct bundles *s, str server_name)
{
    return is_known && str_eq(server_name, STR("srv")) ? (struct bundle *)&known : NULL;
}

const struct bundle_info *bundle_info(struct bundle *b)
{
    return &known;
}

static void look(void *ctx)
{
    looks++;
    if (!follows)
        return;
    is_known = is_in_file;
    known = (struct bundle_info){.state = next_state, .reason = STR("no luck")};
}

/* ---- one change ---- */

static struct bundle_changer changer;
static int ends;
static struct bundle *got;
static struct err why;

static void on_end(void *ctx, struct bundle *b, const struct err *err)
{
    ends++;
    got = b;
    why = err ? *err : (struct err){0};
}

static int set_up(void **state)
{
    now_ms = 1000;
    timer = NULL;
    job = NULL;
    is_in_file = is_known = false;
    follows = true;
    write_code = looks = ends = 0;
    known = (struct bundle_info){0};
    next_state = BUNDLE_RUNNING;
    changer = (struct bundle_changer){.look = look, .settings_path = "/settings"};
    list_init(&changer.ops);
    return 0;
}

static struct bundle_change_op *add(const char *entry)
{
    struct arena a;
    struct json *doc;
    arena_init(&a);
    assert_int_equal(json_parse(&a, str_from(entry), 0, &doc, NULL), 0);
    struct bundle_change_op *op = bundle_add(&changer, doc, NULL, on_end, NULL);
    arena_done(&a); /* everything was copied */
    assert_int_equal(ends, 0);
    return op;
}

#define ENTRY "{\"command\":\"srv\",\"serverName\":\"srv\"}"

static void run_to_the_end(void)
{
    for (int i = 0; i < 5000 && step(); i++)
        ;
    assert_null(timer);
}

TEST_WITH(one_that_starts_is_added, set_up, NULL)
{
    (void)add(ENTRY);
    run_to_the_end();
    assert_true(ends == 1 && got != NULL && why.code == 0 && is_in_file);
}

TEST_WITH(one_that_fails_is_taken_back, set_up, NULL)
{
    static const enum bundle_state STATES[] = {BUNDLE_CRASHED, BUNDLE_DEAD, BUNDLE_STOPPED};
    for (size_t i = 0; i < ARRAY_LEN(STATES); i++) {
        set_up(NULL);
        next_state = STATES[i];
        (void)add(ENTRY);
        run_to_the_end();
        assert_true(ends == 1 && !got && why.code == -ECONNABORTED && !is_in_file);
        assert_string_equal(why.msg, "'srv' did not start: no luck");
        assert_int_equal(looks, 2);
        assert_true(now_ms < 1000 + 1000);
    }
}

TEST_WITH(one_that_starts_for_too_long_is_taken_back, set_up, NULL)
{
    next_state = BUNDLE_STARTING;
    (void)add(ENTRY);
    run_to_the_end();
    assert_true(ends == 1 && why.code == -ETIMEDOUT && !is_in_file);
    assert_in_range(now_ms - 1000, BUNDLE_CHANGE_MS, BUNDLE_CHANGE_MS + 1000);
}

TEST_WITH(one_that_nobody_sees_is_taken_back_too, set_up, NULL)
{
    follows = false;
    (void)add(ENTRY);
    run_to_the_end();
    assert_true(ends == 1 && why.code == -ETIMEDOUT && !is_in_file);
}

TEST_WITH(what_cannot_be_taken_back_is_said, set_up, NULL)
{
    next_state = BUNDLE_DEAD;
    (void)add(ENTRY);
    assert_true(step()); /* written */
    write_code = -ENOSPC;
    run_to_the_end();
    assert_true(ends == 1 && is_in_file);
    assert_non_null(strstr(why.msg, "stays in the settings (the file is full)"));
}

TEST_WITH(what_is_wrong_is_told_later_and_writes_nothing, set_up, NULL)
{
    (void)add("{}");
    run_to_the_end();
    assert_true(ends == 1 && why.code == -EINVAL && looks == 0 && !is_in_file);
    is_known = true;
    ends = 0;
    (void)add(ENTRY);
    run_to_the_end();
    assert_true(ends == 1 && why.code == -EEXIST && looks == 0);
    is_known = false;
    ends = 0;
    write_code = -EROFS;
    (void)add(ENTRY);
    run_to_the_end();
    assert_true(ends == 1 && why.code == -EROFS && looks == 0);
}

TEST_WITH(an_address_that_is_not_allowed_is_told_before_anything_is_written, set_up, NULL)
{
    (void)add("{\"url\":\"http://127.0.0.1:9/mcp\",\"serverName\":\"srv\"}");
    run_to_the_end();
    assert_true(ends == 1 && why.code == -EACCES && looks == 0 && !is_in_file);
    assert_non_null(strstr(why.msg, "loopback"));
    ends = 0;
    changer.allow_insecure_remotes = true;
    (void)add("{\"url\":\"http://127.0.0.1:9/mcp\",\"serverName\":\"srv\"}");
    run_to_the_end();
    assert_true(ends == 1 && why.code == 0 && is_in_file);
}

/* As a workspace does when it is closed: it is gone when the pool comes back. */
static void leave(void)
{
    bundle_changer_done(&changer);
    assert_true(list_empty(&changer.ops));
    memset(&changer, 0x55, sizeof changer);
}

TEST_WITH(nothing_follows_when_the_changer_goes, set_up, NULL)
{
    bundle_change_cancel(add(ENTRY));
    leave(); /* while the file is being written */
    run_to_the_end();
    assert_true(ends == 0 && looks == 0 && is_in_file);
    set_up(NULL);
    next_state = BUNDLE_STARTING;
    bundle_change_cancel(add(ENTRY));
    assert_true(step());
    assert_true(step());
    leave(); /* while it starts */
    assert_false(step());
    assert_true(ends == 0 && looks == 1);
}

TEST_WITH(a_removal_is_waited_for, set_up, NULL)
{
    is_known = is_in_file = true;
    (void)bundle_remove(&changer, STR("srv"), NULL, on_end, NULL);
    assert_int_equal(ends, 0);
    run_to_the_end();
    assert_true(ends == 1 && why.code == 0 && !is_in_file);
    is_known = is_in_file = true;
    follows = false;
    ends = 0;
    (void)bundle_remove(&changer, STR("srv"), NULL, on_end, NULL);
    run_to_the_end();
    assert_true(ends == 1 && why.code == -ETIMEDOUT);
    assert_non_null(strstr(why.msg, "has not stopped yet"));
    known.kind = BUNDLE_BUILT_IN;
    ends = 0;
    (void)bundle_remove(&changer, STR("srv"), NULL, on_end, NULL);
    run_to_the_end();
    assert_true(ends == 1 && why.code == -EPERM);
}

TEST_WITH(who_does_not_listen_any_more_hears_nothing, set_up, NULL)
{
    bundle_change_cancel(add(ENTRY));
    run_to_the_end();
    assert_true(ends == 0 && is_in_file); /* it still happened */
}
