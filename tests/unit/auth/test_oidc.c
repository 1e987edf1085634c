/* The whole of OpenID Connect against support/issuer.mjs: real signatures, over the network. */
#include "support/identity.h"
#include "support/issuer.h"

static struct issuer issuer;

static int start_issuer(void **state)
{
    loop = loop_new(NULL);
    return issuer_start(&issuer, "{\"clientSecret\":\"s&cret\"}");
}

static int stop_issuer(void **state)
{
    issuer_stop(&issuer);
    loop_free(loop);
    return 0;
}

static void ask(const char *url, const char *body, struct issuer_reply *r)
{
    issuer_ask(loop, fetcher, url, body, r);
}

/* Tells the issuer what to do; a token that it minted, if any. */
static const char *tell(const char *command)
{
    static char token[8192];
    struct arena a;
    arena_init(&a);
    const struct json *doc = issuer_tell(&issuer, loop, fetcher, &a, command);
    keep(token, sizeof token, json_get_string(doc, "token"));
    arena_done(&a);
    return token;
}

/* ---- a server of ours ---- */

static void open_server(const char *more)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"auth\":{\"adapter\":\"oidc\",\"issuer\":\"%s\",\"clientId\":\"nb\","
             "\"clientSecret\":\"s&cret\"%s}}",
             issuer.url, more);
    put_instance(text);
    start_identity(NULL);
}

static int begin(void **state)
{
    int r = tempdir_make(&dir);
    fetcher = fetcher_new(loop);
    tell("{\"down\":false,\"rotate\":\"RS256\",\"user\":{\"sub\":\"sub-1\",\"email\":\"ann@example."
         "com\","
         "\"email_verified\":true,\"name\":\"Ann\"}}");
    open_server(",\"allowedDomains\":[\"example.com\"]");
    return r;
}

static int end(void **state)
{
    if (auth)
        stop_identity();
    fetcher_free(fetcher);
    return tempdir_drop(&dir);
}

static void on_authorize(void *ctx, const struct err *err, str url, str flow)
{
    struct answer *a = ctx;
    answer_err(a, err);
    keep(a->url, sizeof a->url, url);
    keep(a->value, sizeof a->value, flow);
}

static struct answer go_to_provider(const char *return_to)
{
    struct answer a = {0};
    struct auth_authorize in = {.redirect_uri = STR("http://127.0.0.1:1/v1/auth/callback"),
                                .return_to = str_from(return_to)};
    auth_authorize(auth, &in, on_authorize, &a);
    wait_for(&a);
    return a;
}

static str parameter(const char *url, const char *name)
{
    static char key[32];
    snprintf(key, sizeof key, "%s=", name);
    const char *at = strstr(url, key);
    assert_non_null(at);
    at += strlen(key);
    return str_make(at, strcspn(at, "&"));
}

static struct answer come_back(const char *location, const char *cookie)
{
    struct answer a = {0};
    struct auth_callback in = {.state = parameter(location, "state"),
                               .code = parameter(location, "code"),
                               .flow = str_from(cookie)};
    auth_callback(auth, &in, on_session, &a);
    wait_for(&a);
    return a;
}

static struct answer log_in(void)
{
    struct issuer_reply r;
    struct answer there = go_to_provider("/chat?c=1");
    assert_int_equal(there.code, 0);
    ask(there.url, NULL, &r);
    buf_done(&r.body);
    assert_int_equal(r.status, 302);
    assert_true(str_starts(str_from(r.location), STR("http://127.0.0.1:1/v1/auth/callback?")));
    return come_back(r.location, there.value);
}

static void on_check(void *ctx, const struct err *err, const struct identity *who)
{
    struct answer *a = ctx;
    answer_err(a, err);
    keep(a->id, sizeof a->id, who ? who->user_id : STR_NONE);
}

/* What becomes of a request with this bearer. */
static struct answer bearer(const char *token)
{
    struct answer a = {0};
    struct auth_credentials c = {.bearer = str_from(token)};
    const char *id = who_is(token, NULL, &a.code);
    keep(a.id, sizeof a.id, str_from(id));
    if (a.code != -EAGAIN)
        return a;
    auth_check_later(auth, &c, on_check, &a);
    wait_for(&a);
    return a;
}

