#include <errno.h>

#include "auth/oidc/jwt.h"
#include "support/mint.h"
#include "support/unit.h"

#define NOW 1800000000
#define RS  "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"r\"}"
#define ES  "{\"alg\":\"ES256\",\"kid\":\"e\"}"

static EVP_PKEY *rsa, *ec, *stranger;
static struct jwks *keys;
static struct buf token;

static int make_keys(void **state)
{
    struct buf text;
    rsa = mint_rsa(2048);
    ec = mint_ec("P-256");
    stranger = mint_rsa(2048);
    buf_init(&text, 64 * 1024);
    buf_add_lit(&text, "{\"keys\":[");
    mint_jwk(&text, rsa, ",\"kid\":\"r\"");
    buf_add_char(&text, ',');
    mint_jwk(&text, ec, ",\"kid\":\"e\"");
    buf_add_lit(&text, "]}");
    int r = jwks_parse(buf_str(&text), &keys, NULL);
    buf_done(&text);
    buf_init(&token, 1 << 20);
    return r;
}

static int drop_keys(void **state)
{
    buf_done(&token);
    jwks_free(keys);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(stranger);
    return 0;
}

/* The whole way of a token that somebody presents; why it failed is in *e. */
static int judge(str text, struct err *e)
{
    struct arena a;
    struct jwt t;
    err_clear(e);
    arena_init(&a);
    int r = jwt_parse(&a, text, &t, e);
    if (r == 0) {
        const struct jwk *key = jwks_find(keys, t.kid, t.alg);
        r = key ? jwt_verify(&t, key, e) : err_set(e, -EACCES, "unknown key");
    }
    struct jwt_expect expect = {
        .issuer = STR("https://id"), .audience = STR("nb"), .now_s = NOW, .nonce = STR_NONE};
    if (r == 0)
        r = jwt_check(&t, &expect, e);
    arena_done(&a);
    return r;
}

#define CLAIMS(more)                                                                               \
    "{\"iss\":\"https://id\",\"aud\":\"nb\",\"sub\":\"s\",\"exp\":1800000100" more "}"

TEST(good_tokens)
{
    static const char *const GOOD[] = {
        CLAIMS(""),
        CLAIMS(",\"nbf\":1800000030,\"iat\":1800000059,\"extra\":{\"a\":[1]}"),
        "{\"iss\":\"https://id\",\"aud\":[\"nb\"],\"sub\":\"s\",\"exp\":1799999950}",
        "{\"iss\":\"https://id\",\"aud\":[\"x\",\"nb\"],\"azp\":\"nb\",\"sub\":\"s\",\"exp\":"
        "1800000100.5}",
    };
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(GOOD); i++) {
        buf_clear(&token);
        mint_token(&token, rsa, RS, GOOD[i]);
        if (judge(buf_str(&token), &e) < 0)
            fail_msg("%zu: %s", i, e.msg);
        buf_clear(&token);
        mint_token(&token, ec, ES, GOOD[i]);
        if (judge(buf_str(&token), &e) < 0)
            fail_msg("%zu: %s", i, e.msg);
    }
}

