#include <errno.h>

#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/audit_read.h"
#include "workspace/deed.h"
#include "workspace/roster/roster.h"

static struct tempdir dir;
static struct loop *loop;

static int begin(void **state)
{
    loop = loop_new(NULL);
    return tempdir_make(&dir);
}

static int end(void **state)
{
    loop_free(loop);
    return tempdir_drop(&dir);
}

static struct json *only_record(struct arena *a)
{
    struct audit_page page;
    struct json *v;
    assert_int_equal(audit_read(a, dir.path, &(struct audit_query){0}, &page, NULL), 0);
    assert_int_equal(page.n, 1);
    assert_int_equal(json_parse(a, page.lines[0], JSON_COPY, &v, NULL), 0);
    return v;
}

static void assert_member(const struct json *v, const char *key, const char *want)
{
    assert_true(str_eq(json_get_string(v, key), str_from(want)));
}

TEST_WITH(a_deed_names_actor_way_and_run, begin, end)
{
    struct arena a;
    struct audit *log = audit_new(loop, NULL, dir.path);
    struct principal p = {
        .user_id = STR("usr_ann"), .how = AUTH_BY_TOKEN, .token_id = STR("tok_1")};
    struct actor *one = actor_new(NULL, STR("ws_a"), &p, (struct json_strs){0});
    struct actor *both = actor_join_author(one, STR("usr_bob"), (struct json_strs){0});
    struct doer by = {.actor = both, .via = STR("run"), .run_id = STR("run_1")};
    struct deed *d = deed_begin(log, &by, STR("conversation.share"), STR("conv_1"));
    actor_unref(one);
    actor_unref(both);
    deed_set(d, STR("participant.add"), STR("conv_1"));
    deed_detail(d, "userId=%s", "usr_cat");
    deed_end(d, &(struct err){.code = -EPERM});
    audit_free(log);
    arena_init(&a);
    const struct json *v = only_record(&a), *actor = json_get(v, "actor");
    assert_member(actor, "user", "usr_ann");
    assert_member(actor, "token", "tok_1");
    assert_member(actor, "how", "token");
    assert_member(actor, "via", "run");
    assert_member(actor, "run", "run_1");
    assert_member(v, "workspace", "ws_a");
    assert_member(v, "action", "participant.add");
    assert_member(v, "outcome", "denied");
    assert_member(v, "detail", "with=usr_bob userId=usr_cat");
    arena_done(&a);
}

TEST_WITH(without_a_log_or_a_doer_nothing_happens, begin, end)
{
    deed_end(deed_begin(NULL, &(struct doer){0}, STR("x"), STR("y")), NULL);
    struct audit *log = audit_new(loop, NULL, dir.path);
    deed_end(deed_begin(log, NULL, STR("x"), STR("y")), NULL);
    deed_detail(NULL, "x");
    deed_set(NULL, STR("x"), STR("y"));
    audit_free(log);
}

TEST(addresses_lose_what_may_be_secret)
{
    assert_true(str_eq(deed_plain_url(STR("https://u:p@h.x/a?key=1")), STR("h.x/a")));
    assert_true(str_eq(deed_plain_url(STR("https://h.x/a")), STR("https://h.x/a")));
    assert_true(str_eq(deed_plain_url(STR("@scope/name")), STR("@scope/name")));
}

TEST(members_are_found_by_id_address_and_name)
{
    struct user u[] = {
        {.id = STR("usr_1"), .email = STR("a@x"), .display_name = STR("Ann")},
        {.id = STR("usr_2"), .email = STR("b@x"), .display_name = STR("Bob")},
        {.id = STR("usr_3"), .email = STR("c@x"), .display_name = STR("bob")},
        {.id = STR("usr_4")},
    };
    struct member m[] = {{&u[0], 1}, {&u[1], 1}, {&u[2], 1}, {&u[3], 1}};
    struct workspace ws = {.members = m, .nmembers = 4};
    const struct user *found;
    struct err e = {0};
    assert_int_equal(member_find(&ws, STR("usr_1"), &found, &e), 0);
    assert_ptr_equal(found, &u[0]);
    assert_int_equal(member_find(&ws, STR("A@X"), &found, &e), 0);
    assert_ptr_equal(found, &u[0]);
    assert_int_equal(member_find(&ws, STR("ann"), &found, &e), 0);
    assert_ptr_equal(found, &u[0]);
    assert_int_equal(member_find(&ws, STR("Bob"), &found, &e), -EINVAL);
    assert_null(found);
    assert_int_equal(member_find(&ws, STR(""), &found, &e), -ENOENT);
    assert_int_equal(member_find(NULL, STR("Ann"), &found, &e), -ENOENT);
}
