/* Users and workspaces of two servers in one database. */
#include <errno.h>

#include "os/file.h"
#include "store/postgres/pg_roster.h"
#include "support/pg_proxy.h"
#include "support/postgres.h"
#include "support/tempdir.h"
#include "workspace/roster/directory.h"

enum { PATIENCE_MS = 60000 };

struct node { /* one server */
    struct tempdir dir;
    struct database *db;
    struct pg_roster table;
    struct directory *directory;
    struct directory_observer observer;
    int news[NEWS_MEMBER_LEFT + 1];
};

static struct postgres server;
static struct loop *loop;
static struct node a, b;

static void on_news(void *ctx, const struct directory_item *item)
{
    struct node *n = ctx;
    n->news[item->news]++;
}

static int node_try(struct node *n, const char *url, bool is_sole, struct err *e)
{
    n->db = database_new(loop, NULL, url);
    database_share(n->db);
    assert_int_equal(database_open(n->db, false, e), 0);
    int r = pg_roster_init(&n->table, n->db, n->dir.path, is_sole, e);
    if (r == 0)
        r = directory_new_from(loop, NULL, &n->table.source, &n->directory, e);
    if (r == 0) {
        n->observer = (struct directory_observer){.on_news = on_news, .ctx = n};
        directory_observe(n->directory, &n->observer);
    }
    return r;
}

static void node_start(struct node *n)
{
    struct err e = {0};
    if (node_try(n, server.url, false, &e) < 0)
        fail_msg("%s", e.msg);
}

static void node_stop(struct node *n)
{
    directory_free(n->directory);
    database_free(n->db);
    n->directory = NULL;
    n->db = NULL;
}

static int begin(void **state)
{
    postgres_sql(server.url, "TRUNCATE nb_roster, nb_roster_change");
    postgres_sql(server.url, "UPDATE nb_generation SET generation = 1");
    loop = loop_new(NULL);
    a = b = (struct node){0};
    return tempdir_make(&a.dir) || tempdir_make(&b.dir);
}

static int end(void **state)
{
    node_stop(&a);
    node_stop(&b);
    loop_free(loop);
    return tempdir_drop(&a.dir) || tempdir_drop(&b.dir);
}

struct answer {
    bool is_done;
    int code;
    char id[CHANGE_ID_MAX];
};

static void on_done(void *ctx, const struct err *err, str id)
{
    struct answer *x = ctx;
    x->is_done = true;
    x->code = err->code;
    (void)snprintf(x->id, sizeof x->id, "%.*s", STR_ARG(id));
}

static int change(struct node *n, struct change c)
{
    struct answer x = {0};
    directory_change(n->directory, &c, on_done, &x);
    assert_true(loop_run_until(loop, &x.is_done, PATIENCE_MS));
    return x.code;
}

static int look(struct node *n)
{
    struct answer x = {0};
    directory_look(n->directory, on_done, &x);
    assert_false(x.is_done);
    assert_true(loop_run_until(loop, &x.is_done, PATIENCE_MS));
    return x.code;
}

static const struct roster *roster_of(struct node *n)
{
    assert_int_equal(look(n), 0);
    return directory_roster(n->directory);
}

#define ADD(user, mail, r)                                                                         \
    (struct change)                                                                                \
    {                                                                                              \
        .kind = CHANGE_USER_ADD, .user_id = STR(user), .email = STR(mail), .role = r               \
    }

static void start_both(void)
{
    node_start(&a);
    node_start(&b);
    assert_int_equal(change(&a, ADD("usr_ann", "ann@x.org", ORG_OWNER)), 0);
    assert_int_equal(change(&b, ADD("usr_bob", "bob@x.org", ORG_MEMBER)), 0);
    assert_int_equal(change(&a, (struct change){.kind = CHANGE_WORKSPACE_ADD,
                                                .name = STR("Team"),
                                                .user_id = STR("usr_ann")}),
                     0);
    assert_int_equal(look(&b), 0);
}

