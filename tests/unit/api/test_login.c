/* /v1/auth/...: cookies of a login with a password. Hashing a password takes a moment, so Ben's is
 * hashed once for all tests. */
#include "auth/session/password.h"
#include "support/api_streams.h"

#define PASSWORD  "correct horse"
#define SAME_PAGE "Origin: http://127.0.0.1\r\n"

static char hash[PASSWORD_HASH_MAX];

static int set_up(void **state)
{
    struct err e = {0};
    if (!hash[0])
        assert_int_equal(password_hash(STR(PASSWORD), hash, &e), 0);
    api_set_up(state);
    api_change(*state, (struct change){.kind = CHANGE_USER_PASSWORD,
                                       .user_id = STR("usr_ben"),
                                       .password = str_from(hash)});
    return 0;
}

static struct api_answer log_in(struct api_rig *t, const char *headers)
{
    return api_call_with(t, "", "POST", "/v1/auth/login", headers,
                         STR("{\"email\":\"ben@example.com\",\"password\":\"" PASSWORD "\"}"));
}

/* The line that sets this cookie, or "". */
static const char *cookie_line(struct api_rig *t, const struct api_answer *a, const char *name)
{
    str rest = a->head, line;
    const char *start = api_path(t, "Set-Cookie: %s=", name);
    while (str_split(&rest, '\n', &line))
        if (str_starts(line, str_from(start)))
            return arena_cstr(&t->rig->arena, str_trim(str_skip(line, 12)));
    return "";
}

/* "name=value", to be sent back. */
static const char *cookie(struct api_rig *t, const struct api_answer *a, const char *name)
{
    const char *line = cookie_line(t, a, name);
    return api_path(t, "%.*s", (int)strcspn(line, ";"), line);
}

static struct api_answer ask(struct api_rig *t, const char *method, const char *path,
                             const char *with, const char *headers)
{
    return api_call_with(t, "", method, path, api_path(t, "Cookie: %s\r\n%s", with, headers),
                         strcmp(method, "GET") == 0 ? STR_NONE : STR("{}"));
}

/* ---- logging in ---- */

TEST_WITH(a_login_gives_two_cookies_that_scripts_cannot_read, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = log_in(t, "");
    assert_status(a, 200);
    const char *session = cookie_line(t, &a, "nb_session");
    const char *refresh = cookie_line(t, &a, "nb_refresh");
    assert_non_null(strstr(session, "; HttpOnly; SameSite=Lax; Path=/; Max-Age="));
    assert_non_null(strstr(refresh, "; HttpOnly; SameSite=Strict; Path=/v1/auth; Max-Age="));
    assert_null(strstr(session, "Secure")); /* a browser on this machine uses plain HTTP */
    a = ask(t, "GET", "/v1/auth/session", cookie(t, &a, "nb_session"), "");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "userId"), "usr_ben");
    assert_string_equal(api_text(t, a.json, "displayName"), "Ben");
    assert_string_equal(api_text(t, a.json, "mode"), "local");
    assert_string_not_equal(api_text(t, a.json, "expiresAt"), "");
}

TEST_WITH(a_failed_login_does_not_say_what_was_wrong, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer wrong =
        api_call(t, "", "POST", "/v1/auth/login",
                 "{\"email\":\"ben@example.com\",\"password\":\"wrong horse\"}");
    struct api_answer nobody =
        api_call(t, "", "POST", "/v1/auth/login",
                 "{\"email\":\"zoe@example.com\",\"password\":\"wrong horse\"}");
    assert_status(wrong, 401);
    assert_status(nobody, 401);
    assert_string_equal(api_text(t, wrong.json, "message"), api_text(t, nobody.json, "message"));
    assert_string_equal(cookie_line(t, &wrong, "nb_session"), "");
}

TEST_WITH(a_bad_login_is_refused_before_a_password_is_checked, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *words = "email and password, or key, are required.";
    assert_refused(api_call(t, "", "POST", "/v1/auth/login", "{}"), 400, "bad_request", words);
    assert_refused(api_call(t, "", "POST", "/v1/auth/login", "{\"email\":\"a@b.c\"}"), 400,
                   "bad_request", words);
    assert_status(api_call(t, "", "POST", "/v1/auth/login", "{\"user\":\"ben\"}"), 400);
    assert_refused(api_get(t, "", "/v1/auth/authorize"), 400, "not_configured",
                   "this login method is not enabled on this server");
}

TEST_WITH(without_a_login_the_page_learns_how_to_log_in, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "", "/v1/auth/session");
    assert_refused(a, 401, "unauthorized", "You are not logged in.");
    assert_string_equal(api_part(t, a.json, "details"), "{\"mode\":\"local\",\"orgName\":\"Rig\"}");
}

/* ---- using the cookie ---- */

