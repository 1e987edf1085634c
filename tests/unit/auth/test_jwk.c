#include <errno.h>

#include "auth/oidc/jwk.h"
#include "support/mint.h"
#include "support/unit.h"

static struct buf text;

static struct jwks *parse(void)
{
    struct jwks *s = NULL;
    struct err e = {0};
    if (jwks_parse(buf_str(&text), &s, &e) < 0)
        fail_msg("%s", e.msg);
    return s;
}

static int setup(void **state)
{
    buf_init(&text, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    buf_done(&text);
    return 0;
}

TEST_WITH(keys_are_found_by_name_and_algorithm, setup, teardown)
{
    EVP_PKEY *rsa = mint_rsa(2048), *ec = mint_ec("P-256");
    buf_add_lit(&text, "{\"keys\":[");
    mint_jwk(&text, rsa, ",\"kid\":\"one\",\"use\":\"sig\",\"alg\":\"RS256\"");
    buf_add_char(&text, ',');
    mint_jwk(&text, ec, ",\"kid\":\"one\",\"key_ops\":[\"verify\"]");
    buf_add_char(&text, ',');
    mint_jwk(&text, ec, ",\"kid\":\"two\"");
    buf_add_lit(&text, "],\"more\":1}");
    struct jwks *s = parse();
    const struct jwk *a = jwks_find(s, STR("one"), JWT_RS256);
    const struct jwk *b = jwks_find(s, STR("one"), JWT_ES256);
    assert_true(a && b && a != b);
    assert_int_equal(EVP_PKEY_eq(a->key, rsa), 1);
    assert_int_equal(EVP_PKEY_eq(b->key, ec), 1);
    assert_null(jwks_find(s, STR("two"), JWT_RS256));
    assert_null(jwks_find(s, STR("three"), JWT_RS256));
    assert_ptr_equal(jwks_find(s, STR_NONE, JWT_RS256), a); /* the only one */
    assert_null(jwks_find(s, STR_NONE, JWT_ES256));         /* one of two */
    jwks_free(s);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(ec);
}

static void add(EVP_PKEY *key, const char *more)
{
    buf_add_lit(&text, text.n > 9 ? "," : "");
    mint_jwk(&text, key, more);
}

TEST_WITH(what_is_no_signing_key_is_passed_over, setup, teardown)
{
    EVP_PKEY *rsa = mint_rsa(2048), *weak = mint_rsa(1024);
    buf_add_lit(&text, "{\"keys\":[");
    add(weak, ",\"kid\":\"weak\"");
    add(rsa, ",\"kid\":\"enc\",\"use\":\"enc\"");
    add(rsa, ",\"kid\":\"ops\",\"key_ops\":[\"encrypt\"]");
    add(rsa, ",\"kid\":\"alg\",\"alg\":\"RS512\"");
    add(rsa, ",\"kid\":\"hmac\",\"alg\":\"HS256\"");
    add(rsa, ",\"kid\":7");
    buf_add_lit(&text,
                ",{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"},{\"kty\":\"RSA\"},{\"kty\":\"RSA\",\"n\":"
                "\"!\",\"e\":\"AQAB\"},{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"AA\",\"y\":\"AA\"}"
                ",{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}"
                /* a point that is not on the curve */
                ",{\"kty\":\"EC\",\"crv\":\"P-256\","
                "\"x\":\"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE\","
                "\"y\":\"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE\"},7,null]}");
    struct jwks *s = parse();
    static const char *const KIDS[] = {"", "weak", "enc", "ops", "alg", "hmac"};
    for (size_t i = 0; i < ARRAY_LEN(KIDS); i++) {
        assert_null(jwks_find(s, str_from(KIDS[i]), JWT_RS256));
        assert_null(jwks_find(s, str_from(KIDS[i]), JWT_ES256));
    }
    jwks_free(s);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(weak);
}

TEST_WITH(what_is_no_key_set, setup, teardown)
{
    static const char *const BAD[] = {"", "{", "[]", "{}", "{\"keys\":{}}", "{\"keys\":[]}x"};
    struct jwks *s;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(jwks_parse(str_from(BAD[i]), &s, NULL), -EINVAL);
    buf_add_lit(&text, "{\"keys\":[]}");
    while (text.n <= JWKS_BYTES_MAX)
        buf_add_char(&text, ' ');
    assert_int_equal(jwks_parse(buf_str(&text), &s, NULL), -EINVAL);
}

TEST_WITH(not_more_keys_than_that, setup, teardown)
{
    EVP_PKEY *ec = mint_ec("P-256");
    buf_add_lit(&text, "{\"keys\":[");
    char kid[32];
    for (int i = 0; i < JWKS_KEYS_MAX + 5; i++) {
        snprintf(kid, sizeof kid, ",\"kid\":\"%d\"", i);
        add(ec, kid);
    }
    buf_add_lit(&text, "]}");
    struct jwks *s = parse();
    for (int i = 0; i < JWKS_KEYS_MAX + 5; i++) {
        str name = str_make(kid, (size_t)snprintf(kid, sizeof kid, "%d", i));
        assert_int_equal(jwks_find(s, name, JWT_ES256) != NULL, i < JWKS_KEYS_MAX);
    }
    jwks_free(s);
    EVP_PKEY_free(ec);
}