/* ---- the tests ---- */

TEST_WITH(the_whole_way, begin, end)
{
    int r;
    struct answer a = log_in();
    if (a.code < 0)
        fail_msg("%s", a.msg);
    assert_true(str_starts(str_from(a.id), STR("usr_oidc_")));
    assert_string_equal(a.return_to, "/chat?c=1");
    assert_int_equal(a.max_age_s, 3600);
    assert_string_equal(who_is(NULL, a.value, &r), a.id);
    const struct user *u = roster_user(directory_roster(directory), str_from(a.id));
    assert_true(str_eq(u->email, STR("ann@example.com")));
    assert_true(str_eq(u->display_name, STR("Ann")));
    assert_int_equal(u->role, ORG_MEMBER);
    struct answer again = log_in();
    assert_string_equal(again.id, a.id); /* the same person */
    assert_int_equal(directory_roster(directory)->nusers, 1);
}

TEST_WITH(a_state_is_used_once_and_by_one_browser, begin, end)
{
    struct issuer_reply r;
    struct answer there = go_to_provider("/");
    ask(there.url, NULL, &r);
    buf_done(&r.body);
    assert_int_equal(come_back(r.location, "another browser's cookie").code, -ENOENT);
    assert_int_equal(come_back(r.location, there.value).code, -ENOENT); /* spent by that */

    there = go_to_provider("/");
    ask(there.url, NULL, &r);
    buf_done(&r.body);
    assert_int_equal(come_back(r.location, there.value).code, 0);
    assert_int_equal(come_back(r.location, there.value).code, -ENOENT);

    struct answer a = {0};
    struct auth_callback in = {.state = STR("guessed"), .code = STR("x"), .flow = STR("y")};
    auth_callback(auth, &in, on_session, &a);
    assert_int_equal(wait_for(&a), -ENOENT);

    there = go_to_provider("/");
    in = (struct auth_callback){.state = parameter(there.url, "state"),
                                .flow = str_from(there.value),
                                .code = STR("x"),
                                .iss = STR("https://other")};
    a = (struct answer){0};
    auth_callback(auth, &in, on_session, &a);
    assert_int_equal(wait_for(&a), -EACCES);

    there = go_to_provider("/");
    in = (struct auth_callback){.state = parameter(there.url, "state"),
                                .flow = str_from(there.value),
                                .error = STR("access_denied")};
    a = (struct answer){0};
    auth_callback(auth, &in, on_session, &a);
    assert_int_equal(wait_for(&a), -EACCES);

    /* A code that the provider does not know: PKCE and all that is checked there. */
    there = go_to_provider("/");
    in = (struct auth_callback){.state = parameter(there.url, "state"),
                                .flow = str_from(there.value),
                                .code = STR("made-up")};
    a = (struct answer){0};
    auth_callback(auth, &in, on_session, &a);
    assert_int_equal(wait_for(&a), -EACCES);
}

TEST_WITH(only_own_paths_to_return_to, begin, end)
{
    static const char *const BAD[] = {"https://evil", "//evil", "/\\evil", "evil", "/a b", "/\n"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        struct issuer_reply r;
        struct answer there = go_to_provider(BAD[i]);
        ask(there.url, NULL, &r);
        buf_done(&r.body);
        assert_string_equal(come_back(r.location, there.value).return_to, "");
    }
}

