#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/actor.h"
#include "workspace/roster/directory.h"

/* boss and second are admins of ws_a, meg and tom members; tom has a token. */

static struct tempdir dir;
static struct loop *loop;
static struct directory *d;

static void on_done(void *ctx, const struct err *err, str id)
{
    assert_int_equal(err->code, 0);
    *(bool *)ctx = true;
}

static void change(struct change c)
{
    bool is_done = false;
    directory_change(d, &c, on_done, &is_done);
    assert_true(loop_run_until(loop, &is_done, 60000));
}

static void add_user(const char *id, enum ws_role role)
{
    char mail[64];
    snprintf(mail, sizeof mail, "%s@x", id);
    change((struct change){.kind = CHANGE_USER_ADD,
                           .user_id = str_from(id),
                           .name = str_from(id),
                           .email = str_from(mail)});
    if (role == WS_NONE)
        return;
    change((struct change){.kind = CHANGE_MEMBER_SET,
                           .workspace_id = STR("ws_a"),
                           .user_id = str_from(id),
                           .ws_role = role});
}

static int begin(void **state)
{
    loop = loop_new(NULL);
    if (tempdir_make(&dir) || directory_new(loop, NULL, dir.path, false, &d, NULL))
        return -1;
    add_user("usr_boss", WS_NONE);
    change((struct change){.kind = CHANGE_WORKSPACE_ADD,
                           .workspace_id = STR("ws_a"),
                           .name = STR("A"),
                           .user_id = STR("usr_boss")});
    add_user("usr_second", WS_ADMIN);
    add_user("usr_meg", WS_MEMBER);
    return 0;
}

static int end(void **state)
{
    directory_free(d);
    loop_free(loop);
    return tempdir_drop(&dir);
}

static struct actor *person(const char *id)
{
    struct principal p = {.user_id = str_from(id), .how = AUTH_BY_SESSION, .scopes = SCOPE_ALL};
    return actor_new(d, STR("ws_a"), &p, (struct json_strs){0});
}

static struct conv_acl private_of(const char *id)
{
    return (struct conv_acl){.owner_id = str_from(id)};
}

TEST_WITH(a_join_has_the_rights_of_both, begin, end)
{
    struct actor *boss = person("usr_boss"), *meg = person("usr_meg");
    struct actor *both = actor_join(boss, meg), *admins;
    struct conv_acl acl = private_of("usr_other");
    assert_true(actor_is_admin(boss));
    assert_false(actor_is_admin(both));
    assert_true(actor_allows(boss, &acl, CONV_VIEW));
    assert_false(actor_allows(both, &acl, CONV_VIEW));
    acl = private_of("usr_meg");
    assert_true(actor_allows(both, &acl, CONV_VIEW)); /* hers, and the admin may read it */
    assert_false(actor_allows(both, &acl, CONV_MANAGE));
    assert_true(str_eq(actor_user(both), STR("usr_boss")));
    struct actor *second = person("usr_second");
    admins = actor_join(boss, second);
    assert_true(actor_is_admin(admins));
    actor_unref(boss);
    actor_unref(meg);
    actor_unref(second);
    actor_unref(both);
    actor_unref(admins);
}

TEST_WITH(roles_are_those_of_now, begin, end)
{
    struct actor *second = person("usr_second");
    assert_true(actor_is_admin(second));
    change((struct change){.kind = CHANGE_MEMBER_SET,
                           .workspace_id = STR("ws_a"),
                           .user_id = STR("usr_second"),
                           .ws_role = WS_MEMBER});
    assert_false(actor_is_admin(second));
    assert_true(actor_is_current(second, 0));
    change((struct change){
        .kind = CHANGE_MEMBER_REMOVE, .workspace_id = STR("ws_a"), .user_id = STR("usr_second")});
    assert_false(actor_is_current(second, 0));
    actor_unref(second);
}

TEST_WITH(a_person_who_has_left_sees_nothing, begin, end)
{
    struct actor *meg = person("usr_meg");
    struct conv_acl own = private_of("usr_meg"), open = {0};
    struct arena a;
    arena_init(&a);
    uint64_t generation = actor_generation(meg);
    assert_true(actor_allows(meg, &own, CONV_MANAGE));
    assert_true(access_allows(actor_viewer(meg, &a), &own, CONV_MANAGE));
    change((struct change){
        .kind = CHANGE_MEMBER_REMOVE, .workspace_id = STR("ws_a"), .user_id = STR("usr_meg")});
    assert_true(actor_generation(meg) != generation);
    assert_int_equal(actor_role(meg), WS_NONE);
    assert_false(actor_allows(meg, &own, CONV_VIEW));  /* what was hers, */
    assert_false(actor_allows(meg, &open, CONV_VIEW)); /* and what is open to the workspace */
    struct viewer copy = viewer_copy(&a, actor_viewer(meg, &a));
    assert_false(access_allows(&copy, &own, CONV_VIEW));
    assert_false(access_allows(&copy, &open, CONV_VIEW));
    arena_done(&a);
    actor_unref(meg);
}