static void put(const char *dir, const char *path, const char *text)
{
    char full[256];
    (void)snprintf(full, sizeof full, "%s/%s", dir, path);
    *strrchr(full, '/') = 0;
    assert_int_equal(file_make_dirs(full, NULL), 0);
    (void)snprintf(full, sizeof full, "%s/%s", dir, path);
    assert_int_equal(file_write_atomic(full, str_from(text), 0600, NULL), 0);
}

TEST_WITH(a_change_on_one_server_is_seen_by_the_other, begin, end)
{
    start_both();
    const struct roster *r = roster_of(&a);
    assert_int_equal(r->nusers, 2);
    assert_non_null(roster_user_by_email(r, STR("bob@x.org")));
    assert_int_equal(workspace_role(roster_workspace(r, STR("ws_team")), STR("usr_ann")), WS_ADMIN);
    assert_int_equal(a.news[NEWS_USER_ADDED], 2);
    assert_int_equal(change(&b, (struct change){.kind = CHANGE_MEMBER_SET,
                                                .workspace_id = STR("ws_team"),
                                                .user_id = STR("usr_bob"),
                                                .ws_role = WS_MEMBER}),
                     0);
    r = roster_of(&a);
    assert_int_equal(workspace_role(roster_workspace(r, STR("ws_team")), STR("usr_bob")),
                     WS_MEMBER);
    assert_int_equal(a.news[NEWS_MEMBER_JOINED], 2);
    assert_int_equal(
        change(&a, (struct change){.kind = CHANGE_USER_REMOVE, .user_id = STR("usr_bob")}), 0);
    r = roster_of(&b);
    assert_null(roster_user(r, STR("usr_bob")));
    assert_int_equal(b.news[NEWS_MEMBER_LEFT], 1);
    assert_int_equal(b.news[NEWS_USER_REMOVED], 1);
    /* Nothing new: nothing is read, nobody is told. */
    uint64_t generation = directory_generation(b.directory);
    assert_int_equal(look(&b), 0);
    assert_int_equal(directory_generation(b.directory), generation);
    assert_int_equal(directory_roster(a.directory)->generation, r->generation);
}

