#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/roster/change.h"

#define HASH "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct tempdir dir;
static struct roster *now; /* after the latest change */
static struct err err;
static char id[CHANGE_ID_MAX];

static int make_dir(void **state)
{
    now = NULL;
    return tempdir_make(&dir);
}

static int drop_dir(void **state)
{
    roster_free(now);
    return tempdir_drop(&dir);
}

static int apply(struct change c)
{
    struct change_result res = {0};
    err_clear(&err);
    int r = change_apply(dir.path, false, &c, &res, &err);
    if (r < 0) {
        assert_true(err.msg[0] != 0);
        return r;
    }
    memcpy(id, res.id, sizeof id);
    roster_free(now);
    now = res.roster;
    return 0;
}

static void must(struct change c)
{
    if (apply(c) < 0)
        fail_msg("%s", err.msg);
}

static void add_user(const char *user_id, const char *email, enum org_role role)
{
    must((struct change){.kind = CHANGE_USER_ADD,
                         .user_id = str_from(user_id),
                         .email = str_from(email),
                         .role = role});
}

static void add_workspace(const char *ws_id, const char *admin)
{
    must((struct change){.kind = CHANGE_WORKSPACE_ADD,
                         .workspace_id = str_from(ws_id),
                         .name = STR("A place"),
                         .user_id = str_from(admin)});
}

static int set_member(const char *ws_id, const char *user_id, enum ws_role role)
{
    return apply((struct change){.kind = role == WS_NONE ? CHANGE_MEMBER_REMOVE : CHANGE_MEMBER_SET,
                                 .workspace_id = str_from(ws_id),
                                 .user_id = str_from(user_id),
                                 .ws_role = role});
}

static int set_role(const char *user_id, enum org_role role)
{
    return apply((struct change){
        .kind = CHANGE_USER_SET, .user_id = str_from(user_id), .has_role = true, .role = role});
}

static int remove_user(const char *user_id, bool is_cascade)
{
    return apply((struct change){
        .kind = CHANGE_USER_REMOVE, .user_id = str_from(user_id), .is_cascade = is_cascade});
}

static mode_t mode_of(const char *below)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir.path, below);
    return stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

TEST_WITH(users, make_dir, drop_dir)
{
    must((struct change){.kind = CHANGE_USER_ADD,
                         .email = STR("Ann@Example.com"),
                         .role = ORG_OWNER,
                         .password = STR("$argon2id$x")});
    assert_true(user_id_ok(str_from(id)) && strlen(id) == 20);
    const struct user *u = roster_user(now, str_from(id));
    assert_true(str_eq(u->email, STR("ann@example.com")));
    assert_true(str_eq(u->display_name, STR("Ann")));
    assert_true(str_eq(u->password, STR("$argon2id$x")));
    char below[128];
    snprintf(below, sizeof below, "users/%s", id);
    assert_int_equal(mode_of(below), 0700);
    snprintf(below, sizeof below, "users/%s/credentials.json", id);
    assert_int_equal(mode_of(below), 0600);

    struct change again = {.kind = CHANGE_USER_ADD, .email = STR("ANN@example.com")};
    assert_int_equal(apply(again), -EEXIST);
    static const char *const BAD[] = {"", "x", "@x", "x@", "a@b@c", "a b@c", "a\n@c", "a,b@c"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        again.email = str_from(BAD[i]);
        assert_int_equal(apply(again), -EINVAL);
    }
    again =
        (struct change){.kind = CHANGE_USER_ADD, .email = STR("b@x"), .user_id = STR("usr_../b")};
    assert_int_equal(apply(again), -EINVAL);
}

TEST_WITH(what_is_unknown_in_a_file_stays, make_dir, drop_dir)
{
    char path[256];
    struct arena a;
    str text;
    add_user("usr_a", "a@x", ORG_OWNER);
    snprintf(path, sizeof path, "%s/users/usr_a/profile.json", dir.path);
    assert_int_equal(
        file_write_atomic(path,
                          STR("{\"id\":\"usr_a\",\"email\":\"a@x\",\"orgRole\":\"owner\","
                              "\"badge\":0.10,\"preferences\":{\"theme\":\"dark\"}}"),
                          0600, NULL),
        0);
    struct arena pa;
    struct json *prefs;
    arena_init(&pa);
    assert_int_equal(json_parse(&pa, STR("{\"theme\":null,\"locale\":\"de\"}"), 0, &prefs, NULL),
                     0);
    must((struct change){.kind = CHANGE_USER_SET,
                         .user_id = STR("usr_a"),
                         .display_name = STR("  A  "),
                         .preferences = prefs});
    arena_init(&a);
    assert_int_equal(file_read(&a, path, 10000, &text, NULL), 0);
    assert_true(str_find(text, STR("\"badge\": 0.10"), 0) > 0);
    assert_true(str_find(text, STR("theme"), 0) < 0);
    assert_true(str_find(text, STR("\"locale\": \"de\""), 0) > 0);
    assert_true(str_eq(roster_user(now, STR("usr_a"))->display_name, STR("A")));
    arena_done(&a);
    arena_done(&pa);
}

