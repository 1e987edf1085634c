#include <unistd.h>

#include "os/file.h"
#include "runtime/consent.h"
#include "support/unit.h"

#define WAIT_MS 60000

struct world {
    struct loop *loop;
    struct pool *pool;
    struct consents c;
    char dir[32], path[64];
};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->loop = loop_new(NULL);
    w->pool = pool_new(w->loop, "test", 2);
    snprintf(w->dir, sizeof w->dir, "/tmp/nb-consent-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->path, sizeof w->path, "%s/permissions.json", w->dir);
    consents_init(&w->c, w->pool, NULL);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    pool_free(w->pool);
    consents_done(&w->c);
    loop_free(w->loop);
    (void)unlink(w->path);
    assert_int_equal(rmdir(w->dir), 0);
    free(w);
    return 0;
}

static void on_saved(void *ctx)
{
    *(bool *)ctx = true;
}

static void save(struct world *w)
{
    struct consent_save s;
    bool is_saved = false;
    consents_save(&w->c, &s, on_saved, &is_saved);
    assert_false(is_saved);
    assert_true(loop_run_until(w->loop, &is_saved, WAIT_MS));
}

static void assert_file(struct world *w, const char *want)
{
    struct arena a;
    str text = STR_NONE;
    arena_init(&a);
    assert_int_equal(file_read(&a, w->path, 1024 * 1024, &text, NULL), 0);
    assert_true(str_eq(text, str_from(want)));
    arena_done(&a);
}

TEST_WITH(what_is_saved_is_read_again, set_up, tear_down)
{
    struct world *w = *state;
    struct consents again;
    assert_int_equal(consents_load(&w->c, w->path, NULL), 0);
    assert_false(consents_has(&w->c, STR("ann"), STR("mail__send")));
    assert_true(consents_add(&w->c, STR("ann"), STR("mail__send")));
    assert_true(consents_add(&w->c, STR("ann"), STR("mail__send")));
    save(w);
    assert_file(w, "{\"consents\":[{\"tool\":\"mail__send\",\"userId\":\"ann\"}]}");

    consents_init(&again, w->pool, NULL);
    assert_int_equal(consents_load(&again, w->path, NULL), 0);
    assert_true(consents_has(&again, STR("ann"), STR("mail__send")));
    assert_false(consents_has(&again, STR("ann"), STR("mail__send_all")));
    consents_done(&again);
}

/* Two answers at once: whoever is told, finds all that was added before in the file. */
TEST_WITH(saves_do_not_overtake_each_other, set_up, tear_down)
{
    struct world *w = *state;
    struct consent_save one, two;
    bool is_one = false, is_two = false;
    assert_int_equal(consents_load(&w->c, w->path, NULL), 0);
    consents_add(&w->c, STR("ann"), STR("a"));
    consents_save(&w->c, &one, on_saved, &is_one);
    consents_add(&w->c, STR("ann"), STR("b"));
    consents_save(&w->c, &two, on_saved, &is_two);
    assert_true(loop_run_until(w->loop, &is_two, WAIT_MS));
    assert_true(is_one);
    assert_file(w, "{\"consents\":[{\"tool\":\"a\",\"userId\":\"ann\"},"
                   "{\"tool\":\"b\",\"userId\":\"ann\"}]}");
}

TEST_WITH(a_broken_file_is_an_error_that_names_it, set_up, tear_down)
{
    struct world *w = *state;
    struct err e = {0};
    assert_int_equal(file_write_atomic(w->path, STR("{\"allow\":["), 0600, NULL), 0);
    assert_true(consents_load(&w->c, w->path, &e) < 0);
    assert_non_null(strstr(e.msg, w->path));
}