TEST_WITH(roles_on_the_server_are_those_of_now, begin, end)
{
    struct actor *meg = person("usr_meg"), *boss = person("usr_boss");
    struct actor *op = actor_new_operator(d, STR("ws_a"), STR("usr_boss"));
    assert_int_equal(actor_org_role(meg), ORG_MEMBER);
    change((struct change){
        .kind = CHANGE_USER_SET, .user_id = STR("usr_meg"), .has_role = true, .role = ORG_OWNER});
    assert_true(actor_is_owner(meg));
    assert_true(actor_is_owner(op));
    assert_null(actor_query_viewer(op, NULL)); /* sees everything */
    struct actor *both = actor_join(meg, boss);
    assert_int_equal(actor_org_role(both), actor_org_role(boss));
    actor_unref(both);
    actor_unref(op);
    actor_unref(boss);
    actor_unref(meg);
}

TEST_WITH(an_actor_enters_a_workspace, begin, end)
{
    struct principal p = {.user_id = STR("usr_boss"),
                          .how = AUTH_BY_SESSION,
                          .scopes = SCOPE_ALL,
                          .session_id = STR("ses_1")};
    str globs[] = {STR_INIT("nb__time")};
    struct actor *a = actor_new(d, STR_NONE, &p, (struct json_strs){globs, 1});
    assert_false(actor_is_admin(a));
    assert_true(actor_is_current(a, 0));
    a = actor_enter(a, STR("ws_a"));
    assert_true(actor_is_admin(a));
    assert_true(actor_has_session(a, STR("ses_1")));
    assert_false(actor_has_session(a, STR_NONE));
    assert_true(str_eq(a->filters[0].globs.items[0], globs[0]));
    actor_unref(a);
}

TEST_WITH(an_expired_or_unknown_token_is_not_current, begin, end)
{
    struct principal p = {.user_id = STR("usr_meg"),
                          .how = AUTH_BY_TOKEN,
                          .scopes = SCOPE_ALL,
                          .token_id = STR("tok_gone")};
    struct actor *a = actor_new(d, STR("ws_a"), &p, (struct json_strs){0});
    assert_false(actor_is_current(a, 1));
    actor_unref(a);
    p.token_id = STR_NONE;
    p.expires_ms = 100;
    a = actor_new(d, STR("ws_a"), &p, (struct json_strs){0});
    assert_true(actor_is_current(a, 99));
    assert_false(actor_is_current(a, 100));
    actor_unref(a);
}

TEST_WITH(authors_of_the_log_narrow, begin, end)
{
    str globs[] = {STR_INIT("nb__time")};
    struct actor *boss = person("usr_boss");
    struct actor *same = actor_join_author(boss, STR("usr_boss"), (struct json_strs){0});
    struct actor *narrowed = actor_join_author(boss, STR("usr_boss"), (struct json_strs){globs, 1});
    struct actor *gone = actor_join_author(boss, STR("usr_left"), (struct json_strs){0});
    assert_ptr_equal(same, boss);
    assert_int_equal(narrowed->nfilters, 1);
    assert_true(actor_is_admin(narrowed));
    assert_false(actor_is_admin(gone));
    assert_true(actor_is_current(gone, 1)); /* who left does not lock the conversation */
    assert_true(str_eq(actor_sole_user(narrowed), STR("usr_boss")));
    assert_int_equal(actor_sole_user(gone).n, 0); /* an account of one person is not for two */
    actor_unref(same);
    actor_unref(narrowed);
    actor_unref(gone);
    actor_unref(boss);
}

TEST_WITH(consent_reaches_as_far_as_the_token, begin, end)
{
    str globs[] = {STR_INIT("nb__time")};
    struct principal p = {.user_id = STR("usr_meg"), .how = AUTH_BY_TOKEN, .scopes = SCOPE_ALL};
    struct actor *wide = person("usr_meg");
    struct actor *narrow = actor_new(d, STR("ws_a"), &p, (struct json_strs){globs, 1});
    struct actor *joined = actor_join(wide, narrow);
    assert_false(actor_covers(narrow, wide));
    assert_true(actor_covers(wide, narrow));
    assert_true(actor_covers(narrow, joined));
    actor_unref(wide);
    actor_unref(narrow);
    actor_unref(joined);
}

TEST_WITH(a_stored_actor_is_the_same, begin, end)
{
    str globs[] = {STR_INIT("a__*"), STR_INIT("b")};
    struct actor *boss = person("usr_boss"), *meg = person("usr_meg");
    struct actor *both = actor_join(boss, meg);
    struct actor *narrow = actor_narrow(both, FILTER_REQUEST, (struct json_strs){globs, 2});
    struct buf b, again;
    struct json_writer w;
    struct arena a;
    struct json *doc;
    arena_init(&a);
    buf_init(&b, 1 << 16);
    buf_init(&again, 1 << 16);
    jw_init(&w, &b);
    actor_write(narrow, &w);
    assert_int_equal(json_parse(&a, buf_str(&b), 0, &doc, NULL), 0);
    struct actor *back = actor_read(d, STR("ws_a"), doc);
    jw_init(&w, &again);
    actor_write(back, &w);
    assert_true(str_eq(buf_str(&b), buf_str(&again)));
    assert_false(actor_is_admin(back));
    assert_int_equal(
        json_parse(&a, STR("{\"people\":[{\"userId\":\"u\",\"how\":\"magic\"}]}"), 0, &doc, NULL),
        0);
    assert_null(actor_read(d, STR("ws_a"), doc));
    buf_done(&b);
    buf_done(&again);
    arena_done(&a);
    actor_unref(back);
    actor_unref(narrow);
    actor_unref(both);
    actor_unref(boss);
    actor_unref(meg);
}

