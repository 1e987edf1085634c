#include <errno.h>

#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/roster/directory.h"

enum { PATIENCE_MS = 60000 };

static struct tempdir dir;
static struct loop *loop;
static struct directory *d;

static int begin(void **state)
{
    loop = loop_new(NULL);
    return tempdir_make(&dir) || directory_new(loop, NULL, dir.path, false, &d, NULL);
}

static int end(void **state)
{
    directory_free(d);
    loop_free(loop);
    return tempdir_drop(&dir);
}

struct answer {
    bool is_done;
    int code;
    char id[CHANGE_ID_MAX];
};

static void on_done(void *ctx, const struct err *err, str id)
{
    struct answer *a = ctx;
    a->is_done = true;
    a->code = err->code;
    snprintf(a->id, sizeof a->id, "%.*s", STR_ARG(id));
}

static int change(struct change c, struct answer *ret)
{
    *ret = (struct answer){0};
    directory_change(d, &c, on_done, ret);
    assert_false(ret->is_done); /* never before the call returns */
    assert_true(loop_run_until(loop, &ret->is_done, PATIENCE_MS));
    return ret->code;
}

struct listener {
    struct directory_observer observer;
    enum directory_news wanted;
    bool is_heard;
    char user_id[64];
};

static void on_news(void *ctx, const struct directory_item *item)
{
    struct listener *l = ctx;
    if (item->news != l->wanted)
        return;
    l->is_heard = true;
    snprintf(l->user_id, sizeof l->user_id, "%.*s", STR_ARG(item->user_id));
    assert_null(roster_user(directory_roster(d), STR("usr_b"))); /* the new one is in place */
}

static const struct change ADD_A = {.kind = CHANGE_USER_ADD,
                                    .user_id = STR_INIT("usr_a"),
                                    .email = STR_INIT("a@x"),
                                    .role = ORG_OWNER};
static const struct change ADD_B = {
    .kind = CHANGE_USER_ADD, .user_id = STR_INIT("usr_b"), .email = STR_INIT("b@x")};
static const struct change REMOVE_B = {.kind = CHANGE_USER_REMOVE, .user_id = STR_INIT("usr_b")};

TEST_WITH(changes_and_their_news, begin, end)
{
    struct answer a;
    struct listener l = {.wanted = NEWS_USER_REMOVED};
    l.observer = (struct directory_observer){.on_news = on_news, .ctx = &l};
    assert_int_equal(change(ADD_A, &a), 0);
    assert_string_equal(a.id, "usr_a");
    assert_non_null(roster_user(directory_roster(d), STR("usr_a")));
    assert_int_equal(change(ADD_A, &a), -EEXIST);
    assert_string_equal(a.id, "");
    assert_int_equal(change(ADD_B, &a), 0);
    directory_observe(d, &l.observer);
    assert_int_equal(change(REMOVE_B, &a), 0);
    assert_true(l.is_heard);
    assert_string_equal(l.user_id, "usr_b");
    directory_unobserve(&l.observer);
    directory_unobserve(&l.observer);
}

TEST_WITH(other_processes_are_noticed, begin, end)
{
    struct answer a;
    struct listener l = {.wanted = NEWS_USER_REMOVED};
    l.observer = (struct directory_observer){.on_news = on_news, .ctx = &l};
    assert_int_equal(change(ADD_A, &a), 0);
    assert_int_equal(change(ADD_B, &a), 0);
    directory_observe(d, &l.observer);
    struct change_result res;
    assert_int_equal(change_apply(dir.path, false, &REMOVE_B, &res, NULL), 0);
    roster_free(res.roster);
    assert_true(loop_run_until(loop, &l.is_heard, PATIENCE_MS));
    directory_unobserve(&l.observer);
}

TEST_WITH(a_work_directory_that_is_not_there, begin, end)
{
    struct directory *other;
    char path[128];
    snprintf(path, sizeof path, "%s/not/yet", dir.path);
    assert_int_equal(directory_new(loop, NULL, path, true, &other, NULL), 0);
    assert_non_null(roster_user(directory_roster(other), STR("usr_default")));
    directory_free(other);
    assert_int_not_equal(access(path, F_OK), 0); /* and nobody has made it */
}

