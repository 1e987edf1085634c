/* The file, the pool and the authorization server are the test's own. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "bundle/oauth/token.h"
#include "loop/timer.h"
#include "unit/bundle/arena_rig.h"

static struct job *job;
static struct timer *limit, *again;
static char dir[] = "/tmp/nb-token-XXXXXX";
static struct list_node queue;
static struct oauth_state file;
static char kept[64]; /* the refresh token that was saved last */
static int load_code, save_code, saves, refreshes, cancelled;
static oauth_done_fn on_refreshed;
static void *on_refreshed_ctx;

void pool_run(struct pool *p, struct job *j, void (*work)(struct job *j),
              void (*done)(struct job *j))
{
    assert_null(job);
    *j = (struct job){.work = work, .done = done};
    job = j;
}

void timer_init(struct timer *t, struct loop *l, loop_fn fn, void *ctx)
{
    *t = (struct timer){.fn = fn, .ctx = ctx};
}

void timer_start(struct timer *t, uint64_t delay_ms)
{
    if (delay_ms != TOKEN_LEFT_MS) {
        again = t;
        return;
    }
    limit = t;
}

void timer_stop(struct timer *t)
{
    limit = limit == t ? NULL : limit;
}

static void run_one(void)
{
    struct job *j = job;
    assert_non_null(j);
    job = NULL;
    j->work(j);
    j->done(j);
}

static int ends;

/* With the lock that a refresh begins with: a job after which nothing has happened yet. */
static void run_job(void)
{
    int before = ends + saves;
    run_one();
    if (job && ends + saves == before)
        run_one();
}

int oauth_state_load(struct arena *a, const char *from, str slug, struct oauth_state *ret,
                     struct err *e)
{
    assert_string_equal(from, dir);
    *ret = file;
    return load_code ? err_set(e, load_code, "nothing") : 0;
}

int oauth_state_save(const char *to, str slug, const struct oauth_state *s, struct err *e)
{
    assert_string_equal(to, dir);
    saves++;
    file.expires_ms = s->expires_ms;
    snprintf(kept, sizeof kept, "%.*s", STR_ARG(s->refresh_token));
    return save_code ? err_set(e, save_code, "full") : 0;
}

struct oauth_refresh *oauth_refresh_start(struct loop *l, struct fetcher *f, unsigned fetch_flags,
                                          const struct oauth_state *s, oauth_done_fn fn, void *ctx)
{
    refreshes++;
    on_refreshed = fn;
    on_refreshed_ctx = ctx;
    return (struct oauth_refresh *)&refreshes;
}

void oauth_refresh_cancel(struct oauth_refresh *r)
{
    cancelled += r != NULL;
}

static char got[64];
static struct err why;

static void on_token(void *ctx, str token, const struct err *err)
{
    ends++;
    why = err ? *err : (struct err){0};
    snprintf(got, sizeof got, "%.*s", STR_ARG(token));
}

/* Whose directory it is may be gone when the file is read, for somebody who has left. */
static struct token_get *begin(bool is_refused)
{
    int before = ends;
    char own[sizeof dir];
    memcpy(own, dir, sizeof dir);
    struct token_want w = {.queue = &queue,
                           .credentials_dir = own,
                           .slug = STR("far"),
                           .server_name = STR("far"),
                           .url = STR("https://x/mcp"),
                           .refused = is_refused ? STR("one") : STR_NONE};
    struct token_get *g = token_get(&w, on_token, NULL);
    memset(own, '?', sizeof own - 1);
    assert_int_equal(ends, before);
    return g;
}

static int set_up(void **state)
{
    file = (struct oauth_state){.resource = STR("https://x"),
                                .access_token = STR("one"),
                                .refresh_token = STR("two"),
                                .expires_ms = clock_now_ms() + 3600000};
    load_code = save_code = saves = refreshes = cancelled = ends = 0;
    job = NULL;
    limit = again = NULL;
    kept[0] = '\0';
    list_init(&queue);
    return 0;
}

TEST_WITH(one_that_holds_is_used, set_up, NULL)
{
    (void)begin(false);
    run_job();
    assert_true(ends == 1 && why.code == 0 && refreshes == 0);
    assert_string_equal(got, "one");
    file.expires_ms = 0; /* nobody said when it ends */
    ends = 0;
    (void)begin(false);
    run_job();
    assert_true(ends == 1 && refreshes == 0);
}

TEST_WITH(one_that_ends_soon_or_was_refused_is_refreshed, set_up, NULL)
{
    struct oauth_state fresh = {.access_token = STR("three"), .expires_ms = 99};
    for (int i = 0; i < 2; i++) {
        set_up(NULL);
        file.expires_ms = i ? file.expires_ms : clock_now_ms() + OAUTH_EARLY_MS / 2;
        (void)begin(i == 1);
        run_job();
        assert_true(refreshes == 1 && ends == 0);
        on_refreshed(on_refreshed_ctx, &fresh, NULL);
        assert_int_equal(ends, 0); /* it is kept before it is used */
        run_job();
        assert_true(ends == 1 && why.code == 0 && saves == 1 && file.expires_ms == 99);
        assert_string_equal(got, "three");
    }
}

