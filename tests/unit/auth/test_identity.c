#include "base/clock.h"
#include "support/identity.h"

#define LOCAL "{\"auth\":{\"adapter\":\"local\"}}"

static int begin(void **state)
{
    loop = loop_new(NULL);
    return tempdir_make(&dir);
}

static int end(void **state)
{
    if (auth)
        stop_identity();
    loop_free(loop);
    return tempdir_drop(&dir);
}

static struct answer log_in(struct auth_login in)
{
    struct answer a = {0};
    in.client = in.client.p ? in.client : STR("192.0.2.1");
    auth_login(auth, &in, on_session, &a);
    wait_for(&a);
    return a;
}

static void add_ann(void)
{
    struct answer a = {0};
    assert_int_equal(change((struct change){.kind = CHANGE_USER_ADD,
                                            .user_id = STR("usr_ann"),
                                            .email = STR("ann@x.org"),
                                            .role = ORG_OWNER}),
                     0);
    auth_set_password(auth, STR("usr_ann"), STR_NONE, STR("correct horse"), on_change, &a);
    assert_int_equal(wait_for(&a), 0);
}

static const struct auth_login ANN = {.email = STR_INIT("Ann@X.org"),
                                      .password = STR_INIT("correct horse")};

static void on_renewed(void *ctx, const struct err *err)
{
    answer_err(ctx, err);
}

TEST_WITH(dev_needs_its_key, begin, end)
{
    int r;
    struct err e = {0};
    start_identity(NULL);
    assert_string_equal(who_is(NULL, NULL, &r), "");
    assert_string_equal(who_is("anything", NULL, &r), "");
    assert_int_equal(auth_dev_open(auth, &e), 0);
    assert_string_equal(who_is(NULL, NULL, &r), "");
    assert_int_equal(r, -EACCES);
    assert_string_equal(who_is("anything", NULL, &r), "");
    assert_string_equal(who_is("nb_0000000000000000000000000000000000000000000", NULL, &r), "");
    assert_string_equal(who_is(auth_dev_key(auth).p, NULL, &r), "usr_default");
    struct answer wrong = log_in((struct auth_login){.key = STR("wrong")});
    assert_int_equal(wrong.code, -EACCES);
    struct answer in = log_in((struct auth_login){.key = auth_dev_key(auth)});
    assert_int_equal(in.code, 0);
    assert_string_equal(who_is(NULL, in.value, &r), "usr_default");
}

TEST_WITH(a_new_dev_key_ends_sessions, begin, end)
{
    int r;
    struct err e = {0};
    char old[64];
    struct answer done = {0};
    start_identity(NULL);
    assert_int_equal(auth_dev_open(auth, &e), 0);
    keep(old, sizeof old, auth_dev_key(auth));
    struct answer in = log_in((struct auth_login){.key = auth_dev_key(auth)});
    auth_dev_renew(auth, on_renewed, &done);
    assert_int_equal(wait_for(&done), 0);
    assert_string_not_equal(old, auth_dev_key(auth).p);
    assert_string_equal(who_is(old, NULL, &r), "");
    assert_string_equal(who_is(NULL, in.value, &r), "");
    assert_string_equal(who_is(auth_dev_key(auth).p, NULL, &r), "usr_default");

    /* A session lives as long as its key, across restarts. */
    in = log_in((struct auth_login){.key = auth_dev_key(auth)});
    stop_identity();
    start_identity(NULL);
    assert_int_equal(auth_dev_open(auth, &e), 0);
    assert_string_equal(who_is(NULL, in.value, &r), "usr_default");
}

TEST_WITH(key, begin, end)
{
    int r;
    start_identity("a key of some length");
    assert_string_equal(who_is("a key of some length", NULL, &r), "usr_default");
    assert_string_equal(who_is("a key of some lengti", NULL, &r), "");
    assert_int_equal(r, -EACCES);
    assert_string_equal(who_is(NULL, NULL, &r), "");
    struct answer a = log_in((struct auth_login){.key = STR("wrong")});
    assert_int_equal(a.code, -EACCES);
    a = log_in((struct auth_login){.key = STR("a key of some length")});
    assert_int_equal(a.code, 0);
    assert_string_equal(who_is(NULL, a.value, &r), "usr_default");
    stop_identity();
    start_identity("another key, same server");
    assert_string_equal(who_is(NULL, a.value, &r), ""); /* sessions of the old key are gone */
}