TEST(claims_that_are_not_for_us)
{
    static const struct {
        const char *claims, *why;
    } BAD[] = {
        {"{\"iss\":\"https://id/\",\"aud\":\"nb\",\"sub\":\"s\",\"exp\":1800000100}", "issuer"},
        {"{\"aud\":\"nb\",\"sub\":\"s\",\"exp\":1800000100}", "issuer"},
        {"{\"iss\":\"https://id\",\"aud\":\"other\",\"sub\":\"s\",\"exp\":1800000100}", "audience"},
        {"{\"iss\":\"https://id\",\"aud\":[\"other\"],\"sub\":\"s\",\"exp\":1800000100}",
         "audience"},
        {"{\"iss\":\"https://id\",\"aud\":\"NB\",\"sub\":\"s\",\"exp\":1800000100}", "audience"},
        {"{\"iss\":\"https://id\",\"sub\":\"s\",\"exp\":1800000100}", "audience"},
        {"{\"iss\":\"https://id\",\"aud\":[\"nb\",\"x\"],\"sub\":\"s\",\"exp\":1800000100}", "azp"},
        {"{\"iss\":\"https://id\",\"aud\":\"nb\",\"azp\":\"x\",\"sub\":\"s\",\"exp\":1800000100}",
         "azp"},
        {"{\"iss\":\"https://id\",\"aud\":\"nb\",\"exp\":1800000100}", "subject"},
        {"{\"iss\":\"https://id\",\"aud\":\"nb\",\"sub\":\"\",\"exp\":1800000100}", "subject"},
        {"{\"iss\":\"https://id\",\"aud\":\"nb\",\"sub\":7,\"exp\":1800000100}", "subject"},
        {"{\"iss\":\"https://id\",\"aud\":\"nb\",\"sub\":\"s\",\"exp\":1799999940}", "expired"},
        {"{\"iss\":\"https://id\",\"aud\":\"nb\",\"sub\":\"s\"}", "times"},
        {"{\"iss\":\"https://id\",\"aud\":\"nb\",\"sub\":\"s\",\"exp\":\"1800000100\"}", "times"},
        {"{\"iss\":\"https://id\",\"aud\":\"nb\",\"sub\":\"s\",\"exp\":1e300}", "times"},
        {"{\"iss\":\"https://id\",\"aud\":\"nb\",\"sub\":\"s\",\"exp\":-1}", "times"},
        {CLAIMS(",\"nbf\":1800000061"), "not valid yet"},
        {CLAIMS(",\"iat\":1800000061"), "not valid yet"},
        {CLAIMS(",\"nbf\":null"), "times"},
        {CLAIMS(",\"aud\":\"x\""), "claims"}, /* twice the same key */
        {"[]", "claims"},
        {"{", "claims"},
    };
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        buf_clear(&token);
        mint_token(&token, rsa, RS, BAD[i].claims);
        assert_int_equal(judge(buf_str(&token), &e), -EACCES);
        if (!strstr(e.msg, BAD[i].why))
            fail_msg("%s: %s", BAD[i].claims, e.msg);
    }
}

TEST(headers)
{
    static const char *const BAD[] = {
        "{\"alg\":\"none\"}",
        "{\"alg\":\"None\",\"kid\":\"r\"}",
        "{\"alg\":\"\",\"kid\":\"r\"}",
        "{\"alg\":\"HS256\",\"kid\":\"r\"}",
        "{\"alg\":\"RS512\",\"kid\":\"r\"}",
        "{\"alg\":\"PS256\",\"kid\":\"r\"}",
        "{\"alg\":\"rs256\",\"kid\":\"r\"}",
        "{\"alg\":[\"RS256\"],\"kid\":\"r\"}",
        "{\"alg\":\"RS256\",\"alg\":\"none\",\"kid\":\"r\"}",
        "{\"kid\":\"r\"}",
        "{\"alg\":\"RS256\",\"kid\":\"r\",\"crit\":[\"exp\"]}",
        "{\"alg\":\"RS256\",\"kid\":\"r\",\"b64\":false}",
        "{\"alg\":\"RS256\",\"kid\":\"r\",\"enc\":\"A128GCM\"}",
        "{\"alg\":\"RS256\",\"kid\":\"r\",\"typ\":\"logout+jwt\"}",
        "{\"alg\":\"RS256\",\"kid\":\"r\",\"typ\":7}",
        "{\"alg\":\"RS256\",\"kid\":7}",
        "{\"alg\":\"RS256\",\"kid\":\"unknown\"}",
        "{\"alg\":\"RS256\",\"kid\":\"e\"}", /* the other type of key */
        "{\"alg\":\"ES256\",\"kid\":\"r\"}",
        "\"RS256\"",
    };
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        buf_clear(&token);
        mint_token(&token, rsa, BAD[i], CLAIMS(""));
        if (judge(buf_str(&token), &e) != -EACCES)
            fail_msg("accepted: %s", BAD[i]);
    }
    /* A key in the token is not a key. */
    buf_clear(&token);
    mint_token(&token, rsa, "{\"alg\":\"RS256\",\"kid\":\"r\",\"jku\":\"https://evil\"}",
               CLAIMS(""));
    assert_int_equal(judge(buf_str(&token), &e), 0);
}

TEST(forged_signatures)
{
    struct err e;
    buf_clear(&token);
    mint_token(&token, stranger, RS, CLAIMS(""));
    assert_int_equal(judge(buf_str(&token), &e), -EACCES);
    assert_non_null(strstr(e.msg, "signature"));

    buf_clear(&token); /* nothing signed at all */
    mint_unsigned(&token, "{\"alg\":\"none\"}", CLAIMS(""));
    buf_add_char(&token, '.');
    assert_int_equal(judge(buf_str(&token), &e), -EACCES);

    buf_clear(&token); /* ES256 header, RSA signature, and the other way round */
    mint_token(&token, rsa, ES, CLAIMS(""));
    assert_int_equal(judge(buf_str(&token), &e), -EACCES);
    buf_clear(&token);
    mint_token(&token, ec, RS, CLAIMS(""));
    assert_int_equal(judge(buf_str(&token), &e), -EACCES);

    buf_clear(&token); /* r = s = 0: a classic */
    mint_unsigned(&token, ES, CLAIMS(""));
    buf_add_char(&token, '.');
    for (int i = 0; i < 86; i++)
        buf_add_char(&token, 'A');
    assert_int_equal(judge(buf_str(&token), &e), -EACCES);
}

