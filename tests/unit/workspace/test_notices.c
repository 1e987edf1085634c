#include <errno.h>
#include <unistd.h>

#include "os/file.h"
#include "support/shelf.h"
#include "workspace/notices.h"

struct world {
    struct loop *loop;
    struct pool *pool;
    struct notices *n;
    struct arena arena;
    char dir[32], path[64];
};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->loop = loop_new(NULL);
    w->pool = pool_new(w->loop, "test", 1);
    arena_init(&w->arena);
    snprintf(w->dir, sizeof w->dir, "/tmp/nb-notices-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->path, sizeof w->path, "%s/notices.json", w->dir);
    w->n = notices_new(w->pool, NULL, w->path);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    notices_free(w->n);
    pool_free(w->pool);
    loop_free(w->loop);
    arena_done(&w->arena);
    (void)unlink(w->path);
    assert_int_equal(rmdir(w->dir), 0);
    free(w);
    return 0;
}

static bool add(struct world *w, const char *user, enum notice_kind kind, const char *conv)
{
    struct person_notice one = {
        .kind = kind, .conversation_id = str_from(conv), .by = STR("usr_ann"), .at_ms = 1000};
    return notices_add(w->n, str_from(user), &one);
}

static const struct json *list_of(struct world *w, const char *user)
{
    struct buf b;
    struct json_writer out;
    struct json *v = NULL;
    jw_start(&out, &b, 1 << 20);
    notices_write(w->n, str_from(user), &out);
    assert_int_equal(json_parse(&w->arena, buf_keep_whole(&b, &w->arena), JSON_COPY, &v, NULL), 0);
    return v;
}

static void reopen(struct world *w)
{
    notices_free(w->n);
    pool_free(w->pool); /* what was changed is written */
    w->pool = pool_new(w->loop, "test", 1);
    w->n = notices_new(w->pool, NULL, w->path);
}

TEST_WITH(each_person_has_a_list_that_outlives_a_restart, set_up, tear_down)
{
    struct world *w = *state;
    assert_true(add(w, "usr_bob", NOTICE_MENTION, "conv_a"));
    assert_true(add(w, "usr_bob", NOTICE_ADDED, "conv_b"));
    assert_true(add(w, "usr_cat", NOTICE_ADDED, "conv_a"));
    notices_mark_seen(w->n, STR("usr_bob"), STR("conv_a"));
    reopen(w);
    const struct json *bob = list_of(w, "usr_bob"), *cat = list_of(w, "usr_cat");
    assert_int_equal(bob->len, 2);
    assert_true(
        str_eq(json_get_string(&bob->items[0], "kind"), STR("added"))); /* the newest first */
    assert_false(json_get_bool(&bob->items[0], "seen", true));
    assert_true(json_get_bool(&bob->items[1], "seen", false));
    assert_int_equal(cat->len, 1);
    assert_false(json_get_bool(&cat->items[0], "seen", true));
    assert_int_equal(list_of(w, "usr_dan")->len, 0);
}

static bool is_cat(const void *ctx, str user_id)
{
    return str_eq(user_id, STR("usr_cat"));
}

TEST_WITH(notices_of_people_who_left_are_freed, set_up, tear_down)
{
    struct world *w = *state;
    static const char *const PEOPLE[] = {"usr_ann", "usr_bob", "usr_cat"};
    for (size_t i = 0; i < ARRAY_LEN(PEOPLE); i++)
        assert_true(add(w, PEOPLE[i], NOTICE_ADDED, "conv_a"));
    notices_forget(w->n, STR("usr_bob"));
    notices_forget(w->n, STR("usr_bob"));
    reopen(w);
    assert_int_equal(list_of(w, "usr_bob")->len, 0);
    assert_int_equal(list_of(w, "usr_ann")->len, 1);
    notices_retain(w->n, is_cat, NULL);
    reopen(w);
    assert_int_equal(list_of(w, "usr_ann")->len, 0);
    assert_int_equal(list_of(w, "usr_cat")->len, 1);
}

