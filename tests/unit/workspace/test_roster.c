#include <errno.h>
#include <sys/stat.h>

#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/roster/roster.h"

#define HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct tempdir dir;

static int make_dir(void **state)
{
    return tempdir_make(&dir);
}

static int drop_dir(void **state)
{
    return tempdir_drop(&dir);
}

static void put(const char *below, const char *text)
{
    char path[256], parent[256];
    snprintf(path, sizeof path, "%s/%s", dir.path, below);
    snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(file_make_dirs(parent, NULL), 0);
    assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
}

static struct roster *load(bool is_sole)
{
    struct roster *r = NULL;
    struct err e = {0};
    if (roster_load(dir.path, is_sole, &r, &e) < 0)
        fail_msg("%s", e.msg);
    return r;
}

TEST_WITH(files_of_the_contract, make_dir, drop_dir)
{
    put("users/usr_0123456789abcdef/profile.json",
        "{\"id\":\"usr_0123456789abcdef\",\"email\":\"Ann@Example.com\",\"displayName\":\"Ann\","
        "\"orgRole\":\"owner\",\"preferences\":{\"timezone\":\"Europe/Berlin\"},"
        "\"createdAt\":\"2026-03-25T10:30:00.000Z\",\"x-own\":1}");
    put("users/usr_0123456789abcdef/credentials.json",
        "{\"password\":\"$argon2id$...\",\"sessionsFrom\":5,\"tokens\":[{\"id\":\"tok_1\",\"name\":"
        "\"ci\",\"hash\":\"" HASH "\",\"scopes\":[\"read\"],\"tools\":[\"files__*\"],"
        "\"expiresAt\":\"2026-04-01\"}]}");
    put("users/usr_bob/profile.json",
        "{\"id\":\"usr_bob\",\"email\":\"bob@example.com\",\"orgRole\":\"member\","
        "\"identity\":{\"issuer\":\"https://id\",\"subject\":\"7\"}}");
    put("workspaces/ws_engineering/workspace.json",
        "{\"id\":\"ws_engineering\",\"name\":\"Engineering\",\"members\":[{\"userId\":"
        "\"usr_0123456789abcdef\",\"role\":\"admin\"},{\"userId\":\"usr_gone\",\"role\":\"admin\"},"
        "{\"userId\":\"usr_bob\",\"role\":\"member\"}],\"bundles\":[{\"name\":\"x\"}]}");
    struct roster *r = load(false);
    assert_int_equal(r->problems.len, 0);
    assert_int_equal(r->nusers, 2);
    const struct user *ann = roster_user_by_email(r, STR("ANN@example.COM"));
    assert_non_null(ann);
    assert_ptr_equal(ann, roster_user(r, STR("usr_0123456789abcdef")));
    assert_int_equal(ann->role, ORG_OWNER);
    assert_int_equal(ann->created_ms, 1774434600000);
    assert_int_equal(ann->sessions_from_ms, 5);
    assert_true(str_eq(json_get_string(ann->preferences, "timezone"), STR("Europe/Berlin")));
    const struct user_token *t = roster_token(r, STR(HASH));
    assert_ptr_equal(t->user, ann);
    assert_int_equal(t->expires_ms, 1775001600000);
    assert_true(str_eq(roster_user_by_subject(r, STR("https://id"), STR("7"))->id, STR("usr_bob")));
    assert_null(roster_user_by_subject(r, STR("https://i"), STR("d7")));
    const struct workspace *w = roster_workspace(r, STR("ws_engineering"));
    assert_int_equal(w->nmembers, 2);
    assert_int_equal(workspace_admins(w), 1);
    assert_int_equal(workspace_role(w, STR("usr_bob")), WS_MEMBER);
    assert_int_equal(workspace_role(w, STR("usr_gone")), WS_NONE);
    assert_int_equal(w->bundles->len, 1);
    const struct workspace *one = NULL;
    assert_int_equal(roster_memberships(r, STR("usr_bob"), &one), 1);
    assert_ptr_equal(one, w);
    roster_free(r);
}

/* Whoever cannot be read has no access, and everybody else has what they had. */
TEST_WITH(bad_files_are_named, make_dir, drop_dir)
{
    static const char *const BAD[] = {
        "{",
        "[]",
        "{\"id\":\"usr_other\"}",
        "{\"id\":\"usr_bad\",\"orgRole\":\"king\"}",
        "{\"id\":\"usr_bad\",\"id\":\"usr_bad\"}",
    };
    put("users/usr_good/profile.json", "{\"id\":\"usr_good\",\"email\":\"g@x\"}");
    struct roster *good = load(false);
    assert_false(good->misses_users);
    roster_free(good);
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        put("users/usr_bad/profile.json", BAD[i]);
        struct roster *r = load(false);
        assert_true(r->misses_users); /* not gone: nothing of theirs is removed */
        assert_int_equal(r->nusers, 1);
        assert_null(roster_user(r, STR("usr_bad")));
        assert_non_null(roster_user(r, STR("usr_good")));
        assert_int_equal(r->problems.len, 1);
        assert_true(str_find(r->problems.items[0], STR("usr_bad/profile.json"), 0) > 0);
        roster_free(r);
    }
}