/* The public key as the secret of an HMAC. */
TEST(algorithm_confusion)
{
    struct err e;
    struct buf jwk;
    unsigned char mac[32];
    buf_init(&jwk, 4096);
    mint_jwk(&jwk, rsa, "");
    buf_clear(&token);
    mint_unsigned(&token, "{\"alg\":\"HS256\",\"kid\":\"r\"}", CLAIMS(""));
    HMAC(EVP_sha256(), jwk.p, (int)jwk.n, (const unsigned char *)token.p, token.n, mac, NULL);
    buf_add_char(&token, '.');
    base64url_encode(&token, str_make((const char *)mac, sizeof mac));
    assert_int_equal(judge(buf_str(&token), &e), -EACCES);
    assert_non_null(strstr(e.msg, "algorithm"));
    buf_done(&jwk);
}

/* Each single character matters: no other text is the same token. */
TEST(every_change_is_noticed)
{
    struct err e;
    EVP_PKEY *both[] = {rsa, ec};
    for (size_t k = 0; k < 2; k++) {
        buf_clear(&token);
        mint_token(&token, both[k], k == 0 ? RS : ES, CLAIMS(""));
        assert_int_equal(judge(buf_str(&token), &e), 0);
        for (size_t i = 0; i < token.n; i++) {
            char was = token.p[i];
            token.p[i] = was == 'A' ? 'B' : 'A';
            if (judge(buf_str(&token), &e) == 0)
                fail_msg("byte %zu may be changed", i);
            token.p[i] = was;
        }
        for (size_t n = 0; n < token.n; n++)
            assert_int_equal(judge(str_make(token.p, n), &e), -EACCES);
        buf_add_char(&token, '=');
        assert_int_equal(judge(buf_str(&token), &e), -EACCES);
    }
}

TEST(shapes)
{
    static const char *const BAD[] = {"",
                                      ".",
                                      "..",
                                      "a.b",
                                      "a.b.c.d",
                                      "a..c",
                                      ".b.c",
                                      "....",
                                      "e30.e30.e30",
                                      "e30=.e30=.e30=",
                                      "\xff.\xff.\xff"};
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(judge(str_from(BAD[i]), &e), -EACCES);
    buf_clear(&token);
    mint_token(&token, rsa, RS, CLAIMS(""));
    while (token.n <= JWT_BYTES_MAX)
        buf_add_char(&token, 'A');
    assert_int_equal(judge(buf_str(&token), &e), -EACCES);
    assert_non_null(strstr(e.msg, "too long"));
    assert_false(jwt_looks_right(buf_str(&token)));
    assert_true(jwt_looks_right(STR("a.b.c")));
}

TEST(nonce)
{
    struct arena a;
    struct jwt t;
    struct jwt_expect expect = {.issuer = STR("https://id"), .audience = STR("nb"), .now_s = NOW};
    arena_init(&a);
    buf_clear(&token);
    mint_token(&token, rsa, RS, CLAIMS(",\"nonce\":\"n1\""));
    assert_int_equal(jwt_parse(&a, buf_str(&token), &t, NULL), 0);
    assert_int_equal(jwt_check(&t, &expect, NULL), 0);
    expect.nonce = STR("n1");
    assert_int_equal(jwt_check(&t, &expect, NULL), 0);
    expect.nonce = STR("n2");
    assert_int_equal(jwt_check(&t, &expect, NULL), -EACCES);
    buf_clear(&token);
    mint_token(&token, rsa, RS, CLAIMS(""));
    assert_int_equal(jwt_parse(&a, buf_str(&token), &t, NULL), 0);
    assert_int_equal(jwt_check(&t, &expect, NULL), -EACCES);
    assert_int_equal(jwt_time_ms(&t, "exp"), 1800000100000);
    assert_int_equal(jwt_time_ms(&t, "iat"), 0);
    arena_done(&a);
}

TESTS_SHARE(make_keys, drop_keys)
