/* fuzz_jwt.c - key sets and tokens of strangers. Whatever is parsed, nothing may be verified by
 * keys whose private half nobody has, and what is accepted as a claim must be within bounds. */
#include <assert.h>

#include "auth/oidc/jwt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char KEYS[] =
    "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"svM3xTgc3WQKg5VQck0lUzsQBEPUkep47Bx0UmYvb-N"
    "DAfaWtALhVDFx9dLc8iPkM_POLrrlRcm6E9zwJUKsaLlv1X_91ElOsFi1SsNYpcFsnEQSl"
    "M4zJZt4F15widu7Pcux5_vOnTYLnxhgTkhBtynt6JMkGRiH39x2pUvA8qAbfKxcweQqgs5"
    "JBiPUGkrErpmbELO5O-Ejv-ow-MG_oqR-rHY1ICUftFzGDM5fWvIms_Y5f1Wtt3akCZehM"
    "x-PO2TLKqQFDlXaKD3wTlXgXU28UoyGKONEz2gFoF18zVSON1RPB2ABxIMH_i_rDfNcKJu"
    "huxhxSK31Q7TNerg64Q\",\"e\":\"AQAB\",\"kid\":\"r\",\"alg\":\"RS256\",\"use\":\"sig\"},{"
    "\"kty\":\"EC\",\"x\":\"bPszrcJ1K2-HcHshQBCzlsx_J4qdpihskFJ-ssHH8nA\",\"y\":\"MIoO"
    "dWmIe-TCCkJm78pgeopqcCRhTNmD4OIvm-pYIxw\",\"crv\":\"P-256\",\"kid\":\"e\",\"alg\""
    ":\"ES256\",\"use\":\"sig\"}]}";

static void check_keys(str s)
{
    struct jwks *keys;
    if (jwks_parse(s, &keys, NULL) < 0)
        return;
    const struct jwk *k = jwks_find(keys, STR_NONE, JWT_RS256);
    assert(!k || k->alg == JWT_RS256);
    k = jwks_find(keys, STR("r"), JWT_ES256);
    assert(!k || k->alg == JWT_ES256);
    jwks_free(keys);
}

static void check_token(str s)
{
    struct arena a;
    struct jwt t;
    struct jwks *keys;
    struct jwt_expect expect = {
        .issuer = STR("https://id"), .audience = STR("nb"), .now_s = 1800000000};
    arena_init(&a);
    assert(jwks_parse(str_from(KEYS), &keys, NULL) == 0);
    if (jwt_parse(&a, s, &t, NULL) == 0) {
        assert(jwt_looks_right(s));
        for (int alg = JWT_RS256; alg <= JWT_ES256; alg++)
            assert(jwt_verify(&t, jwks_find(keys, STR_NONE, (enum jwt_alg)alg), NULL) < 0);
        if (jwt_check(&t, &expect, NULL) == 0)
            assert(jwt_time_ms(&t, "exp") > 0 && t.subject.n > 0);
    }
    jwks_free(keys);
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str s = str_make((const char *)data, size);
    check_keys(s);
    check_token(s);
    return 0;
}