TEST_WITH(there_is_always_an_owner, make_dir, drop_dir)
{
    add_user("usr_a", "a@x", ORG_OWNER);
    add_user("usr_b", "b@x", ORG_MEMBER);
    assert_int_equal(set_role("usr_a", ORG_ADMIN), -EPERM);
    assert_int_equal(remove_user("usr_a", false), -EPERM);
    assert_int_equal(set_role("usr_b", ORG_OWNER), 0);
    assert_int_equal(set_role("usr_a", ORG_ADMIN), 0);
    assert_int_equal(remove_user("usr_b", false), -EPERM);
    assert_int_equal(remove_user("usr_a", false), 0);
    assert_int_equal(now->nusers, 1);
    assert_int_equal(set_role("usr_a", ORG_OWNER), -ENOENT);
}

TEST_WITH(there_is_always_an_admin, make_dir, drop_dir)
{
    add_user("usr_a", "a@x", ORG_OWNER);
    add_user("usr_b", "b@x", ORG_OWNER);
    add_workspace("ws_one", "usr_a");
    assert_int_equal(set_member("ws_one", "usr_a", WS_MEMBER), -EPERM);
    assert_int_equal(set_member("ws_one", "usr_a", WS_NONE), -EPERM);
    assert_int_equal(set_member("ws_one", "usr_b", WS_MEMBER), 0);
    assert_int_equal(remove_user("usr_a", true), -EPERM); /* b would be left without an admin */
    assert_int_equal(set_member("ws_one", "usr_b", WS_ADMIN), 0);
    assert_int_equal(set_member("ws_one", "usr_a", WS_MEMBER), 0);
    assert_int_equal(set_member("ws_one", "usr_b", WS_NONE), -EPERM);
    assert_int_equal(set_member("ws_one", "usr_x", WS_MEMBER), -ENOENT);
    assert_int_equal(set_member("ws_two", "usr_a", WS_MEMBER), -ENOENT);
    assert_int_equal(set_member("ws_one", "usr_a", WS_NONE), 0);
    assert_int_equal(set_member("ws_one", "usr_a", WS_NONE), -ENOENT);
}

TEST_WITH(a_user_leaves_everywhere, make_dir, drop_dir)
{
    add_user("usr_a", "a@x", ORG_OWNER);
    add_user("usr_b", "b@x", ORG_MEMBER);
    add_workspace("ws_own", "usr_b");
    add_workspace("ws_all", "usr_a");
    assert_int_equal(set_member("ws_all", "usr_b", WS_MEMBER), 0);
    assert_int_equal(remove_user("usr_b", false), -EPERM);
    assert_non_null(strstr(err.msg, "ws_own"));
    assert_int_equal(remove_user("usr_b", true), 0);
    assert_null(roster_workspace(now, STR("ws_own")));
    assert_int_equal(roster_workspace(now, STR("ws_all"))->nmembers, 1);
    assert_null(roster_user_by_email(now, STR("b@x")));
    /* The directories are in the trash, not gone; the address is free again. */
    assert_int_equal(mode_of("trash"), 0700);
    assert_int_equal(mode_of("users/usr_b"), 0);
    add_user("usr_c", "b@x", ORG_MEMBER);
}