/* A key is whatever the operator chose. */
TEST_WITH(a_key_like_a_token, begin, end)
{
    int r;
    start_identity("nb_0123456789012345678901234567890123456789012");
    assert_string_equal(who_is("nb_0123456789012345678901234567890123456789012", NULL, &r),
                        "usr_default");
    assert_string_equal(who_is("nb_0123456789012345678901234567890123456789013", NULL, &r), "");
}

TEST_WITH(passwords, begin, end)
{
    int r;
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    assert_string_equal(who_is(NULL, NULL, &r), "");
    assert_int_equal(r, -EACCES);
    struct answer a = log_in(ANN);
    assert_int_equal(a.code, 0);
    assert_string_equal(who_is(NULL, a.value, &r), "usr_ann");
    assert_string_equal(who_is("something", a.value, &r), ""); /* the bearer counts */

    /* Unknown people and wrong passwords look the same. */
    struct answer wrong = log_in((struct auth_login){.email = ANN.email, .password = STR("x")});
    struct answer nobody =
        log_in((struct auth_login){.email = STR("bob@x.org"), .password = STR("x")});
    assert_int_equal(wrong.code, -EACCES);
    assert_int_equal(nobody.code, -EACCES);
    assert_string_equal(wrong.msg, nobody.msg);

    /* A session survives a restart. */
    stop_identity();
    start_identity(NULL);
    assert_string_equal(who_is(NULL, a.value, &r), "usr_ann");
}

struct ends {
    struct auth_observer observer;
    int sessions, tokens;
};

static void on_ended(void *ctx, str user_id, str session_id, str token_id)
{
    struct ends *e = ctx;
    e->sessions += session_id.n > 0;
    e->tokens += token_id.n > 0;
}

TEST_WITH(a_new_password_ends_sessions, begin, end)
{
    int r;
    struct ends ends = {.observer = {.on_ended = on_ended, .ctx = &ends}};
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    auth_observe(auth, &ends.observer);
    struct answer session = log_in(ANN), a = {0};
    auth_set_password(auth, STR("usr_ann"), STR("wrong one"), STR("battery staple"), on_change, &a);
    assert_int_equal(wait_for(&a), -EACCES);
    a = (struct answer){0};
    auth_set_password(auth, STR("usr_ann"), ANN.password, STR("short"), on_change, &a);
    assert_int_equal(wait_for(&a), -EINVAL);
    assert_string_equal(who_is(NULL, session.value, &r), "usr_ann");
    a = (struct answer){0};
    auth_set_password(auth, STR("usr_ann"), ANN.password, STR("battery staple"), on_change, &a);
    assert_int_equal(wait_for(&a), 0);
    assert_string_equal(who_is(NULL, session.value, &r), "");
    assert_int_equal(ends.sessions, 1);
    assert_int_equal(log_in(ANN).code, -EACCES);
    session = log_in((struct auth_login){.email = ANN.email, .password = STR("battery staple")});
    assert_int_equal(session.code, 0);

    /* While no server runs, too. */
    auth_unobserve(&ends.observer);
    stop_identity();
    struct change c = {.kind = CHANGE_USER_SIGN_OUT, .user_id = STR("usr_ann")};
    struct change_result res;
    assert_int_equal(change_apply(dir.path, false, &c, &res, NULL), 0);
    roster_free(res.roster);
    start_identity(NULL);
    a = (struct answer){0};
    auth_refresh(auth, str_from(session.refresh), on_session, &a);
    assert_int_equal(wait_for(&a), -EACCES);
    assert_string_equal(who_is(NULL, session.value, &r), "");
}

static void note(void *ctx, const struct err *err)
{
    *(bool *)ctx = true;
}