TEST_WITH(who_may_come_in, begin, end)
{
    tell("{\"user\":{\"sub\":\"m\",\"email\":\"m@evil.com\",\"email_verified\":true}}");
    assert_int_equal(log_in().code, -EPERM);
    tell("{\"user\":{\"sub\":\"m\",\"email\":\"m@example.com\",\"email_verified\":false}}");
    assert_int_equal(log_in().code, -EPERM);
    tell("{\"user\":{\"sub\":\"m\",\"email\":\"m@example.com\"}}");
    assert_int_equal(log_in().code, -EPERM);
    tell("{\"user\":{\"sub\":\"m\",\"email_verified\":true}}");
    assert_int_equal(log_in().code, -EPERM);
    tell("{\"user\":{\"sub\":\"m\",\"email\":\"m@sub.example.com\",\"email_verified\":true}}");
    assert_int_equal(log_in().code, -EPERM);
    tell("{\"user\":{\"sub\":\"m\",\"email\":\"m@EXAMPLE.com\",\"email_verified\":true}}");
    struct answer m = log_in();
    assert_int_equal(m.code, 0);
    /* Another subject with the same address is somebody else. */
    tell("{\"user\":{\"sub\":\"n\",\"email\":\"m@example.com\",\"email_verified\":true}}");
    assert_int_equal(log_in().code, -EPERM);
    /* An account that was made beforehand is theirs at the first login. */
    assert_int_equal(change((struct change){.kind = CHANGE_USER_ADD,
                                            .user_id = STR("usr_boss"),
                                            .email = STR("boss@example.com"),
                                            .role = ORG_OWNER}),
                     0);
    tell("{\"user\":{\"sub\":\"b\",\"email\":\"boss@example.com\",\"email_verified\":true}}");
    assert_string_equal(log_in().id, "usr_boss");
    stop_identity();
    open_server(",\"allowedDomains\":[\"example.com\"],\"signup\":false");
    assert_string_equal(log_in().id, "usr_boss");
    tell("{\"user\":{\"sub\":\"z\",\"email\":\"z@example.com\",\"email_verified\":true}}");
    assert_int_equal(log_in().code, -EPERM);
}

/* A guest, or an owner whose own address is elsewhere. */
TEST_WITH(whom_somebody_gave_an_account_is_welcome_from_anywhere, begin, end)
{
    assert_int_equal(change((struct change){.kind = CHANGE_USER_ADD,
                                            .user_id = STR("usr_guest"),
                                            .email = STR("guest@other.org"),
                                            .role = ORG_MEMBER}),
                     0);
    tell("{\"user\":{\"sub\":\"g\",\"email\":\"guest@other.org\",\"email_verified\":false}}");
    assert_int_equal(log_in().code, -EPERM);
    tell("{\"user\":{\"sub\":\"g\",\"email\":\"guest@other.org\",\"email_verified\":true}}");
    assert_string_equal(log_in().id, "usr_guest");
    assert_string_equal(log_in().id, "usr_guest");
    tell("{\"user\":{\"sub\":\"h\",\"email\":\"h@other.org\",\"email_verified\":true}}");
    assert_int_equal(log_in().code, -EPERM);
    /* Who came by the domain goes with it. */
    tell("{\"user\":{\"sub\":\"i\",\"email\":\"i@example.com\",\"email_verified\":true}}");
    assert_int_equal(log_in().code, 0);
    stop_identity();
    open_server(",\"allowedDomains\":[\"example.net\"]");
    assert_int_equal(log_in().code, -EPERM);
}

TEST_WITH(bearer_tokens, begin, end)
{
    int r;
    char good[8192];
    keep(good, sizeof good, str_from(tell("{\"mint\":[{}]}")));
    assert_string_equal(who_is(good, NULL, &r), "");
    assert_int_equal(r, -EAGAIN); /* not seen yet */
    struct answer a = bearer(good);
    if (a.code < 0)
        fail_msg("%s", a.msg);
    assert_string_equal(who_is(good, NULL, &r), a.id); /* from memory now */

    static const char *const BAD[] = {
        "{\"mint\":[{\"aud\":\"other\"}]}",
        "{\"mint\":[{\"iss\":\"https://other\"}]}",
        "{\"mint\":[{\"exp\":1000000000}]}",
        "{\"mint\":[{\"nbf\":4000000000}]}",
        "{\"mint\":[{\"sub\":null}]}",
        "{\"mint\":[{},{\"forge\":\"none\"}]}",
        "{\"mint\":[{},{\"forge\":\"hmac\"}]}",
        "{\"mint\":[{},{\"forge\":\"stranger\"}]}",
        "{\"mint\":[{},{\"forge\":\"swapped\"}]}",
        "{\"mint\":[{},{\"forge\":\"bitflip\"}]}",
        "{\"mint\":[{},{\"kid\":\"unknown\"}]}",
        "{\"mint\":[{},{\"header\":{\"crit\":[\"x\"]}}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        a = bearer(tell(BAD[i]));
        if (a.code != -EACCES)
            fail_msg("%s: %d %s", BAD[i], a.code, a.msg);
    }
    assert_int_equal(bearer("opaque").code, -EACCES);

    /* Signed out everywhere: the token from before as well. */
    assert_int_equal(
        change((struct change){.kind = CHANGE_USER_SIGN_OUT, .user_id = str_from(bearer(good).id)}),
        0);
    assert_int_equal(bearer(good).code, -EACCES);
}

