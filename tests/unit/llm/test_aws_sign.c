#include "llm/aws/aws_sign.h"
#include "support/unit.h"

#define WHEN 1440938160000 /* 2015-08-30 12:36:00, the time of the public test vectors */

/* The first two are "get-vanilla" and "post-vanilla" of AWS; the last was made with another
 * implementation: temporary keys, and a path that is encoded twice. */
TEST(signs_as_the_public_vectors_do)
{
    static const struct {
        struct aws_request req;
        str token;
        const char *service;
        const char *names, *signature;
    } CASES[] = {
        {{"GET", STR_INIT("example.amazonaws.com"), STR_INIT("/"), STR_INIT("")},
         STR_INIT(""),
         "service",
         "SignedHeaders=host;x-amz-date,",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {{"POST", STR_INIT("example.amazonaws.com"), STR_INIT("/"), STR_INIT("")},
         STR_INIT(""),
         "service",
         "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,",
         "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
        {{"POST", STR_INIT("h:1"), STR_INIT("/model/a.b-v1%3A0/invoke"), STR_INIT("{}")},
         STR_INIT("TOKEN"),
         "bedrock",
         "SignedHeaders=host;x-amz-date;x-amz-security-token,",
         "969384375510491b78b22b9d98a76764c73132e959cdbbb8a0cdf2cc6a5cb220"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct aws_keys keys = {.access_key = STR("AKIDEXAMPLE"),
                                .secret_key = STR("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
                                .session_token = CASES[i].token,
                                .region = STR("us-east-1")};
        struct fetch_header out[AWS_HEADERS_MAX];
        struct arena a;
        arena_init(&a);
        size_t n = aws_sign(&a, &keys, CASES[i].service, &CASES[i].req, WHEN, out);
        assert_int_equal(n, CASES[i].token.n > 0 ? 3 : 2);
        assert_true(str_eq(out[0].value, STR("20150830T123600Z")));
        str value = out[n - 1].value;
        assert_true(str_ends(value, str_from(CASES[i].signature)));
        assert_true(str_find(value, str_from(CASES[i].names), 0) > 0);
        assert_true(str_find(value, STR("wJalr"), 0) < 0);
        arena_done(&a);
    }
}
