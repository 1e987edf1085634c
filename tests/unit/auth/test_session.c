#include <sys/stat.h>

#include "auth/session/session_impl.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

enum { PATIENCE_MS = 60000, DAY = 86400000 };

static const struct session_policy POLICY = {
    .value_ms = 3600000, .idle_ms = 7 * (int64_t)DAY, .absolute_ms = 30 * (int64_t)DAY};

static struct tempdir dir;
static struct loop *loop;
static struct sessions *s;
static int64_t now;
static int ended;

static int64_t the_time(void)
{
    return now;
}

static void on_ended(void *ctx, const struct login_session *x)
{
    ended++;
}

static void open_again(const char *origin)
{
    sessions_free(s);
    s = sessions_new(loop, NULL, dir.path, NULL, str_from(origin), the_time, on_ended, NULL);
}

static int begin(void **state)
{
    now = 1800000000000;
    ended = 0;
    s = NULL;
    loop = loop_new(NULL);
    int r = tempdir_make(&dir);
    open_again("local");
    return r;
}

static int end(void **state)
{
    sessions_free(s);
    loop_free(loop);
    return tempdir_drop(&dir);
}

static str value_of(const struct session_values *v)
{
    return str_from(v->value);
}

TEST_WITH(found_by_its_value_only, begin, end)
{
    struct session_values v;
    const struct login_session *x = session_begin(s, STR("usr_a"), &POLICY, STR_NONE, &v);
    assert_ptr_equal(session_find(s, value_of(&v)), x);
    assert_null(session_find(s, str_from(v.refresh)));
    assert_null(session_find(s, str_from(x->id)));
    assert_null(session_find(s, str_from(x->value_hash)));
    assert_null(session_find(s, STR_NONE));
    session_end(s, x);
    assert_null(session_find(s, value_of(&v)));
    assert_int_equal(ended, 1);
}

TEST_WITH(time_ends_it, begin, end)
{
    struct session_values v;
    struct session_policy idle = {.value_ms = 90 * (int64_t)DAY,
                                  .idle_ms = 7 * (int64_t)DAY,
                                  .absolute_ms = 30 * (int64_t)DAY};
    session_begin(s, STR("usr_a"), &POLICY, STR_NONE, &v);
    now += POLICY.value_ms - 1;
    assert_non_null(session_find(s, value_of(&v)));
    now += 1;
    assert_null(session_find(s, value_of(&v))); /* may still be refreshed */
    assert_int_equal(ended, 0);

    session_begin(s, STR("usr_b"), &idle, STR_NONE, &v);
    now += idle.idle_ms - 1;
    assert_non_null(session_find(s, value_of(&v)));
    now += idle.idle_ms;
    assert_null(session_find(s, value_of(&v)));
    assert_int_equal(ended, 1);

    session_begin(s, STR("usr_c"), &idle, STR_NONE, &v);
    for (int i = 0; i < 29; i++) {
        now += DAY;
        assert_non_null(session_find(s, value_of(&v)));
    }
    now += DAY;
    assert_null(session_find(s, value_of(&v)));
}

TEST_WITH(rotation, begin, end)
{
    struct session_values v, w, u;
    bool is_spent;
    const struct login_session *x = session_begin(s, STR("usr_a"), &POLICY, STR("p1"), &v);
    now += POLICY.value_ms;
    assert_ptr_equal(session_find_refresh(s, str_from(v.refresh), &is_spent), x);
    assert_false(is_spent);
    session_rotate(s, x, STR("p2"), &w);
    assert_true(str_eq(x->provider_refresh, STR("p2")));
    assert_ptr_equal(session_find(s, value_of(&w)), x);
    assert_ptr_equal(session_find(s, value_of(&v)), x); /* requests on their way */

    /* Another tab comes with the old one just now: no harm, and nothing new. */
    assert_ptr_equal(session_find_refresh(s, str_from(v.refresh), &is_spent), x);
    assert_true(is_spent);
    now += SESSION_GRACE_MS;
    assert_null(session_find(s, value_of(&v)));
    session_rotate(s, x, STR_NONE, &u);
    assert_true(str_eq(x->provider_refresh, STR("p2")));
    now += SESSION_GRACE_MS;
    /* v is older than the last one: unknown. w was spent: somebody has stolen it. */
    assert_null(session_find_refresh(s, str_from(v.refresh), &is_spent));
    assert_int_equal(ended, 0);
    assert_null(session_find_refresh(s, str_from(w.refresh), &is_spent));
    assert_int_equal(ended, 1);
    assert_null(session_find(s, value_of(&u)));
}