TEST_WITH(a_bad_token_opens_nothing, make_dir, drop_dir)
{
    static const char *const BAD[] = {
        "{\"tokens\":[{\"id\":\"t\",\"hash\":\"" HASH "\",\"scopes\":[],\"expiresAt\":\"never\"}]}",
        "{\"tokens\":[{\"id\":\"t\",\"hash\":\"short\",\"scopes\":[]}]}",
        "{\"tokens\":[{\"id\":\"t\",\"hash\":\"" HASH "\"}]}",
        "{\"password\":7}",
    };
    put("users/usr_a/profile.json", "{\"id\":\"usr_a\",\"email\":\"a@x\"}");
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        put("users/usr_a/credentials.json", BAD[i]);
        struct roster *r = load(false);
        assert_int_equal(r->nusers, 0);
        assert_null(roster_token(r, STR(HASH)));
        assert_int_equal(r->problems.len, 1);
        roster_free(r);
    }
}

TEST_WITH(one_address_one_user, make_dir, drop_dir)
{
    put("users/usr_a/profile.json", "{\"id\":\"usr_a\",\"email\":\"a@x\"}");
    put("users/usr_b/profile.json", "{\"id\":\"usr_b\",\"email\":\"A@X\"}");
    struct roster *r = load(false);
    assert_int_equal(r->nusers, 2);
    assert_true(str_eq(roster_user_by_email(r, STR("a@x"))->id, STR("usr_a")));
    assert_int_equal(r->problems.len, 1);
    roster_free(r);
}

TEST_WITH(one_person_without_files, make_dir, drop_dir)
{
    struct roster *r = load(true);
    const struct user *u = roster_user(r, STR("usr_default"));
    assert_int_equal(u->role, ORG_OWNER);
    assert_true(str_eq(u->email, STR("dev@localhost")));
    const struct workspace *w = roster_workspace(r, STR("ws_default"));
    assert_string_equal(w->root, dir.path);
    assert_int_equal(workspace_role(w, u->id), WS_ADMIN);
    roster_free(r);

    /* Users of an earlier instance.json do not count; the profile of this one does. */
    put("users/usr_a/profile.json", "{\"id\":\"usr_a\",\"email\":\"a@x\"}");
    put("users/usr_default/profile.json",
        "{\"id\":\"usr_default\",\"orgRole\":\"member\",\"preferences\":{\"theme\":\"dark\"}}");
    r = load(true);
    assert_int_equal(r->nusers, 1);
    assert_int_equal(r->users[0].role, ORG_OWNER);
    assert_true(str_eq(json_get_string(r->users[0].preferences, "theme"), STR("dark")));
    roster_free(r);
}

TEST_WITH(an_unreadable_directory_is_not_empty, make_dir, drop_dir)
{
    put("users", "a file");
    struct roster *r;
    struct err e = {0};
    assert_int_equal(roster_load(dir.path, false, &r, &e), -ENOTDIR);
    assert_non_null(strstr(e.msg, "users"));
}

/* More than are found without an index; one is named twice, one does not exist. */
TEST_WITH(many_members_are_found, make_dir, drop_dir)
{
    enum { MANY = 200 };
    struct buf b;
    char path[64], text[128];
    buf_init(&b, 1024 * 1024);
    buf_add_str(&b, STR("{\"id\":\"ws_a\",\"name\":\"A\",\"members\":["
                        "{\"userId\":\"usr_none\",\"role\":\"admin\"}"));
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "users/usr_%d/profile.json", i);
        snprintf(text, sizeof text, "{\"id\":\"usr_%d\",\"email\":\"%d@x\"}", i, i);
        put(path, text);
        buf_printf(&b, ",{\"userId\":\"usr_%d\",\"role\":\"%s\"}", i,
                   i % 3 == 0 ? "admin" : "member");
    }
    buf_add_str(&b, STR(",{\"userId\":\"usr_1\",\"role\":\"admin\"}]}"));
    put("workspaces/ws_a/workspace.json", buf_cstr(&b));
    buf_done(&b);
    struct roster *r = load(false);
    const struct workspace *w = roster_workspace(r, STR("ws_a"));
    assert_int_equal(w->nmembers, MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "usr_%d", i);
        assert_int_equal(workspace_role(w, str_from(text)), i % 3 == 0 ? WS_ADMIN : WS_MEMBER);
    }
    assert_int_equal(workspace_role(w, STR("usr_none")), WS_NONE);
    assert_int_equal(workspace_role(w, STR("usr_200")), WS_NONE);
    assert_int_equal(workspace_role(w, STR_NONE), WS_NONE);
    roster_free(r);
}

TEST(ids)
{
    assert_true(user_id_ok(STR("usr_a-B_9")));
    assert_false(user_id_ok(STR("usr_")));
    assert_false(user_id_ok(STR("usr_../x")));
    assert_false(user_id_ok(STR("user_1")));
    assert_true(workspace_id_ok(STR("ws_a_1")));
    assert_false(workspace_id_ok(STR("ws_A")));
    assert_false(workspace_id_ok(STR("ws_a/b")));
    assert_false(workspace_id_ok(STR("ws_a.b")));
}