TEST_WITH(refresh_and_logout, begin, end)
{
    int r;
    bool is_done = false;
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    struct answer one = log_in(ANN), two = {0}, again = {0};
    auth_refresh(auth, str_from(one.refresh), on_session, &two);
    assert_int_equal(wait_for(&two), 0);
    assert_string_not_equal(one.value, two.value);
    assert_string_equal(who_is(NULL, two.value, &r), "usr_ann");
    auth_refresh(auth, str_from(one.refresh), on_session, &again);
    assert_int_equal(wait_for(&again), 0);
    assert_string_equal(again.value, ""); /* another tab has them */
    struct answer bad = {0};
    auth_refresh(auth, STR("nonsense"), on_session, &bad);
    assert_int_equal(wait_for(&bad), -EACCES);
    auth_logout(auth, str_from(two.value), STR_NONE, note, &is_done);
    assert_string_equal(who_is(NULL, two.value, &r), "");
    assert_true(loop_run_until(loop, &is_done, PATIENCE_MS));
}

TEST_WITH(logging_out_with_what_is_left, begin, end)
{
    bool is_done = false;
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    struct answer one = log_in(ANN), again = {0};
    auth_logout(auth, STR_NONE, str_from(one.refresh), note, &is_done);
    assert_true(loop_run_until(loop, &is_done, PATIENCE_MS));
    auth_refresh(auth, str_from(one.refresh), on_session, &again);
    assert_int_equal(wait_for(&again), -EACCES);
}

TEST_WITH(guessing_locks_nobody_out_of_where_they_were, begin, end)
{
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    struct auth_login ann = ANN, guess = {.email = ANN.email, .password = STR("x")};
    ann.client = STR("192.0.2.9");
    assert_int_equal(log_in(ann).code, 0);
    while (log_in(guess).code == -EACCES)
        ;
    assert_int_equal(log_in(ann).code, 0);
    ann.password = STR("x");
    int tried = 0;
    while (log_in(ann).code == -EACCES && tried < 50)
        tried++;
    assert_int_equal(tried, 10); /* there, too, guessing is slow */
}

TEST_WITH(guessing_is_slow, begin, end)
{
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    struct auth_login guess = {.email = ANN.email, .password = STR("x")};
    struct answer a;
    int tried = 0;
    do
        a = log_in(guess);
    while (a.code == -EACCES && ++tried < 50);
    assert_int_equal(a.code, -EBUSY);
    assert_int_equal(tried, 10);
    /* From elsewhere the account is still closed; others are not. */
    struct auth_login ann = ANN;
    ann.client = STR("192.0.2.2");
    assert_int_equal(log_in(ann).code, -EBUSY);
    ann.email = STR("aNN@x.ORG"); /* written in another way */
    assert_int_equal(log_in(ann).code, -EBUSY);
    guess = (struct auth_login){
        .email = STR("bob@x.org"), .password = STR("x"), .client = STR("192.0.2.3")};
    assert_int_equal(log_in(guess).code, -EACCES);
}

static struct auth_login guess_from(const char *client, const char *email)
{
    return (struct auth_login){
        .email = str_from(email), .password = STR("x"), .client = str_from(client)};
}

/* More than LOGINS_UNDELAYED in a minute, from many addresses: who was there before is not slowed. */
TEST_WITH(many_guesses_lock_out_nobody_known, begin, end)
{
    char client[32], email[32];
    struct answer waiting[12] = {0};
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    struct auth_login ann = ANN;
    ann.client = STR("192.0.2.9");
    assert_int_equal(log_in(ann).code, 0);
    for (int i = 0; i < 20; i++) {
        snprintf(client, sizeof client, "198.51.100.%d", i);
        snprintf(email, sizeof email, "u%d@x.org", i);
        assert_int_equal(log_in(guess_from(client, email)).code, -EACCES);
    }
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
        snprintf(client, sizeof client, "203.0.113.%zu", i);
        struct auth_login guess = guess_from(client, "ann@x.org");
        auth_login(auth, &guess, on_session, &waiting[i]);
    }
    uint64_t began = clock_mono_ms();
    assert_int_equal(log_in(ann).code, 0);
    assert_false(waiting[9].is_done); /* those wait for their turn */
    assert_true(clock_mono_ms() - began < PATIENCE_MS);
    assert_true(waiting[10].is_done && waiting[11].is_done);
    assert_int_equal(waiting[11].code, -EBUSY); /* the account: ten in a minute */
    assert_int_equal(wait_for(&waiting[9]), -EACCES);
    ann.client = STR("192.0.2.77"); /* not known there: the account is under attack */
    assert_int_equal(log_in(ann).code, -EBUSY);
    ann.client = STR("192.0.2.9");
    assert_int_equal(log_in(ann).code, 0);
}