TEST_WITH(workspace_ids_come_from_names, make_dir, drop_dir)
{
    static const char *const NAMES[][2] = {
        {"Sales & Marketing!", "ws_sales_marketing"},
        {"sales / marketing", "ws_sales_marketing_2"},
        {"  R2-D2 ", "ws_r2_d2"},
    };
    add_user("usr_a", "a@x", ORG_OWNER);
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        must((struct change){
            .kind = CHANGE_WORKSPACE_ADD, .name = str_from(NAMES[i][0]), .user_id = STR("usr_a")});
        assert_string_equal(id, NAMES[i][1]);
    }
    must((struct change){
        .kind = CHANGE_WORKSPACE_ADD, .name = STR("日本語"), .user_id = STR("usr_a")});
    assert_true(workspace_id_ok(str_from(id)) && strlen(id) == 19);
    struct change bad = {.kind = CHANGE_WORKSPACE_ADD,
                         .name = STR("x"),
                         .workspace_id = STR("ws_../../x"),
                         .user_id = STR("usr_a")};
    assert_int_equal(apply(bad), -EINVAL);
    bad.workspace_id = STR("ws_r2_d2");
    assert_int_equal(apply(bad), -EEXIST);
    bad = (struct change){
        .kind = CHANGE_WORKSPACE_ADD, .name = STR("a\x1b[2J"), .user_id = STR("usr_a")};
    assert_int_equal(apply(bad), -EINVAL);
}

TEST_WITH(settings, make_dir, drop_dir)
{
    struct arena a;
    struct json *s;
    arena_init(&a);
    add_user("usr_a", "a@x", ORG_OWNER);
    add_workspace("ws_one", "usr_a");
    struct change c = {.kind = CHANGE_WORKSPACE_SET, .workspace_id = STR("ws_one")};
    json_parse(&a, STR("{\"bundles\":[1],\"identity\":\"We\",\"models\":{\"default\":\"x\"}}"), 0,
               &s, NULL);
    c.settings = s;
    must(c);
    const struct workspace *w = roster_workspace(now, STR("ws_one"));
    assert_int_equal(w->bundles->len, 1);
    assert_true(str_eq(json_string(w->identity, STR_NONE), STR("We")));
    json_parse(&a, STR("{\"identity\":null}"), 0, &s, NULL);
    c.settings = s;
    c.name = STR("New name");
    must(c);
    w = roster_workspace(now, STR("ws_one"));
    assert_null(w->identity);
    assert_non_null(w->models);
    assert_true(str_eq(w->name, STR("New name")));
    static const char *const BAD[] = {"{\"members\":[]}", "{\"id\":\"ws_x\"}", "{\"bundles\":{}}",
                                      "[]"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        json_parse(&a, str_from(BAD[i]), 0, &s, NULL);
        c.settings = s;
        assert_int_equal(apply(c), -EINVAL);
    }
    arena_done(&a);
}

TEST_WITH(tokens_and_sessions, make_dir, drop_dir)
{
    str scopes[] = {STR("read")};
    add_user("usr_a", "a@x", ORG_OWNER);
    struct change c = {.kind = CHANGE_TOKEN_ADD,
                       .user_id = STR("usr_a"),
                       .token = {.name = STR("ci"),
                                 .hash = STR(HASH),
                                 .scopes = {scopes, 1},
                                 .expires_ms = 1774434600000}};
    must(c);
    const struct user_token *t = roster_token(now, STR(HASH));
    assert_true(str_eq(t->id, str_from(id)));
    assert_int_equal(t->expires_ms, 1774434600000);
    c.token.workspace_id = STR("ws_none");
    assert_int_equal(apply(c), -ENOENT);

    c = (struct change){
        .kind = CHANGE_USER_PASSWORD, .user_id = STR("usr_a"), .password = STR("$new")};
    must(c);
    const struct user *u = roster_user(now, STR("usr_a"));
    assert_true(u->sessions_from_ms > 0);
    assert_int_equal(u->ntokens, 1);

    c = (struct change){
        .kind = CHANGE_TOKEN_REVOKE, .user_id = STR("usr_a"), .token = {.id = STR("tok_x")}};
    assert_int_equal(apply(c), -ENOENT);
    str kept = roster_token(now, STR(HASH))->id;
    char copy[64];
    snprintf(copy, sizeof copy, "%.*s", STR_ARG(kept));
    c.token.id = str_from(copy);
    must(c);
    assert_null(roster_token(now, STR(HASH)));
}

TEST_WITH(an_identity_is_bound_once, make_dir, drop_dir)
{
    add_user("usr_a", "a@x", ORG_OWNER);
    add_user("usr_b", "b@x", ORG_MEMBER);
    struct change c = {.kind = CHANGE_USER_BIND,
                       .user_id = STR("usr_a"),
                       .issuer = STR("https://id"),
                       .subject = STR("s")};
    must(c);
    c.user_id = STR("usr_b");
    assert_int_equal(apply(c), -EEXIST);
    c.subject = STR("other");
    must(c);
    c.subject = STR("third");
    assert_int_equal(apply(c), -EEXIST);
}