TEST_WITH(tokens_and_sign_outs_reach_the_other, begin, end)
{
    static const char HASH[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct answer x = {0};
    start_both();
    struct change add = {.kind = CHANGE_TOKEN_ADD,
                         .user_id = STR("usr_bob"),
                         .token = {.name = STR("t"), .hash = str_from(HASH)}};
    directory_change(a.directory, &add, on_done, &x);
    assert_true(loop_run_until(loop, &x.is_done, PATIENCE_MS));
    const struct user_token *t = roster_token(roster_of(&b), str_from(HASH));
    assert_non_null(t);
    assert_true(str_eq(t->id, str_from(x.id)));
    assert_int_equal(change(&b, (struct change){.kind = CHANGE_TOKEN_REVOKE,
                                                .user_id = STR("usr_bob"),
                                                .token = {.id = str_from(x.id)}}),
                     0);
    assert_null(roster_token(roster_of(&a), str_from(HASH)));
    assert_int_equal(a.news[NEWS_TOKEN_REVOKED], 1);
    assert_int_equal(
        change(&b, (struct change){.kind = CHANGE_USER_SIGN_OUT, .user_id = STR("usr_ann")}), 0);
    assert_true(roster_user(roster_of(&a), STR("usr_ann"))->sessions_from_ms > 0);
    assert_int_equal(a.news[NEWS_USER_SIGNED_OUT], 1);
}

/* Each of the two may be demoted, but not both. */
TEST_WITH(guards_hold_for_changes_of_both_in_the_same_moment, begin, end)
{
    start_both();
    assert_int_equal(change(&a, (struct change){.kind = CHANGE_USER_SET,
                                                .user_id = STR("usr_bob"),
                                                .has_role = true,
                                                .role = ORG_OWNER}),
                     0);
    assert_int_equal(look(&b), 0);
    struct answer x = {0}, y = {0};
    struct change of_ann = {
        .kind = CHANGE_USER_SET, .user_id = STR("usr_ann"), .has_role = true, .role = ORG_MEMBER};
    struct change of_bob = of_ann;
    of_bob.user_id = STR("usr_bob");
    directory_change(a.directory, &of_ann, on_done, &x);
    directory_change(b.directory, &of_bob, on_done, &y);
    assert_true(loop_run_until(loop, &x.is_done, PATIENCE_MS));
    assert_true(loop_run_until(loop, &y.is_done, PATIENCE_MS));
    assert_true((x.code == 0 && y.code == -EPERM) || (x.code == -EPERM && y.code == 0));
    assert_int_equal(roster_owners(roster_of(&a)), 1);
    assert_int_equal(roster_owners(roster_of(&b)), 1);
}

TEST_WITH(no_change_of_many_is_lost, begin, end)
{
    enum { N = 20 };
    struct answer x[2 * N] = {0};
    char mail[64];
    start_both();
    for (int i = 0; i < 2 * N; i++) {
        (void)snprintf(mail, sizeof mail, "u%d@x.org", i);
        struct change c = {.kind = CHANGE_USER_ADD, .email = str_from(mail)};
        directory_change(i % 2 ? a.directory : b.directory, &c, on_done, &x[i]);
    }
    for (int i = 0; i < 2 * N; i++) {
        assert_true(loop_run_until(loop, &x[i].is_done, PATIENCE_MS));
        assert_int_equal(x[i].code, 0);
    }
    assert_int_equal(roster_of(&a)->nusers, 2 * N + 2);
    assert_int_equal(roster_of(&b)->nusers, 2 * N + 2);
}

TEST_WITH(the_first_server_brings_its_files, begin, end)
{
    put(a.dir.path, "users/usr_ann/profile.json",
        "{\"id\":\"usr_ann\",\"email\":\"ann@x.org\",\"orgRole\":\"owner\",\"later\":1}");
    put(a.dir.path, "users/usr_ann/credentials.json", "{\"password\":\"x\"}");
    put(a.dir.path, "workspaces/ws_team/workspace.json",
        "{\"id\":\"ws_team\",\"name\":\"Team\",\"members\":[{\"userId\":\"usr_ann\",\"role\":"
        "\"admin\"}],\"models\":{\"default\":\"m\"}}");
    put(b.dir.path, "users/usr_eve/profile.json", "{\"id\":\"usr_eve\",\"orgRole\":\"owner\"}");
    node_start(&a);
    node_start(&b);
    const struct roster *r = directory_roster(b.directory);
    assert_int_equal(r->nusers, 1);
    assert_true(str_eq(roster_user(r, STR("usr_ann"))->password, STR("x")));
    assert_int_equal(json_get_int(roster_user(r, STR("usr_ann"))->profile, "later", 0), 1);
    const struct workspace *w = roster_workspace(r, STR("ws_team"));
    assert_int_equal(workspace_role(w, STR("usr_ann")), WS_ADMIN);
    /* Settings belong to the server that has them. */
    assert_null(w->models);
    assert_non_null(roster_workspace(directory_roster(a.directory), STR("ws_team"))->models);
}

TEST_WITH(a_server_without_files_does_not_keep_others_from_bringing_theirs, begin, end)
{
    node_start(&b);
    put(a.dir.path, "users/usr_ann/profile.json", "{\"id\":\"usr_ann\",\"orgRole\":\"owner\"}");
    node_start(&a);
    assert_non_null(roster_user(roster_of(&b), STR("usr_ann")));
}

TEST_WITH(settings_stay_with_their_server_and_members_do_not, begin, end)
{
    start_both();
    put(b.dir.path, "workspaces/ws_team/workspace.json",
        "{\"bundles\":[{\"name\":\"x\"}],\"members\":[{\"userId\":\"usr_bob\",\"role\":"
        "\"admin\"}],\"name\":\"Forged\"}");
    assert_int_equal(change(&a, (struct change){.kind = CHANGE_WORKSPACE_SET,
                                                .workspace_id = STR("ws_team"),
                                                .name = STR("The Team")}),
                     0);
    const struct workspace *w = roster_workspace(roster_of(&b), STR("ws_team"));
    assert_true(str_eq(w->name, STR("The Team")));
    assert_int_equal(w->bundles->len, 1);
    assert_int_equal(workspace_role(w, STR("usr_bob")), WS_NONE);
    assert_int_equal(roster_workspace(roster_of(&a), STR("ws_team"))->bundles->len, 0);
    /* Rules that cannot be read are not ignored. */
    put(b.dir.path, "workspaces/ws_team/workspace.json", "{");
    assert_int_equal(change(&a, ADD("usr_cid", "cid@x.org", ORG_MEMBER)), 0);
    assert_null(roster_workspace(roster_of(&b), STR("ws_team")));
    assert_int_equal(directory_roster(b.directory)->problems.len, 1);
}

TEST_WITH(the_id_of_a_removed_workspace_is_not_used_again, begin, end)
{
    start_both();
    put(b.dir.path, "workspaces/ws_team/secret", "x");
    assert_int_equal(change(&a, (struct change){.kind = CHANGE_WORKSPACE_REMOVE,
                                                .workspace_id = STR("ws_team")}),
                     0);
    assert_null(roster_workspace(roster_of(&b), STR("ws_team")));
    assert_int_equal(b.news[NEWS_WORKSPACE_REMOVED], 1);
    struct change again = {.kind = CHANGE_WORKSPACE_ADD,
                           .name = STR("Team"),
                           .workspace_id = STR("ws_team"),
                           .user_id = STR("usr_ann")};
    assert_int_equal(change(&a, again), -EEXIST);
    again.workspace_id = STR_NONE;
    assert_int_equal(change(&a, again), 0);
    assert_non_null(roster_workspace(roster_of(&b), STR("ws_team_2")));
}

TEST_WITH(without_the_database_nothing_changes, begin, end)
{
    start_both();
    postgres_order(&server, "stop");
    assert_int_equal(change(&a, ADD("usr_cid", "cid@x.org", ORG_MEMBER)), -ENOTCONN);
    assert_int_equal(look(&a), -ENOTCONN);
    assert_int_equal(directory_roster(a.directory)->nusers, 2); /* what was known stays */
    postgres_order(&server, "start");
    while (look(&a) == -ENOTCONN)
        continue;
    assert_int_equal(directory_roster(a.directory)->nusers, 2);
}

TEST_WITH(users_without_instance_json_are_nobody_s, begin, end)
{
    struct err e = {0};
    start_both();
    node_stop(&b);
    assert_int_equal(node_try(&b, server.url, true, &e), -ENOENT);
    assert_non_null(strstr(e.msg, "instance.json is missing"));
}

/* ---- answers that are lost ---- */

struct losing {
    struct pg_proxy *proxy;
    int calls;
};

static int write_and_lose(struct roster_docs *d, void *ctx, struct err *e)
{
    struct losing *x = ctx;
    char text[64];
    (void)snprintf(text, sizeof text, "{\"id\":\"usr_dan\",\"displayName\":\"%d\"}", ++x->calls);
    assert_int_equal(d->ops->write(d, "users", STR("usr_dan"), "profile.json", str_from(text), e),
                     0);
    pg_proxy_lose_answer(x->proxy);
    return d->ops->stamp(d, e);
}

TEST_WITH(a_change_whose_answer_is_lost_is_made_once, begin, end)
{
    struct pg_proxy proxy;
    char url[256];
    struct err e = {0};
    struct losing x = {.proxy = &proxy};
    start_both();
    uint64_t before = directory_roster(b.directory)->generation;
    node_stop(&a);
    pg_proxy_start(&proxy, strchr(strstr(server.url, "host="), '=') + 1, url, sizeof url);
    assert_int_equal(node_try(&a, url, false, &e), 0);
    assert_int_equal(a.table.source.visit(&a.table.source, true, write_and_lose, &x, &e), 0);
    assert_int_equal(x.calls, 1);
    const struct roster *r = roster_of(&b);
    assert_int_equal(r->generation, before + 1);
    assert_true(str_eq(roster_user(r, STR("usr_dan"))->display_name, STR("1")));
    node_stop(&a);
    pg_proxy_stop(&proxy);
}

int main(int argc, char **argv)
{
    postgres_start(&server);
    postgres_init(server.url);
    int failed = run_unit_tests("pg_roster", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
