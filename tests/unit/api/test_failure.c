/* Errors of lower floors as HTTP responses. */
#include "api/failure.h"
#include "support/bare_request.h"

static int set_up(void **state)
{
    *state = loop_new(NULL);
    bare_begin(*state);
    return 0;
}

static int tear_down(void **state)
{
    bare_end(*state);
    loop_free(*state);
    return 0;
}

struct error_case {
    int code;
    const char *reply;
};

static void reply_to(enum api_origin from, int code, const char *message)
{
    struct err e = {0};
    err_set(&e, code, "%s", message);
    api_fail(bare_request("GET", "/", ""), from, &e);
}

static void assert_replies(enum api_origin from, const struct error_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        reply_to(from, cases[i].code, "the reason");
        assert_string_equal(bare_reply(), cases[i].reply);
    }
}

TEST_WITH(errors_of_the_store_have_a_status, set_up, tear_down)
{
    static const struct error_case CASES[] = {
        {-ENOENT, "404 not_found"},        {-EINVAL, "400 bad_request"},
        {-E2BIG, "400 bad_request"},       {-EEXIST, "409 already_exists"},
        {-EBUSY, "409 conversation_busy"}, {-ENOSPC, "507 storage_full"},
        {-EIO, "500 storage_error"},       {-EACCES, "500 storage_error"},
        {-EPERM, "500 storage_error"}, /* of the file system, not of the caller */
    };
    assert_replies(FROM_STORE, CASES, ARRAY_LEN(CASES));
    reply_to(FROM_STORE, -ENOENT, "/var/lib/nb/conversations/c1: no such file");
    assert_non_null(strstr(bare.body, "No such conversation."));
    assert_null(strstr(bare.body, "/var/lib"));
}

TEST_WITH(errors_of_auth_have_a_status_and_their_header, set_up, tear_down)
{
    static const struct error_case CASES[] = {
        {-EACCES, "401 unauthorized"},    {-EPERM, "403 forbidden"},
        {-EBUSY, "429 rate_limited"},     {-EHOSTUNREACH, "503 provider_unavailable"},
        {-ENOTSUP, "400 not_configured"}, {-EINVAL, "400 bad_request"},
        {-ENOENT, "404 not_found"},       {-ESTALE, "403 forbidden"},
        {-EIO, "500 internal_error"},
    };
    assert_replies(FROM_AUTH, CASES, ARRAY_LEN(CASES));
    assert_null(strstr(bare.body, "the reason")); /* of an internal error: for the log only */
    reply_to(FROM_AUTH, -EACCES, "no");
    assert_non_null(strstr(bare.sent, "WWW-Authenticate: Bearer\r\n"));
    reply_to(FROM_AUTH, -EBUSY, "no");
    assert_non_null(strstr(bare.sent, "Retry-After: 60\r\n"));
}

TEST_WITH(errors_of_changes_have_a_status, set_up, tear_down)
{
    static const struct error_case PEOPLE[] = {
        {-EINVAL, "400 bad_request"}, {-ENOENT, "404 not_found"},  {-EEXIST, "409 already_exists"},
        {-EPERM, "409 conflict"},     {-EBUSY, "503 unavailable"}, {-ENOTSUP, "400 not_configured"},
        {-ESTALE, "403 forbidden"},   {-EIO, "500 storage_error"},
    };
    static const struct error_case INSTALL[] = {
        {-EEXIST, "409 already_installed"},
        {-ENOENT, "404 not_found"},
        {-EPERM, "403 forbidden"},
        {-EINVAL, "400 bad_request"},
        {-ENOSPC, "409 too_many_bundles"},
        {-EIO, "500 install_failed"},
        {-EACCES, "400 address_not_allowed"},
    };
    static const struct error_case APPROVAL[] = {
        {-ENOENT, "404 not_found"},   {-EBUSY, "409 changed_meanwhile"}, {-EPERM, "403 forbidden"},
        {-EINVAL, "400 bad_request"}, {-EIO, "400 bad_request"},
    };
    static const struct error_case SKILL[] = {
        {-ENOENT, "404 not_found"},      {-EINVAL, "400 bad_request"}, {-EPERM, "400 bad_request"},
        {-EEXIST, "409 already_exists"}, {-EIO, "500 internal_error"},
    };
    assert_replies(FROM_CHANGE, PEOPLE, ARRAY_LEN(PEOPLE));
    assert_non_null(strstr(bare.body, "the reason"));
    assert_replies(FROM_INSTALL, INSTALL, ARRAY_LEN(INSTALL));
    assert_replies(FROM_UNINSTALL, &(struct error_case){-EIO, "500 uninstall_failed"}, 1);
    assert_replies(FROM_APPROVAL, APPROVAL, ARRAY_LEN(APPROVAL));
    assert_replies(FROM_SKILL, SKILL, ARRAY_LEN(SKILL));
}

TEST_WITH(errors_of_answers_and_keys_have_a_status, set_up, tear_down)
{
    static const struct error_case INPUT[] = {
        {-ENOENT, "404 not_found"}, {-EPERM, "403 forbidden"}, {-EINVAL, "400 invalid_input"}};
    static const struct error_case MODEL[] = {{-ENOENT, "404 not_found"}, {-EPERM, "409 conflict"}};
    assert_replies(FROM_INPUT, INPUT, ARRAY_LEN(INPUT));
    assert_replies(FROM_MODEL, MODEL, ARRAY_LEN(MODEL));
}

TEST_WITH(a_turn_that_is_refused_has_a_status, set_up, tear_down)
{
    static const struct error_case CASES[] = {
        {TURN_NOT_FOUND, "404 not_found"},          {TURN_FORBIDDEN, "403 forbidden"},
        {TURN_BUSY, "409 run_in_progress"},         {TURN_BAD_REQUEST, "400 bad_request"},
        {TURN_NO_QUESTION, "409 no_open_question"}, {TURN_FAILED, "500 storage_error"},
        {TURN_WITHDRAWN, "409 withdrawn"},          {TURN_STOPPING, "503 stopping"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct err e = {-1, "why not"};
        enum turn_refusal why = (enum turn_refusal)CASES[i].code;
        api_turn_refused(bare_request("POST", "/v1/chat", ""), why, &e);
        assert_string_equal(bare_reply(), CASES[i].reply);
        assert_string_equal(strchr(bare.summary, ' ') + 1, api_refusal_code(why));
        assert_non_null(strstr(bare.body, "why not"));
    }
}

TEST_WITH(a_failed_run_is_an_error_of_the_provider_or_of_the_server, set_up, tear_down)
{
    static const struct {
        const char *type;
        int code; /* of its error */
        const char *reply;
    } CASES[] = {
        {"context_too_long", -EINVAL, "413 context_too_long"},
        {"budget_exceeded", -EDQUOT, "402 budget_exceeded"},
        {"provider_overloaded", -EBUSY, "502 provider_overloaded"},
        {"storage_error", -EIO, "500 storage_error"},
        {"storage_error", -EHOSTUNREACH, "503 storage_error"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct run_result run = {
            .stop = RUN_STOP_ERROR, .error_type = CASES[i].type, .err = {CASES[i].code, "why not"}};
        api_run_failed(bare_request("POST", "/v1/chat", ""), &run, NULL);
        assert_string_equal(bare_reply(), CASES[i].reply);
        assert_non_null(strstr(bare.body, "why not"));
    }
}
