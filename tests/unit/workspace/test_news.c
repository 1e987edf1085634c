#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/roster/directory.h"

static struct tempdir dir;
static char heard[1024];

static const char *const WORDS[] = {
    [NEWS_USER_ADDED] = "added",
    [NEWS_USER_CHANGED] = "changed",
    [NEWS_USER_ROLE] = "role",
    [NEWS_USER_REMOVED] = "removed",
    [NEWS_USER_SIGNED_OUT] = "signedout",
    [NEWS_TOKEN_REVOKED] = "revoked",
    [NEWS_WORKSPACE_ADDED] = "ws+",
    [NEWS_WORKSPACE_CHANGED] = "ws~",
    [NEWS_WORKSPACE_REMOVED] = "ws-",
    [NEWS_MEMBER_JOINED] = "joined",
    [NEWS_MEMBER_ROLE] = "wsrole",
    [NEWS_MEMBER_LEFT] = "left",
};

static void note(void *ctx, const struct directory_item *i)
{
    size_t n = strlen(heard);
    snprintf(heard + n, sizeof heard - n, "%s(%.*s%s%.*s) ", WORDS[i->news], STR_ARG(i->user_id),
             i->user_id.n > 0 && i->workspace_id.n > 0 ? "," : "", STR_ARG(i->workspace_id));
}

static struct roster *current;

static const char *after(struct change c)
{
    struct change_result res = {0};
    struct err e = {0};
    if (change_apply(dir.path, false, &c, &res, &e) < 0)
        fail_msg("%s", e.msg);
    heard[0] = 0;
    roster_diff(current, res.roster, note, NULL);
    roster_free(current);
    current = res.roster;
    return heard;
}

TEST(each_change_says_what_it_did)
{
    assert_int_equal(tempdir_make(&dir), 0);
    assert_int_equal(roster_load(dir.path, false, &current, NULL), 0);
    str a = STR("usr_a"), b = STR("usr_b"), w = STR("ws_w"), none[1] = {STR("read")};
    assert_string_equal(
        after((struct change){
            .kind = CHANGE_USER_ADD, .user_id = a, .email = STR("a@x"), .role = ORG_OWNER}),
        "added(usr_a) ");
    after((struct change){.kind = CHANGE_USER_ADD, .user_id = b, .email = STR("b@x")});
    assert_string_equal(
        after((struct change){
            .kind = CHANGE_WORKSPACE_ADD, .workspace_id = w, .name = STR("W"), .user_id = a}),
        "ws+(ws_w) joined(usr_a,ws_w) ");
    struct change c = {
        .kind = CHANGE_MEMBER_SET, .workspace_id = w, .user_id = b, .ws_role = WS_MEMBER};
    assert_string_equal(after(c), "joined(usr_b,ws_w) ");
    c.ws_role = WS_ADMIN;
    assert_string_equal(after(c), "wsrole(usr_b,ws_w) ");
    assert_string_equal(
        after((struct change){
            .kind = CHANGE_USER_SET, .user_id = b, .has_role = true, .role = ORG_ADMIN}),
        "role(usr_b) changed(usr_b) ");
    assert_string_equal(
        after((struct change){.kind = CHANGE_WORKSPACE_SET, .workspace_id = w, .name = STR("V")}),
        "ws~(ws_w) ");
    assert_string_equal(after((struct change){.kind = CHANGE_USER_SIGN_OUT, .user_id = b}),
                        "signedout(usr_b) ");
    c = (struct change){.kind = CHANGE_TOKEN_ADD, .user_id = b};
    c.token.name = STR("t");
    c.token.scopes = (struct json_strs){none, 1};
    c.token.hash = STR("cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc");
    assert_string_equal(after(c), "");
    /* Losses come first, and all of them. */
    assert_string_equal(after((struct change){.kind = CHANGE_USER_REMOVE, .user_id = b}),
                        "left(usr_b,ws_w) revoked(usr_b) signedout(usr_b) removed(usr_b) ");
    assert_string_equal(after((struct change){.kind = CHANGE_WORKSPACE_REMOVE, .workspace_id = w}),
                        "left(usr_a,ws_w) ws-(ws_w) ");
    roster_free(current);
    assert_int_equal(tempdir_drop(&dir), 0);
}