TEST_WITH(who_has_to_sign_in_is_told_how, set_up, NULL)
{
    load_code = -ENOKEY;
    (void)begin(false);
    run_job();
    assert_true(ends == 1 && why.code == -ENOKEY);
    assert_non_null(strstr(why.msg, "nb bundle auth far"));
    set_up(NULL);
    file.resource = STR("https://other");
    (void)begin(false);
    run_job();
    assert_true(ends == 1 && why.code == -ENOKEY && got[0] == '\0');
    set_up(NULL);
    file.refresh_token = STR_NONE;
    (void)begin(true);
    run_job();
    assert_true(ends == 1 && why.code == -EACCES && refreshes == 0);
    assert_non_null(strstr(why.msg, "nb bundle auth far"));
}

TEST_WITH(what_may_pass_is_no_reason_to_sign_in, set_up, NULL)
{
    struct err down = {-EHOSTUNREACH, "no way there"};
    (void)begin(true);
    run_job();
    on_refreshed(on_refreshed_ctx, NULL, &down);
    assert_true(ends == 1 && why.code == -EHOSTUNREACH);
    assert_string_equal(why.msg, "no way there");
}

static const struct oauth_state ROTATED = {
    .access_token = STR("three"), .refresh_token = STR("four"), .expires_ms = 99};

TEST_WITH(who_cancels_begins_nothing_new, set_up, NULL)
{
    token_cancel(begin(true)); /* while the file is being read */
    run_job();
    assert_true(ends == 1 && why.code == -ECANCELED && refreshes == 0 && list_empty(&queue));
}

TEST_WITH(a_refresh_that_was_sent_is_kept_though_nobody_waits, set_up, NULL)
{
    struct token_get *g = begin(true);
    run_job();
    token_cancel(g);
    assert_true(ends == 0 && cancelled == 0 && limit);
    on_refreshed(on_refreshed_ctx, &ROTATED, NULL);
    assert_true(ends == 0 && !limit);
    run_job();
    assert_true(ends == 1 && why.code == -ECANCELED && got[0] == '\0' && saves == 1);
    assert_string_equal(kept, "four");
}

TEST_WITH(an_answer_that_does_not_come_is_not_waited_for_without_end, set_up, NULL)
{
    struct token_get *g = begin(true);
    run_job();
    assert_null(limit); /* whoever waits decides how long */
    token_cancel(g);
    limit->fn(limit->ctx);
    assert_true(ends == 1 && why.code == -ECANCELED && cancelled == 1 && saves == 0);
    assert_true(list_empty(&queue) && !limit);
}

TEST_WITH(no_token_is_sent_twice, set_up, NULL)
{
    struct token_get *g = begin(true);
    run_job();
    token_cancel(g);
    struct token_get *second = begin(false);
    (void)begin(false);
    assert_null(job); /* they wait for the first */
    token_cancel(second);
    on_refreshed(on_refreshed_ctx, &ROTATED, NULL);
    run_job();
    assert_true(ends == 2 && saves == 1 && refreshes == 1);
    file.access_token = ROTATED.access_token;
    file.expires_ms = 0;
    run_job();
    assert_true(ends == 3 && why.code == 0 && refreshes == 1 && list_empty(&queue));
    assert_string_equal(got, "three");
}

TEST_WITH(who_signed_in_or_out_meanwhile_is_right, set_up, NULL)
{
    (void)begin(true);
    run_job();
    file.access_token = STR("newer");
    file.refresh_token = STR("newest");
    on_refreshed(on_refreshed_ctx, &ROTATED, NULL);
    run_job();
    assert_true(ends == 1 && why.code == 0 && saves == 0);
    assert_string_equal(got, "newer");
    static const int CODES[] = {-ENOKEY, 0}; /* nobody; somebody elsewhere */
    for (size_t i = 0; i < ARRAY_LEN(CODES); i++) {
        set_up(NULL);
        (void)begin(true);
        run_job();
        load_code = CODES[i];
        file.resource = STR("https://other");
        on_refreshed(on_refreshed_ctx, &ROTATED, NULL);
        run_job();
        assert_true(ends == 1 && why.code == -ENOKEY && saves == 0 && got[0] == '\0');
    }
}

/* Beside this process another one refreshes the same token. */
TEST_WITH(what_another_process_refreshed_is_used, set_up, NULL)
{
    char path[64];
    snprintf(path, sizeof path, "%s/.far.refresh.lock", dir);
    int other = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(other >= 0 && flock(other, LOCK_EX) == 0);
    (void)begin(true);
    run_job();
    assert_true(refreshes == 0 && ends == 0 && again);
    close(other);
    file.access_token = STR("theirs");
    again->fn(again->ctx);
    run_job();
    assert_true(refreshes == 0 && ends == 1 && why.code == 0);
    assert_string_equal(got, "theirs");
}

TEST_WITH(what_changed_before_the_lock_was_had_is_used, set_up, NULL)
{
    (void)begin(true);
    run_one();
    file.access_token = STR("theirs");
    run_one();
    assert_true(refreshes == 0 && ends == 1 && why.code == 0);
    assert_string_equal(got, "theirs");
}

TESTS_SHARE(setup, teardown)

int main(void)
{
    char path[64];
    assert(mkdtemp(dir));
    int rc = run_unit_tests("tests", NULL);
    snprintf(path, sizeof path, "%s/.far.refresh.lock", dir);
    (void)unlink(path);
    (void)rmdir(dir);
    return rc;
}