TEST_WITH(alone_there_is_little_to_change, make_dir, drop_dir)
{
    struct change_result res = {0};
    struct change c = {.kind = CHANGE_USER_ADD, .email = STR("a@x")};
    assert_int_equal(change_apply(dir.path, true, &c, &res, &err), -ENOTSUP);
    assert_non_null(strstr(err.msg, "nb init"));
    struct arena a;
    struct json *prefs;
    arena_init(&a);
    json_parse(&a, STR("{\"theme\":\"dark\"}"), 0, &prefs, NULL);
    c = (struct change){
        .kind = CHANGE_USER_SET, .user_id = STR("usr_default"), .preferences = prefs};
    assert_int_equal(change_apply(dir.path, true, &c, &res, &err), 0);
    assert_true(str_eq(json_get_string(res.roster->users[0].preferences, "theme"), STR("dark")));
    roster_free(res.roster);
    arena_done(&a);
}

/* Writers in many processes: each change is there afterwards. */
TEST_WITH(no_change_is_lost, make_dir, drop_dir)
{
    enum { WRITERS = 4, EACH = 5 };
    add_user("usr_a", "a@x", ORG_OWNER);
    pid_t pids[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        for (int k = 0; pids[i] == 0 && k < EACH; k++) {
            char key[16], text[64];
            struct arena a;
            struct json *prefs;
            struct change_result res;
            arena_init(&a);
            snprintf(key, sizeof key, "%d-%d", i, k);
            snprintf(text, sizeof text, "{\"%s\":1}", key);
            json_parse(&a, str_from(text), 0, &prefs, NULL);
            struct change c = {
                .kind = CHANGE_USER_SET, .user_id = STR("usr_a"), .preferences = prefs};
            if (change_apply(dir.path, false, &c, &res, NULL) < 0)
                _exit(1);
            roster_free(res.roster);
            arena_done(&a);
            if (k == EACH - 1)
                _exit(0);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(set_role("usr_a", ORG_OWNER), 0);
    assert_int_equal(roster_user(now, STR("usr_a"))->preferences->len, WRITERS * EACH);
    assert_int_equal(now->mark, 2 + WRITERS * EACH);
}

static int entries(const char *below)
{
    char path[256];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", dir.path, below);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

/* A limit of file sizes stands for a full disk. */
TEST_WITH(what_cannot_be_written_leaves_nothing, make_dir, drop_dir)
{
    struct rlimit before, none;
    add_user("usr_a", "a@x", ORG_OWNER);
    add_workspace("ws_a", "usr_a");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    int user = apply(
        (struct change){.kind = CHANGE_USER_ADD, .email = STR("b@x"), .password = STR("$hash")});
    int space = apply((struct change){
        .kind = CHANGE_WORKSPACE_ADD, .name = STR("Another"), .user_id = STR("usr_a")});
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(user < 0 && space < 0);
    assert_int_equal(entries("users"), 1);
    assert_int_equal(entries("workspaces"), 1);
    assert_int_equal(set_role("usr_a", ORG_OWNER), 0);
    assert_int_equal(now->problems.len, 0);
}

TEST_WITH(users_are_found_by_what_people_call_them, make_dir, drop_dir)
{
    const struct user *u;
    add_user("usr_a", "ann@x", ORG_OWNER);
    add_user("usr_b", "bob@x", ORG_MEMBER);
    add_user("usr_c", "bob@y", ORG_MEMBER); /* both are called bob */
    static const char *const ANN[] = {"usr_a", "ANN@x", "Ann"};
    for (size_t i = 0; i < ARRAY_LEN(ANN); i++) {
        assert_int_equal(roster_find_user(now, str_from(ANN[i]), &u, &err), 0);
        assert_true(str_eq(u->id, STR("usr_a")));
    }
    assert_int_equal(roster_find_user(now, STR("bob"), &u, &err), -EINVAL);
    assert_int_equal(roster_find_user(now, STR("eve"), &u, &err), -ENOENT);
    assert_int_equal(roster_find_user(now, STR(""), &u, &err), -ENOENT);
    assert_null(u);
}