TEST_WITH(a_write_with_a_cookie_must_come_from_the_page, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer in = log_in(t, "");
    const char *session = cookie(t, &in, "nb_session");
    assert_status(ask(t, "GET", "/v1/preferences", session, ""), 200);
    assert_refused(ask(t, "PATCH", "/v1/preferences", session, ""), 403, "origin_not_allowed",
                   "Requests with a cookie must come from a page of this server.");
    assert_status(ask(t, "PATCH", "/v1/preferences", session, SAME_PAGE), 200);
    assert_status(ask(t, "PATCH", "/v1/preferences", session, "Sec-Fetch-Site: same-origin\r\n"),
                  200);
    assert_status(ask(t, "PATCH", "/v1/preferences", session, "Sec-Fetch-Site: same-site\r\n"),
                  403);
}

TEST_WITH(a_bearer_credential_is_used_instead_of_the_cookie, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer in = log_in(t, "");
    const char *session = cookie(t, &in, "nb_session");
    assert_status(ask(t, "GET", "/v1/preferences", session, "Authorization: Bearer x\r\n"), 401);
}

TEST_WITH(a_session_may_do_what_a_token_may_not, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer in = log_in(t, "");
    const char *head = api_path(t, "Cookie: %s\r\n" SAME_PAGE, cookie(t, &in, "nb_session"));
    assert_status(api_call_with(t, "", "POST", "/v1/tokens", head, STR("{\"name\":\"mine\"}")),
                  200);
    struct api_answer a =
        api_call_with(t, "", "POST", "/v1/users/me/password", head,
                      STR("{\"current\":\"wrong\",\"password\":\"another one\"}"));
    assert_refused(a, 403, "wrong_password", "The current password is wrong.");
    assert_status(ask(t, "GET", "/v1/preferences", cookie(t, &in, "nb_session"), ""), 200);
    a = api_call_with(t, "", "POST", "/v1/users/me/password", head,
                      STR("{\"current\":\"" PASSWORD "\",\"password\":\"another one\"}"));
    assert_status(a, 200);
    /* a new password ends the sessions that the old one has opened */
    assert_status(ask(t, "GET", "/v1/preferences", cookie(t, &in, "nb_session"), ""), 401);
}

/* ---- refreshing and logging out ---- */

TEST_WITH(a_refresh_gives_new_cookies_to_the_page, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer in = log_in(t, "");
    const char *refresh = cookie(t, &in, "nb_refresh");
    assert_refused(ask(t, "POST", "/v1/auth/refresh", "a=b", SAME_PAGE), 401, "no_refresh_token",
                   "No login to refresh. Log in.");
    assert_status(ask(t, "POST", "/v1/auth/refresh", refresh, ""), 403);
    struct api_answer a = ask(t, "POST", "/v1/auth/refresh", refresh, SAME_PAGE);
    assert_status(a, 200);
    assert_string_not_equal(cookie(t, &a, "nb_refresh"), refresh);
    assert_status(ask(t, "GET", "/v1/preferences", cookie(t, &a, "nb_session"), ""), 200);
    a = ask(t, "POST", "/v1/auth/refresh", "nb_refresh=nonsense", SAME_PAGE);
    assert_refused(a, 401, "refresh_failed", "Log in again.");
    assert_non_null(strstr(cookie_line(t, &a, "nb_session"), "nb_session=; "));
    assert_non_null(strstr(cookie_line(t, &a, "nb_refresh"), "Max-Age=0"));
}

TEST_WITH(logging_out_ends_the_session_and_its_streams, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer in = log_in(t, "");
    const char *session = cookie(t, &in, "nb_session");
    const char *head = api_path(t, "Cookie: %s\r\n", session);
    struct api_stream *s = api_stream_with(t, "", "/v1/events", head);
    stream_wait(s, "subscribed");
    struct api_answer a = ask(t, "POST", "/v1/auth/logout", session, SAME_PAGE);
    assert_status(a, 200);
    assert_non_null(strstr(cookie_line(t, &a, "nb_session"), "Max-Age=0"));
    stream_end(s);
    assert_status(ask(t, "GET", "/v1/preferences", session, ""), 401);
    assert_status(ask(t, "POST", "/v1/auth/logout", session, SAME_PAGE), 200); /* again: fine */
}

TEST_WITH(an_admin_can_end_all_sessions_of_a_person, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer in = log_in(t, "");
    const char *session = cookie(t, &in, "nb_session");
    assert_status(api_call(t, "ana", "POST", "/v1/users/usr_ben/sign-out", NULL), 200);
    assert_status(ask(t, "GET", "/v1/preferences", session, ""), 401);
}

/* ---- behind a proxy ---- */

TEST_WITH(cookies_follow_the_base_path, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    t->rig->config.http.base_path = STR("/nb");
    struct api_answer a = log_in(t, "");
    assert_non_null(strstr(cookie_line(t, &a, "nb_session"), "; Path=/nb/; "));
    assert_non_null(strstr(cookie_line(t, &a, "nb_refresh"), "; Path=/nb/v1/auth; "));
}
