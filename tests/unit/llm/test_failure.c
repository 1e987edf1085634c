#include "base/clock.h"
#include "llm/provider/failure.h"
#include "support/unit.h"

static const struct provider ANTHROPIC = {.name = STR_INIT("anthropic"),
                                          .api_key = STR_INIT("my-secret-key"),
                                          .key_env = STR_INIT("ANTHROPIC_API_KEY"),
                                          .type = &PROVIDER_ANTHROPIC};
static const struct provider OPENAI = {.name = STR_INIT("openai"), .type = &PROVIDER_OPENAI};
static const struct provider OLLAMA = {
    .name = STR_INIT("ollama"), .type = &PROVIDER_OPENAI, .quirks = QUIRK_LOCAL};

static const struct provider GOOGLE = {.name = STR_INIT("google"), .type = &PROVIDER_GOOGLE};

TEST(reads_every_shape_of_error)
{
    static const struct {
        const char *body, *type, *message;
    } CASES[] = {
        {"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}",
         "overloaded_error", "m"},
        {"{\"error\":{\"message\":\"m\",\"type\":\"t\",\"param\":null,\"code\":\"c\"}}", "c", "m"},
        {"{\"error\":{\"message\":\"m\",\"type\":\"t\",\"code\":null}}", "t", "m"},
        {"{\"error\":\"model 'x' not found\"}", "", "model 'x' not found"},
        {"[{\"error\":{\"code\":400,\"message\":\"m\",\"status\":\"INVALID_ARGUMENT\"}}]",
         "INVALID_ARGUMENT", "m"},
        {"{\"object\":\"error\",\"message\":\"m\",\"type\":\"t\",\"code\":null}", "t", "m"},
        {"{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"m\"}]}", "", "m"},
        {"{\"detail\":\"m\"}", "", "m"},
        {"<html>no</html>", "", ""},
        {"", "", ""},
        {"[]", "", ""},
        {"7", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a;
        struct wire_error w = {0};
        arena_init(&a);
        wire_error_parse(&a, str_from(CASES[i].body), &w);
        if (!str_eq(w.type, str_from(CASES[i].type)) ||
            !str_eq(w.message, str_from(CASES[i].message)))
            fail_msg("%s: '%.*s' '%.*s'", CASES[i].body, STR_ARG(w.type), STR_ARG(w.message));
        arena_done(&a);
    }
}

static int64_t retry_after(const char *name, const char *value)
{
    struct arena a;
    struct wire_error w = {.retry_after_ms = -1, .should_retry = -1};
    arena_init(&a);
    wire_error_header(&a, str_from(name), str_from(value), &w);
    arena_done(&a);
    return w.retry_after_ms;
}

TEST(reads_how_long_to_wait)
{
    (void)state;
    assert_int_equal(retry_after("retry-after", "3"), 3000);
    assert_int_equal(retry_after("retry-after", "0.5"), 500);
    assert_int_equal(retry_after("retry-after-ms", "250"), 250);
    assert_int_equal(retry_after("retry-after", "-1"), -1);
    assert_int_equal(retry_after("retry-after", "soon"), -1);
    assert_int_equal(retry_after("retry-after", "1e300"), -1);
    assert_int_equal(retry_after("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), 0);
    char date[64];
    struct tm tm;
    int64_t before = clock_now_ms();
    time_t then = before / 1000 + 20;
    gmtime_r(&then, &tm);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    int64_t wait = retry_after("retry-after", date);
    assert_in_range(then * 1000 - wait, before, clock_now_ms());
}

/* Google puts into the body what others put into headers. */
TEST(reads_the_details_of_google)
{
    static const struct {
        const char *details, *type;
        int64_t wait_ms;
    } CASES[] = {
        {"[{\"@type\":\"x/google.rpc.RetryInfo\",\"retryDelay\":\"37.5s\"}]", "S", 37500},
        {"[{\"retryDelay\":\"0s\"}]", "S", 0},
        {"[{\"retryDelay\":\"-3s\"}]", "S", -1},
        {"[{\"retryDelay\":\"s\"},{\"retryDelay\":7}]", "S", -1},
        {"[{\"violations\":[{\"quotaId\":\"RequestsPerMinute\"}]}]", "S", -1},
        {"[{\"violations\":[{},{\"quotaId\":\"RequestsPerDayPerProject\"}]}]", "insufficient_quota",
         -1},
        {"[7,{\"violations\":7}]", "S", -1},
        {"{}", "S", -1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct wire_error w = {.retry_after_ms = -1};
        struct arena a;
        arena_init(&a);
        str body = arena_printf(&a, "{\"error\":{\"code\":429,\"status\":\"S\",\"details\":%s}}",
                                CASES[i].details);
        wire_error_parse(&a, body, &w);
        assert_true(str_eq(w.type, str_from(CASES[i].type)));
        assert_int_equal(w.retry_after_ms, CASES[i].wait_ms);
        arena_done(&a);
    }
}

struct judged {
    const struct provider *p;
    int status;
    const char *type, *message;
    enum llm_error_kind kind;
    bool is_retryable;
    const char *says;
};

TEST(judges)
{
    static const struct judged CASES[] = {
        {&ANTHROPIC, 400, "invalid_request_error", "x", LLM_ERR_INVALID, false, "refused"},
        {&ANTHROPIC, 400, "invalid_request_error",
         "You have reached your specified API usage limits", LLM_ERR_BILLING, false, "billing"},
        {&ANTHROPIC, 401, "authentication_error", "no", LLM_ERR_AUTH, false, "ANTHROPIC_API_KEY"},
        {&ANTHROPIC, 402, "billing_error", "no", LLM_ERR_BILLING, false, "credit"},
        {&ANTHROPIC, 403, "permission_error", "no", LLM_ERR_AUTH, false, "apiKey"},
        {&ANTHROPIC, 404, "not_found_error", "model: m", LLM_ERR_MODEL, false, "newer"},
        {&ANTHROPIC, 408, "", "", LLM_ERR_OVERLOADED, true, "did not answer in time (HTTP 408)"},
        {&ANTHROPIC, 409, "conflict_error", "", LLM_ERR_OVERLOADED, true, "409"},
        {&ANTHROPIC, 413, "request_too_large", "", LLM_ERR_TOO_LONG, false, "too long"},
        {&ANTHROPIC, 429, "rate_limit_error", "", LLM_ERR_OVERLOADED, true, "limits the rate"},
        {&ANTHROPIC, 429, "rate_limit_error", "Monthly spend limit reached", LLM_ERR_BILLING, false,
         "billing"},
        {&ANTHROPIC, 500, "api_error", "", LLM_ERR_SERVER, true,
         "had an internal error (HTTP 500)"},
        {&ANTHROPIC, 502, "", "", LLM_ERR_SERVER, true, "had an internal error (HTTP 502)"},
        {&ANTHROPIC, 504, "timeout_error", "", LLM_ERR_OVERLOADED, true, "did not answer in time"},
        {&ANTHROPIC, 529, "overloaded_error", "", LLM_ERR_OVERLOADED, true,
         "is overloaded (HTTP 529)"},
        {&ANTHROPIC, 0, "overloaded_error", "Overloaded", LLM_ERR_OVERLOADED, true, "Overloaded"},
        {&ANTHROPIC, 302, "", "", LLM_ERR_INVALID, false, "302"},
        {&OPENAI, 429, "rate_limit_exceeded", "slow", LLM_ERR_OVERLOADED, true, "rate"},
        {&OPENAI, 429, "insufficient_quota", "pay", LLM_ERR_BILLING, false, "credit"},
        {&OPENAI, 401, "invalid_api_key", "Incorrect API key provided: sk-abc***", LLM_ERR_AUTH,
         false, "[redacted]"},
        {&OPENAI, 400, "context_length_exceeded", "x", LLM_ERR_TOO_LONG, false, "too long"},
        {&OPENAI, 400, "", "maximum context length is 8192 tokens", LLM_ERR_TOO_LONG, false,
         "8192"},
        {&OPENAI, 400, "exceed_context_size_error", "x", LLM_ERR_TOO_LONG, false, "larger context"},
        {&OPENAI, 400, "tool_use_failed", "x", LLM_ERR_INVALID, true, "refused"},
        {&OPENAI, 503, "", "Loading model", LLM_ERR_OVERLOADED, true, "Loading model"},
        {&OPENAI, 422, "", "extra", LLM_ERR_INVALID, false, "extra"},
        {&OPENAI, 404, "model_not_found", "x", LLM_ERR_MODEL, false, "newer"},
        {&GOOGLE, 429, "RESOURCE_EXHAUSTED", "check your plan and billing details",
         LLM_ERR_OVERLOADED, true, "limits the rate"},
        {&GOOGLE, 429, "insufficient_quota", "a day is over", LLM_ERR_BILLING, false, "credit"},
        {&GOOGLE, 400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum",
         LLM_ERR_TOO_LONG, false, "too long"},
        {&GOOGLE, 400, "INVALID_ARGUMENT", "API key not valid. AIzaSyXYZ", LLM_ERR_AUTH, false,
         "[redacted]"},
        {&GOOGLE, 404, "NOT_FOUND", "models/m is not found", LLM_ERR_MODEL, false, "newer"},
        {&GOOGLE, 0, "UNAVAILABLE", "Busy", LLM_ERR_NETWORK, true, "Busy"},
        {&OLLAMA, 404, "", "model 'm' not found", LLM_ERR_MODEL, false, "ollama pull m"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct judged *c = &CASES[i];
        struct llm_failure f = {0};
        struct wire_error w = {.status = c->status,
                               .type = str_from(c->type),
                               .message = str_from(c->message),
                               .retry_after_ms = -1,
                               .should_retry = -1};
        struct verdict v = failure_judge(c->p, STR("m"), STR("newer"), &w, &f);
        if (f.kind != c->kind || v.is_retryable != c->is_retryable || !strstr(f.err.msg, c->says))
            fail_msg("%d %s: kind %d, retry %d, %s", c->status, c->type, f.kind, v.is_retryable,
                     f.err.msg);
        assert_true(f.err.code < 0);
        assert_int_equal(f.http_status, c->status);
    }
}

TEST(never_tells_a_secret)
{
    (void)state;
    struct llm_failure f = {0};
    struct wire_error w = {.status = 401,
                           .message =
                               STR("bad my-secret-key and sk-ant-api03-XYZ_1 \xf0\x9f\x98\x80"),
                           .retry_after_ms = -1,
                           .should_retry = -1};
    failure_judge(&ANTHROPIC, STR("m"), STR_NONE, &w, &f);
    assert_null(strstr(f.err.msg, "secret"));
    assert_null(strstr(f.err.msg, "XYZ"));
    assert_non_null(strstr(f.err.msg, "[redacted] and [redacted] \xf0\x9f\x98\x80"));
    struct provider gateway = {
        .name = STR("anthropic"), .auth_token = STR("my-token"), .type = &PROVIDER_ANTHROPIC};
    w.message = STR("who is my-token?");
    failure_judge(&gateway, STR("m"), STR_NONE, &w, &f);
    assert_null(strstr(f.err.msg, "my-token"));
}

TEST(waits_are_honoured_or_given_up)
{
    (void)state;
    struct llm_failure f = {0};
    struct wire_error w = {
        .status = 429, .type = STR("rate_limit_error"), .retry_after_ms = 5000, .should_retry = -1};
    struct verdict v = failure_judge(&ANTHROPIC, STR("m"), STR_NONE, &w, &f);
    assert_true(v.is_retryable);
    assert_int_equal(v.wait_ms, 5000);
    assert_int_equal(f.kind, LLM_ERR_OVERLOADED);
    w.retry_after_ms = RETRY_AFTER_MAX_MS + 1;
    assert_false(failure_judge(&ANTHROPIC, STR("m"), STR_NONE, &w, &f).is_retryable);
}

TEST(backs_off)
{
    (void)state;
    assert_int_equal(failure_backoff_ms(1, 1000, 0), 1000);
    assert_int_equal(failure_backoff_ms(2, 1000, 0), 2000);
    assert_int_equal(failure_backoff_ms(4, 1000, 0), 8000);
    assert_int_equal(failure_backoff_ms(40, 1000, 0), RETRY_WAIT_CAP_MS);
    for (uint64_t r = 0; r < 5000; r += 7) {
        uint64_t wait = failure_backoff_ms(2, 1000, r);
        assert_true(wait >= 1500 && wait <= 2000);
    }
    assert_int_equal(failure_backoff_ms(1, 1, 12345), 1);
}