TEST_WITH(addresses_of_one_site_are_one_client, begin, end)
{
    char client[64], email[32];
    int passed = 0;
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    /* One /64: ten, whatever the address and the account. */
    for (int i = 0; i < 14; i++) {
        snprintf(client, sizeof client, "2001:db8:1:1::%x", i + 1);
        snprintf(email, sizeof email, "u%d@x.org", i);
        passed += log_in(guess_from(client, email)).code == -EACCES;
    }
    assert_int_equal(passed, 10);
    /* An IPv4 address is the same in both notations. */
    for (int i = 0; i < 10; i++)
        (void)log_in(guess_from("::ffff:192.0.2.50", "v@x.org"));
    assert_int_equal(log_in(guess_from("192.0.2.50", "w@x.org")).code, -EBUSY);
}

TEST_WITH(wrong_keys_are_counted_by_client, begin, end)
{
    int r;
    start_identity("a key of some length");
    for (int i = 0; i < 30; i++)
        assert_true(auth_wrong_bearer(auth, STR("192.0.2.1")));
    assert_false(auth_wrong_bearer(auth, STR("192.0.2.1")));
    assert_false(auth_wrong_bearer(auth, STR("::ffff:192.0.2.1")));
    assert_true(auth_wrong_bearer(auth, STR("192.0.2.2")));
    for (int i = 0; i < 30; i++)
        (void)auth_wrong_bearer(auth, STR("2001:db8::1"));
    assert_false(auth_wrong_bearer(auth, STR("2001:db8::2")));
    assert_true(auth_wrong_bearer(auth, STR("2001:db8:0:1::2")));
    /* The right one is accepted at any time. */
    assert_string_equal(who_is("a key of some length", NULL, &r), "usr_default");
    for (int i = 0; i < 10; i++)
        assert_int_equal(log_in((struct auth_login){.key = STR("wrong")}).code, -EACCES);
    assert_int_equal(log_in((struct auth_login){.key = STR("wrong")}).code, -EBUSY);
    assert_int_equal(log_in((struct auth_login){.key = STR("a key of some length")}).code, 0);
}

static void on_token(void *ctx, const struct err *err, str id, str value)
{
    struct answer *a = ctx;
    answer_err(a, err);
    keep(a->id, sizeof a->id, id);
    keep(a->value, sizeof a->value, value);
}

static bool may_not(void *ctx)
{
    return false;
}

/* Another change is under way, so that both have to wait for their turn. */
TEST_WITH(nothing_is_stored_for_who_may_not_any_more, begin, end)
{
    struct answer busy = {0}, password = {0}, t = {0};
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    struct auth_new_token in = {
        .user_id = STR("usr_ann"), .name = STR("late"), .scopes = SCOPE_READ};
    directory_change(directory,
                     &(struct change){.kind = CHANGE_USER_SET, .user_id = STR("usr_ann")},
                     on_change, &busy);
    auth_only_if(auth_create_token(auth, &in, on_token, &t), may_not);
    auth_only_if(auth_set_password(auth, STR("usr_ann"), STR_NONE, STR("another horse"), on_change,
                                   &password),
                 may_not);
    assert_int_equal(wait_for(&t), -ESTALE);
    assert_true(loop_run_until(loop, &password.is_done, PATIENCE_MS));
    assert_int_equal(password.code, -ESTALE);
    assert_int_equal(roster_user(directory_roster(directory), STR("usr_ann"))->ntokens, 0);
    assert_int_equal(log_in(ANN).code, 0);
}

