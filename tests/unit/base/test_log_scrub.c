#include "base/text/log_scrub.h"
#include "support/unit.h"

static void check(const char *in, const char *want)
{
    static const str secrets[] = {STR_INIT("hunter2hunter2"), STR_INIT("hunter2h")};
    struct buf b;
    buf_init(&b, 1000);
    log_scrub(&b, str_from(in), secrets, ARRAY_LEN(secrets));
    assert_string_equal(buf_cstr(&b), want);
    buf_done(&b);
}

TEST(registered_values)
{
    check("pass hunter2hunter2 end", "pass [redacted] end");
    check("hunter2hx", "[redacted]x");
    check("xhunter2hunter2hunter2h", "x[redacted][redacted]"); /* also inside words */
    check("hunter2", "hunter2");
}

TEST(key_shapes)
{
    check("key sk-ant-api03-AbC_123 rejected", "key [redacted] rejected");
    check("sk-12345678", "[redacted]");
    check("the task-management-system", "the task-management-system");
    check("sk-short", "sk-short");
    check("(AIzaSyA1234567890abcdefghijk)", "([redacted])");
    check("Authorization: Bearer abc.def-ghi_jkl", "Authorization: Bearer [redacted]");
    check("sent bearer 0123456789abcdef=, ok", "sent bearer [redacted], ok");
    check("a Bearer token is missing", "a Bearer token is missing");
    check("authorization: basic dXNlcjpwYXNz", "authorization: basic [redacted]");
    check("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[redacted]");
}

TEST(fields)
{
    check("x-api-key: s3cret, next", "x-api-key: [redacted], next");
    check("X-API-KEY=s", "X-API-KEY=[redacted]");
    check("{\"api_key\":\"s\\u0031\",\"b\":1}", "{\"api_key\":\"[redacted]\\u0031\",\"b\":1}");
    check("{\\\"password\\\": \\\"p w\\\"}", "{\\\"password\\\": \\\"[redacted] w\\\"}");
    check("GET /cb?access_token=abc&x=1", "GET /cb?access_token=[redacted]&x=1");
    check("the password is wrong", "the password is wrong");
    check("password:", "password:");
}

TEST(plain_text_is_untouched)
{
    check("", "");
    check("nothing here \xf0\x9f\x98\x80", "nothing here \xf0\x9f\x98\x80");
}