TEST_WITH(by_user, begin, end)
{
    struct session_values v[4];
    const struct login_session *x[4];
    for (int i = 0; i < 4; i++) {
        x[i] = session_begin(s, i < 3 ? STR("usr_a") : STR("usr_b"), &POLICY, STR_NONE, &v[i]);
        now += 1000;
    }
    sessions_end_user(s, STR("usr_a"), x[1]->created_ms);
    assert_int_equal(ended, 1); /* the first; the others are too young */
    assert_null(session_find(s, value_of(&v[0])));
    assert_non_null(session_find(s, value_of(&v[1])));
    sessions_end_user(s, STR("usr_a"), INT64_MAX);
    assert_int_equal(map_len(&s->all), 1);
    assert_non_null(session_find(s, value_of(&v[3])));
}

static void note(void *ctx, const struct err *err)
{
    assert_int_equal(err->code, 0);
    *(bool *)ctx = true;
}

TEST_WITH(a_restart_logs_nobody_out, begin, end)
{
    struct session_values v, w;
    struct stat st;
    char path[128];
    bool is_done = false, is_spent;
    struct session_wait wait = {.fn = note, .ctx = &is_done};
    const struct login_session *x = session_begin(s, STR("usr_a"), &POLICY, STR("p"), &v);
    char id[32];
    memcpy(id, x->id, sizeof id);
    sessions_sync(s, &wait);
    assert_false(is_done);
    assert_true(loop_run_until(loop, &is_done, PATIENCE_MS));
    snprintf(path, sizeof path, "%s/auth/sessions.json", dir.path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct arena a;
    str text;
    arena_init(&a);
    assert_int_equal(file_read(&a, path, 100000, &text, NULL), 0);
    assert_true(str_find(text, str_from(v.value), 0) < 0); /* hashes only */
    assert_true(str_find(text, str_from(v.refresh), 0) < 0);
    arena_done(&a);

    open_again("local");
    x = session_find(s, value_of(&v));
    assert_non_null(x);
    assert_string_equal(x->id, id);
    assert_true(str_eq(x->provider_refresh, STR("p")));
    session_rotate(s, x, STR_NONE, &w);
    open_again("local");
    now += SESSION_GRACE_MS;
    assert_null(session_find_refresh(s, str_from(v.refresh), &is_spent)); /* still remembered */
    assert_int_equal(map_len(&s->all), 0);
    session_begin(s, STR("usr_a"), &POLICY, STR("p"), &v);
    open_again("oidc");
    assert_int_equal(map_len(&s->all), 0);
}

TEST_WITH(what_ended_stays_ended, begin, end)
{
    struct session_values v;
    bool is_done = false;
    struct session_wait wait = {.fn = note, .ctx = &is_done};
    const struct login_session *x = session_begin(s, STR("usr_a"), &POLICY, STR_NONE, &v);
    session_end(s, x);
    sessions_sync(s, &wait);
    assert_true(loop_run_until(loop, &is_done, PATIENCE_MS));
    open_again("local");
    assert_null(session_find(s, value_of(&v)));
    is_done = false;
    sessions_sync(s, &wait); /* nothing to write: still an answer */
    assert_true(loop_run_until(loop, &is_done, PATIENCE_MS));
}

TEST_WITH(a_damaged_file, begin, end)
{
    char path[128];
    sessions_free(s);
    snprintf(path, sizeof path, "%s/auth", dir.path);
    assert_int_equal(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof path, "%s/auth/sessions.json", dir.path);
    assert_int_equal(file_write_atomic(path, STR("{\"sessions\":[{\"id\":1}"), 0600, NULL), 0);
    s = NULL;
    open_again("local");
    assert_int_equal(map_len(&s->all), 0);
}

TEST_WITH(not_too_many, begin, end)
{
    struct session_values first, v;
    session_begin(s, STR("usr_a"), &POLICY, STR_NONE, &first);
    for (int i = 0; i < SESSIONS_PER_USER; i++) {
        now++;
        session_begin(s, STR("usr_a"), &POLICY, STR_NONE, &v);
    }
    assert_int_equal(map_len(&s->all), SESSIONS_PER_USER);
    assert_null(session_find(s, value_of(&first)));
    assert_non_null(session_find(s, value_of(&v)));
}