static struct actor *operator_in(const char *path)
{
    struct dir_grant g = {str_from(path), STR("1")};
    struct actor *plain = actor_new_operator(d, STR("ws_a"), STR("usr_boss"));
    struct actor *a = actor_with_grant(plain, &g);
    actor_unref(plain);
    return a;
}

TEST_WITH(a_directory_is_lent_to_operators_only, begin, end)
{
    struct dir_grant g = {STR("/project"), STR("1")};
    struct actor *boss = person("usr_boss"), *a = operator_in("/project");
    struct actor *same = actor_with_grant(boss, &g);
    assert_ptr_equal(same, boss);
    assert_true(str_eq(a->grant.path, STR("/project")));
    assert_false(actor_covers_grant(boss, a)); /* a session of the same person is no terminal */
    assert_true(actor_covers_grant(a, a) && actor_covers_grant(boss, boss));
    actor_unref(same);
    actor_unref(boss);
    actor_unref(a);
}

static void assert_loses_directory(struct actor *both)
{
    assert_int_equal(both->grant.path.n, 0);
    actor_unref(both);
}

TEST_WITH(words_of_others_take_the_directory_away, begin, end)
{
    str globs[] = {STR_INIT("*")};
    struct json_strs all = {0}, some = {globs, 1};
    struct actor *a = operator_in("/project"), *elsewhere = operator_in("/other");
    struct actor *page = person("usr_boss"), *meg = person("usr_meg");
    struct actor *again = operator_in("/project");
    assert_loses_directory(actor_join(a, meg));
    assert_loses_directory(actor_join(a, page));
    assert_loses_directory(actor_join(a, elsewhere));
    assert_loses_directory(actor_join_author(a, STR("usr_meg"), all));
    assert_loses_directory(actor_join_author(a, STR("usr_boss"), some)); /* by a token */
    assert_loses_directory(actor_narrow(a, FILTER_TOKEN, some));
    assert_loses_directory(actor_join(meg, a));
    struct actor *kept[] = {actor_join(a, again), actor_join_author(a, STR("usr_boss"), all),
                            actor_narrow(a, FILTER_REQUEST, some),
                            actor_narrow(a, FILTER_PROFILE, some)};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        assert_true(dir_grant_same(&kept[i]->grant, &a->grant));
        actor_unref(kept[i]);
    }
    actor_unref(a);
    actor_unref(elsewhere);
    actor_unref(again);
    actor_unref(page);
    actor_unref(meg);
}

static struct actor *stored(struct actor *a, const char *from, const char *to)
{
    struct buf b;
    struct json_writer w;
    struct arena m;
    struct json *doc;
    arena_init(&m);
    buf_init(&b, 1 << 16);
    jw_init(&w, &b);
    actor_write(a, &w);
    char *text = arena_cstr(&m, buf_str(&b)), *at = strstr(text, from);
    assert_non_null(at);
    memcpy(at, to, strlen(to));
    assert_int_equal(json_parse(&m, str_from(text), 0, &doc, NULL), 0);
    struct actor *back = actor_read(d, STR("ws_a"), doc);
    buf_done(&b);
    arena_done(&m);
    return back;
}

TEST_WITH(a_stored_directory_needs_a_stored_operator, begin, end)
{
    struct actor *a = operator_in("/project");
    struct actor *same = stored(a, "\"operator\"", "\"operator\"");
    struct actor *forged = stored(a, "\"operator\"", "\"operatox\"");
    assert_true(dir_grant_same(&same->grant, &a->grant));
    assert_int_equal(forged->grant.path.n, 0);
    actor_unref(a);
    actor_unref(same);
    actor_unref(forged);
}

TEST_WITH(too_many_people_may_do_nothing, begin, end)
{
    struct actor *a = person("usr_boss");
    for (int i = 0; i < ACTOR_PEOPLE_MAX + 1; i++) {
        char id[32];
        snprintf(id, sizeof id, "usr_%d", i);
        struct actor *more = actor_join_author(a, str_from(id), (struct json_strs){0});
        actor_unref(a);
        a = more;
    }
    struct conv_acl acl = {.owner_id = STR_NONE};
    assert_int_equal(a->npeople, ACTOR_PEOPLE_MAX);
    assert_true(a->is_overfull);
    assert_false(actor_allows(a, &acl, CONV_VIEW));
    assert_int_equal(actor_sole_user(a).n, 0);
    actor_unref(a);
}