TEST_WITH(what_is_removed_is_gone_for_good, set_up, tear_down)
{
    struct world *w = *state;
    struct consents again;
    assert_int_equal(consents_load(&w->c, w->path, NULL), 0);
    consents_add(&w->c, STR("ann"), STR("a"));
    consents_add(&w->c, STR("ann"), STR("b"));
    consents_add(&w->c, STR("ann"), STR("c"));
    assert_true(consents_remove(&w->c, STR("ann"), STR("b")));
    assert_false(consents_remove(&w->c, STR("ann"), STR("b")));
    assert_false(consents_has(&w->c, STR("ann"), STR("b")));
    save(w);
    assert_file(w, "{\"consents\":[{\"tool\":\"a\",\"userId\":\"ann\"},"
                   "{\"tool\":\"c\",\"userId\":\"ann\"}]}");
    consents_init(&again, w->pool, NULL);
    assert_int_equal(consents_load(&again, w->path, NULL), 0);
    assert_false(consents_has(&again, STR("ann"), STR("b")));
    consents_done(&again);
}

TEST_WITH(a_consent_belongs_to_one_person, set_up, tear_down)
{
    struct world *w = *state;
    consents_add(&w->c, STR("ann"), STR("a"));
    consents_add(&w->c, STR("bob"), STR("b"));
    consents_add(&w->c, STR_NONE, STR("all_*"));
    assert_true(consents_has(&w->c, STR("ann"), STR("a")));
    assert_false(consents_has(&w->c, STR("bob"), STR("a")));
    assert_true(consents_has(&w->c, STR("bob"), STR("all_x")));
    assert_true(consents_remove_user(&w->c, STR("ann")));
    assert_false(consents_remove_user(&w->c, STR("ann")));
    assert_false(consents_has(&w->c, STR("ann"), STR("a")));
    assert_true(consents_has(&w->c, STR("bob"), STR("b")));
}

/* What was allowed in conversations makes room for newer conversations, and never for more. */
TEST_WITH(permissions_of_conversations_are_limited_in_number, set_up, tear_down)
{
    struct world *w = *state;
    struct arena a;
    arena_init(&a);
    consents_add(&w->c, STR("ann"), STR("everywhere"));
    for (int i = 0; i <= CONSENTS_CONVERSATION_MAX; i++)
        assert_true(consents_add(&w->c, STR("ann"), arena_printf(&a, "tool@conv_%d", i)));
    assert_int_equal(consents_of(&w->c, &a, STR("ann")).len, CONSENTS_CONVERSATION_MAX + 1);
    const struct consent_call first = {.tool = STR("tool"), .conversation_id = STR("conv_0")};
    const struct consent_call second = {.tool = STR("tool"), .conversation_id = STR("conv_1")};
    assert_false(consents_allow(&w->c, STR("ann"), &first));
    assert_true(consents_allow(&w->c, STR("ann"), &second));
    assert_false(consents_allow(&w->c, STR("bob"), &second));
    assert_false(consents_has(&w->c, STR("ann"), STR("tool"))); /* not everywhere */
    assert_true(consents_has(&w->c, STR("ann"), STR("everywhere")));
    arena_done(&a);
}

/* Nobody knows who gave the consents of an earlier version. */
TEST_WITH(an_old_file_counts_for_a_sole_user, set_up, tear_down)
{
    struct world *w = *state;
    assert_int_equal(file_write_atomic(w->path, STR("{\"allow\":[\"a\"]}"), 0600, NULL), 0);
    assert_int_equal(consents_load(&w->c, w->path, NULL), 0);
    assert_true(consents_has(&w->c, STR("usr_default"), STR("a")));
    assert_false(consents_has(&w->c, STR("usr_1"), STR("a")));
}

TEST_WITH(whoever_waits_learns_that_it_failed, set_up, tear_down)
{
    struct world *w = *state;
    struct consent_save s;
    bool is_over = false;
    assert_int_equal(consents_load(&w->c, "/proc/nowhere/permissions.json", NULL), 0);
    consents_add(&w->c, STR("ann"), STR("a"));
    consents_save(&w->c, &s, on_saved, &is_over);
    assert_true(loop_run_until(w->loop, &is_over, WAIT_MS));
    assert_true(s.has_failed);
}