TEST_WITH(the_lists_are_bounded_and_a_conversation_has_one_of_a_kind, set_up, tear_down)
{
    struct world *w = *state;
    char conv[32];
    for (int i = 0; i < NOTICES_EACH + 5; i++) {
        snprintf(conv, sizeof conv, "conv_%d", i);
        assert_true(add(w, "usr_bob", NOTICE_MENTION, conv));
        assert_true(add(w, "usr_bob", NOTICE_MENTION, conv));
    }
    const struct json *bob = list_of(w, "usr_bob");
    assert_int_equal(bob->len, NOTICES_EACH);
    assert_true(
        str_eq(json_get_string(&bob->items[NOTICES_EACH - 1], "conversationId"), STR("conv_5")));
    for (int i = 0; i < NOTICES_PEOPLE - 1; i++) {
        snprintf(conv, sizeof conv, "usr_%d", i);
        assert_true(add(w, conv, NOTICE_ADDED, "conv_a"));
    }
    assert_false(add(w, "usr_more", NOTICE_ADDED, "conv_a"));
    assert_false(add(w, "", NOTICE_ADDED, "conv_a"));
}

TEST_WITH(a_file_that_is_not_ours_is_not_the_end, set_up, tear_down)
{
    static const char *const TEXTS[] = {"", "[]", "{\"usr_bob\":7}",
                                        "{\"usr_bob\":[{\"kind\":\"later\"},{},3,null]}",
                                        "{\"usr_bob\""};
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
        assert_int_equal(file_write_atomic(w->path, str_from(TEXTS[i]), 0600, NULL), 0);
        notices_free(w->n);
        w->n = notices_new(w->pool, NULL, w->path);
        assert_int_equal(list_of(w, "usr_bob")->len, 0);
    }
}

/* ---- several servers ---- */

static void on_up_to_date(void *ctx, const struct err *err)
{
    *(int *)ctx = err ? err->code : 1;
}

static int await(struct world *w, struct notices *n, const char *user)
{
    int result = 0;
    bool never = false;
    struct notices_wait wait = {.fn = on_up_to_date, .ctx = &result};
    notices_await(n, str_from(user), &wait);
    while (result == 0)
        (void)loop_run_until(w->loop, &never, 1);
    return result;
}

static size_t count_on(struct world *w, struct notices *n, const char *user)
{
    struct notices *own = w->n;
    w->n = n;
    size_t len = list_of(w, user)->len;
    w->n = own;
    return len;
}

TEST_WITH(servers_share_the_lists_and_none_is_lost, set_up, tear_down)
{
    struct world *w = *state;
    struct shelf shelf;
    shelf_init(&shelf);
    struct notices *a = notices_new_shared(w->pool, NULL, &shelf.table, STR("ws_a"));
    struct notices *b = notices_new_shared(w->pool, NULL, &shelf.table, STR("ws_a"));
    struct person_notice one = {.kind = NOTICE_ADDED,
                                .conversation_id = STR("conv_a"),
                                .by = STR("usr_ann"),
                                .at_ms = 1000};
    assert_true(notices_add(a, STR("usr_bob"), &one));
    one.conversation_id = STR("conv_b");
    assert_true(notices_add(b, STR("usr_bob"), &one));
    assert_int_equal(await(w, a, "usr_bob"), 1);
    assert_int_equal(await(w, b, "usr_bob"), 1);
    assert_int_equal(await(w, a, "usr_bob"), 1);
    assert_int_equal(count_on(w, a, "usr_bob"), 2);
    assert_int_equal(count_on(w, b, "usr_bob"), 2);
    notices_mark_seen(b, STR("usr_bob"), STR("conv_a"));
    assert_int_equal(await(w, b, "usr_bob"), 1);
    assert_true(str_find(shelf.rows[0].bytes, STR("\"seen\":true"), 0) >= 0);
    shelf.fails = -EHOSTUNREACH;
    assert_int_equal(await(w, a, "usr_bob"), -EHOSTUNREACH);
    shelf.fails = 0;
    notices_forget(a, STR("usr_bob"));
    assert_int_equal(await(w, b, "usr_bob"), 1);
    assert_int_equal(await(w, a, "usr_bob"), 1);
    assert_int_equal(await(w, b, "usr_bob"), 1);
    assert_int_equal(count_on(w, b, "usr_bob"), 0);
    /* Nobody waits any more, and the lists are closed while a call is under way. */
    struct notices_wait late = {.fn = on_up_to_date};
    notices_await(a, STR("usr_bob"), &late);
    notices_cancel(&late);
    notices_free(a);
    notices_free(b);
    pool_free(w->pool);
    w->pool = pool_new(w->loop, "test", 1);
    arena_done(&shelf.arena);
}