TEST_WITH(tokens, begin, end)
{
    int r;
    str tools[] = {STR("files__*"), STR("nb__status")};
    struct ends ends = {.observer = {.on_ended = on_ended, .ctx = &ends}};
    struct answer t = {0}, old = {0};
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    auth_observe(auth, &ends.observer);
    struct auth_new_token in = {.user_id = STR("usr_ann"),
                                .name = STR("ci"),
                                .scopes = SCOPE_READ | SCOPE_MCP,
                                .tools = {tools, 2},
                                .expires_ms = clock_now_ms() + 3600000};
    auth_create_token(auth, &in, on_token, &t);
    assert_int_equal(wait_for(&t), 0);
    assert_int_equal(strlen(t.value), 46);
    assert_int_equal(auth_token_used(auth, str_from(t.id)), 0);

    struct arena a;
    struct identity who;
    struct auth_credentials c = {.bearer = str_from(t.value)};
    arena_init(&a);
    assert_int_equal(auth_check(auth, &a, &c, &who), 0);
    assert_true(str_eq(who.token_id, str_from(t.id)));
    assert_int_equal(who.how, AUTH_BY_TOKEN);
    assert_int_equal(who.scopes, SCOPE_READ | SCOPE_MCP);
    assert_int_equal(who.tools.len, 2);
    assert_true(str_eq(who.tools.items[0], tools[0]));
    assert_int_equal(who.expires_ms, in.expires_ms);
    assert_true(auth_token_used(auth, str_from(t.id)) > 0);
    arena_done(&a);

    in.expires_ms = clock_now_ms() - 1;
    auth_create_token(auth, &in, on_token, &old);
    assert_int_equal(wait_for(&old), 0);
    assert_string_equal(who_is(old.value, NULL, &r), "");

    t.value[20] ^= 1;
    assert_string_equal(who_is(t.value, NULL, &r), "");
    t.value[20] ^= 1;
    assert_int_equal(change((struct change){.kind = CHANGE_TOKEN_REVOKE,
                                            .user_id = STR("usr_ann"),
                                            .token = {.id = str_from(t.id)}}),
                     0);
    assert_string_equal(who_is(t.value, NULL, &r), "");
    assert_int_equal(ends.tokens, 1);
    auth_unobserve(&ends.observer);
}

TEST_WITH(who_is_removed_is_out, begin, end)
{
    int r;
    struct ends ends = {.observer = {.on_ended = on_ended, .ctx = &ends}};
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    assert_int_equal(change((struct change){.kind = CHANGE_USER_ADD,
                                            .user_id = STR("usr_bob"),
                                            .email = STR("bob@x.org"),
                                            .role = ORG_OWNER}),
                     0);
    struct answer session = log_in(ANN);
    auth_observe(auth, &ends.observer);
    assert_int_equal(change((struct change){.kind = CHANGE_USER_REMOVE, .user_id = STR("usr_ann")}),
                     0);
    assert_int_equal(ends.sessions, 1);
    assert_string_equal(who_is(NULL, session.value, &r), "");
    assert_int_equal(log_in(ANN).code, -EACCES);
    auth_unobserve(&ends.observer);
}

/* Answers that are still to come when everything ends, or that nobody wants any more. */
TEST_WITH(cancelled_and_abandoned, begin, end)
{
    struct answer a = {0}, b = {0};
    put_instance(LOCAL);
    start_identity(NULL);
    add_ann();
    auth_cancel(auth_login(auth, &ANN, on_session, &a));
    auth_cancel(NULL);
    struct auth_new_token in = {.user_id = STR("usr_ann"), .name = STR("ci")};
    auth_create_token(auth, &in, on_token, &b);
    auth_login(auth, &ANN, on_session, &a);
    auth_set_password(auth, STR("usr_ann"), STR_NONE, STR("another one"), on_change, &a);
    auth_login(auth, &(struct auth_login){.client = STR("x")}, on_session, &a);
    stop_identity();
    assert_false(a.is_done);
    assert_false(b.is_done);
}

TEST(scope_names)
{
    unsigned bits;
    struct arena a;
    assert_int_equal(auth_scope_parse(STR("mcp"), &bits), 0);
    assert_int_equal(bits, SCOPE_MCP);
    assert_int_equal(auth_scope_parse(STR("all"), &bits), 0);
    assert_int_equal(bits, SCOPE_ALL);
    assert_int_equal(auth_scope_parse(STR("root"), &bits), -EINVAL);
    arena_init(&a);
    assert_int_equal(auth_scope_names(&a, SCOPE_ALL).len, 4);
    arena_done(&a);
}