TEST_WITH(there_is_a_ceiling, set_up, tear_down)
{
    struct world *w = *state;
    char name[32];
    for (int i = 0; i < CONSENTS_MAX; i++) {
        snprintf(name, sizeof name, "tool_%d", i);
        assert_true(consents_add(&w->c, STR("ann"), str_from(name)));
    }
    assert_false(consents_add(&w->c, STR("ann"), STR("one_more")));
    assert_true(consents_add(&w->c, STR("ann"), STR("tool_7")));
    save(w); /* without a path nothing is written */
    assert_false(file_exists(w->path));
}

/* ---- a table that other servers write to ---- */

struct fake_table {
    struct consent_table table;
    struct consent_watch *watch;
    struct consent_write *write; /* the one that waits */
};

static int fake_watch(struct consent_table *t, struct consent_watch *w, struct err *e)
{
    struct fake_table *f = CONTAINER_OF(t, struct fake_table, table);
    const struct consent_row rows[] = {{STR("ann"), STR("a")}};
    f->watch = w;
    return w->on_rows(w->ctx, rows, 1) ? 0 : -1;
}

static void fake_write(struct consent_table *t, struct consent_write *w)
{
    CONTAINER_OF(t, struct fake_table, table)->write = w;
}

static void answer_write(struct fake_table *f, int code)
{
    const struct err e = {.code = code};
    f->write->done(f->write->ctx, &e);
}

TEST_WITH(other_servers_add_and_remove, set_up, tear_down)
{
    struct world *w = *state;
    struct fake_table f = {{fake_watch, fake_write}, NULL, NULL};
    struct consent_save save_a;
    bool is_saved = false;
    const struct consent_row others[] = {{STR("bob"), STR("b")}, {STR(""), STR("all")}};
    assert_int_equal(consents_share(&w->c, &f.table, STR("ws_a"), NULL), 0);
    assert_true(consents_has(&w->c, STR("ann"), STR("a")));
    assert_true(consents_add(&w->c, STR("ann"), STR("mine")));
    consents_save(&w->c, &save_a, on_saved, &is_saved);
    assert_int_equal(f.write->n, 1);
    assert_true(str_eq(f.write->workspace_id, STR("ws_a")));
    /* What is not stored yet must not be lost by what others have stored. */
    assert_false(f.watch->on_rows(f.watch->ctx, others, 2));
    assert_true(consents_has(&w->c, STR("ann"), STR("mine")));
    answer_write(&f, 0);
    assert_true(is_saved && !save_a.has_failed);
    assert_true(f.watch->on_rows(f.watch->ctx, others, 2));
    assert_false(consents_has(&w->c, STR("ann"), STR("mine")));
    assert_true(consents_has(&w->c, STR("bob"), STR("b")));
    assert_true(consents_has(&w->c, STR("eve"), STR("all")));
}

TEST_WITH(what_could_not_be_stored_goes_with_the_next, set_up, tear_down)
{
    struct world *w = *state;
    struct fake_table f = {{fake_watch, fake_write}, NULL, NULL};
    struct consent_save one, two;
    bool is_one = false, is_two = false;
    assert_int_equal(consents_share(&w->c, &f.table, STR("ws_a"), NULL), 0);
    assert_true(consents_remove(&w->c, STR("ann"), STR("a")));
    consents_add(&w->c, STR("ann"), STR("b"));
    consents_save(&w->c, &one, on_saved, &is_one);
    assert_int_equal(f.write->n, 2);
    assert_true(consents_remove(&w->c, STR("ann"), STR("b"))); /* while it is written */
    answer_write(&f, -1);
    assert_true(is_one && one.has_failed);
    consents_save(&w->c, &two, on_saved, &is_two);
    assert_int_equal(f.write->n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_true(f.write->edits[i].is_removal); /* the last word about each */
    answer_write(&f, 0);
    assert_true(is_two && !two.has_failed);
    assert_true(f.watch->on_rows(f.watch->ctx, NULL, 0));
}