TEST_WITH(keys_rotate, begin, end)
{
    char rsa[8192];
    keep(rsa, sizeof rsa, str_from(tell("{\"mint\":[{}]}")));
    assert_int_equal(bearer(rsa).code, 0);
    tell("{\"rotate\":\"ES256\"}");
    char ec[8192];
    keep(ec, sizeof ec, str_from(tell("{\"mint\":[{}]}")));
    /* The keys were fetched a moment ago; an unknown one may not make us ask again so soon. */
    struct answer a = bearer(ec);
    assert_int_equal(a.code, -EACCES);
    assert_non_null(strstr(a.msg, "key is unknown"));
    stop_identity(); /* a fresh start has fetched nothing yet */
    open_server(",\"allowedDomains\":[\"example.com\"]");
    a = bearer(ec);
    if (a.code < 0)
        fail_msg("%s", a.msg);
    assert_int_equal(bearer(rsa).code, -EACCES); /* its key is gone */
    assert_int_equal(log_in().code, 0);
}

TEST_WITH(refresh, begin, end)
{
    int r;
    struct answer one = log_in(), two = {0}, three = {0};
    auth_refresh(auth, str_from(one.refresh), on_session, &two);
    assert_int_equal(wait_for(&two), 0);
    assert_string_equal(two.id, one.id);
    assert_string_equal(who_is(NULL, two.value, &r), one.id);

    /* An outage logs nobody out. */
    tell("{\"down\":true}");
    auth_refresh(auth, str_from(two.refresh), on_session, &three);
    assert_int_equal(wait_for(&three), -EHOSTUNREACH);
    assert_string_equal(who_is(NULL, two.value, &r), one.id);
    tell("{\"down\":false}");
    three = (struct answer){0};
    auth_refresh(auth, str_from(two.refresh), on_session, &three);
    assert_int_equal(wait_for(&three), 0);

    /* Locked out over there: out here. */
    tell("{\"revoke\":true}");
    struct answer four = {0};
    auth_refresh(auth, str_from(three.refresh), on_session, &four);
    assert_int_equal(wait_for(&four), -EACCES);
    assert_string_equal(who_is(NULL, three.value, &r), "");
}

TEST_WITH(outage, begin, end)
{
    tell("{\"down\":true}");
    assert_int_equal(go_to_provider("/").code, -EHOSTUNREACH);
    char token[8192];
    keep(token, sizeof token, str_from(tell("{\"mint\":[{}]}")));
    assert_int_equal(bearer(token).code, -EHOSTUNREACH);
}

TEST_WITH(an_issuer_under_another_name, begin, end)
{
    char more[256];
    stop_identity();
    snprintf(more, sizeof more,
             "{\"auth\":{\"adapter\":\"oidc\",\"issuer\":\"%s/\",\"clientId\":\"nb\"}}",
             issuer.url);
    put_instance(more);
    start_identity(NULL);
    assert_int_equal(go_to_provider("/").code, -EHOSTUNREACH);
}

TEST_WITH(abandoned, begin, end)
{
    struct answer a = {0};
    struct auth_authorize in = {.redirect_uri = STR("http://127.0.0.1:1/cb")};
    auth_authorize(auth, &in, on_authorize, &a);
    auth_cancel(auth_authorize(auth, &in, on_authorize, &a));
    struct auth_credentials c = {.bearer = STR("e30.e30.e30")};
    auth_check_later(auth, &c, on_check, &a);
    stop_identity();
    assert_false(a.is_done);
}

TESTS_SHARE(start_issuer, stop_issuer)