TEST_WITH(the_queue_has_an_end, begin, end)
{
    enum { MORE = DIRECTORY_QUEUE_MAX + 3 };
    static struct answer all[MORE];
    int busy = 0;
    for (int i = 0; i < MORE; i++)
        directory_change(d, &ADD_A, on_done, &all[i]);
    assert_true(loop_run_until(loop, &all[MORE - 1].is_done, PATIENCE_MS * 3));
    assert_true(loop_run_until(loop, &all[DIRECTORY_QUEUE_MAX - 1].is_done, PATIENCE_MS * 3));
    assert_int_equal(all[0].code, 0);
    assert_int_equal(all[1].code, -EEXIST);
    for (int i = 0; i < MORE; i++)
        busy += all[i].code == -EBUSY;
    assert_int_equal(busy, 3);
}

/* Whoever loses access does not wait for what others have queued. */
TEST_WITH(removals_go_first, begin, end)
{
    enum { MANY = 40 };
    static struct answer all[MANY], removed;
    struct answer a;
    memset(all, 0, sizeof all);
    removed = (struct answer){0};
    assert_int_equal(change(ADD_A, &a), 0);
    assert_int_equal(change(ADD_B, &a), 0);
    struct change rename = {
        .kind = CHANGE_USER_SET, .user_id = STR_INIT("usr_a"), .display_name = STR_INIT("Another")};
    for (size_t i = 0; i < MANY; i++)
        directory_change(d, &rename, on_done, &all[i]);
    directory_change(d, &REMOVE_B, on_done, &removed);
    assert_true(loop_run_until(loop, &removed.is_done, PATIENCE_MS));
    assert_int_equal(removed.code, 0);
    assert_false(all[2].is_done);
    assert_true(loop_run_until(loop, &all[MANY - 1].is_done, PATIENCE_MS * 3));
    assert_int_equal(all[MANY - 1].code, 0);
}

static bool has_user_b(void *ctx)
{
    return roster_user(directory_roster(d), STR("usr_b")) != NULL;
}

/* b asks for a change, and is removed by one that goes before it. */
TEST_WITH(the_right_to_a_change_is_asked_at_its_turn, begin, end)
{
    struct answer a, first = {0}, late = {0}, removed = {0};
    struct change rename = {
        .kind = CHANGE_USER_SET, .user_id = STR("usr_a"), .name = STR("Renamed by b")};
    assert_int_equal(change(ADD_A, &a), 0);
    assert_int_equal(change(ADD_B, &a), 0);
    directory_change(d, &(struct change){.kind = CHANGE_USER_SET, .user_id = STR("usr_a")}, on_done,
                     &first);
    directory_change_if(d, &rename, has_user_b, on_done, &late);
    directory_change(d, &(struct change){.kind = CHANGE_USER_REMOVE, .user_id = STR("usr_b")},
                     on_done, &removed);
    assert_true(loop_run_until(loop, &late.is_done, PATIENCE_MS));
    assert_true(removed.is_done);
    assert_int_equal(removed.code, 0);
    assert_int_equal(late.code, -ESTALE);
    const struct user *u = roster_user(directory_roster(d), STR("usr_a"));
    assert_false(str_eq(u->display_name, STR("Renamed by b")));
}

TEST_WITH(roles_in_workspaces, begin, end)
{
    struct answer a;
    assert_int_equal(change(ADD_A, &a), 0);
    assert_int_equal(change(ADD_B, &a), 0);
    assert_int_equal(change((struct change){.kind = CHANGE_WORKSPACE_ADD,
                                            .name = STR("W"),
                                            .user_id = STR("usr_a")},
                            &a),
                     0);
    assert_int_equal(directory_role(d, STR("ws_w"), STR("usr_a")), WS_ADMIN);
    assert_int_equal(directory_role(d, STR("ws_w"), STR("usr_b")), WS_NONE);
    assert_int_equal(directory_role(d, STR("ws_x"), STR("usr_a")), WS_NONE);
}
