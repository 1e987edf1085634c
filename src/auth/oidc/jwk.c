#include "auth/oidc/jwk.h"

#include <assert.h>
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdlib.h>

#include "base/bytes/base64.h"
#include "base/json/json_decode.h"

#define RSA_BITS_MIN  2048
#define RSA_BITS_MAX  8192
#define EC_COORD_LEN  32
#define EC_POINT_LEN  (1 + 2 * EC_COORD_LEN)
#define EXPONENT_MAX  8
#define KEY_FIELD_MAX (RSA_BITS_MAX / 8 + 1)

struct jwks {
    struct arena arena;
    struct jwk keys[JWKS_KEYS_MAX];
    size_t len;
};

struct jwk_in {
    str kty, kid, use, alg, crv, n, e, x, y;
    struct json_strs key_ops;
};

#define FIELD(name)                                                                                \
    {                                                                                              \
#name, JF_STR, offsetof(struct jwk_in, name), 0, NULL, 0                                   \
    }

static const struct json_field KEY_FIELDS[] = {
    FIELD(kty), FIELD(kid),
    FIELD(use), FIELD(alg),
    FIELD(crv), FIELD(n),
    FIELD(e),   FIELD(x),
    FIELD(y),   {"key_ops", JF_STRS, offsetof(struct jwk_in, key_ops), 0, NULL, 0},
    {0}};

/* ---- keys of OpenSSL ---- */

static EVP_PKEY *make_key(const char *type, OSSL_PARAM_BLD *bld)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(bld);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (!params || !ctx || EVP_PKEY_fromdata_init(ctx) <= 0 ||
        EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) <= 0)
        key = NULL;
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    return key;
}

static BIGNUM *number(str b64, size_t max)
{
    struct buf bytes;
    buf_init(&bytes, max);
    BIGNUM *n = NULL;
    if (base64url_decode(&bytes, b64) == 0 && bytes.n > 0)
        n = BN_bin2bn((const unsigned char *)bytes.p, (int)bytes.n, NULL);
    buf_done(&bytes);
    return n;
}

static EVP_PKEY *rsa_key(const struct jwk_in *in)
{
    BIGNUM *n = number(in->n, KEY_FIELD_MAX), *e = number(in->e, EXPONENT_MAX);
    OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    bool is_sane = n && e && bld && BN_num_bits(n) >= RSA_BITS_MIN &&
                   BN_num_bits(n) <= RSA_BITS_MAX && BN_is_odd(n) && BN_is_odd(e) && !BN_is_one(e);
    if (is_sane && OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_RSA_N, n) &&
        OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_RSA_E, e))
        key = make_key("RSA", bld);
    OSSL_PARAM_BLD_free(bld);
    BN_free(n);
    BN_free(e);
    return key;
}

/* 0x04 and both coordinates, each of full length. */
static bool read_point(const struct jwk_in *in, unsigned char point[EC_POINT_LEN])
{
    struct buf x, y;
    buf_init(&x, EC_COORD_LEN + 1);
    buf_init(&y, EC_COORD_LEN + 1);
    bool is_ok = base64url_decode(&x, in->x) == 0 && x.n == EC_COORD_LEN &&
                 base64url_decode(&y, in->y) == 0 && y.n == EC_COORD_LEN;
    if (is_ok) {
        point[0] = 4;
        memcpy(point + 1, x.p, EC_COORD_LEN);
        memcpy(point + 1 + EC_COORD_LEN, y.p, EC_COORD_LEN);
    }
    buf_done(&x);
    buf_done(&y);
    return is_ok;
}

/* OpenSSL refuses points that are not on the curve. */
static EVP_PKEY *ec_key(const struct jwk_in *in)
{
    unsigned char point[EC_POINT_LEN];
    EVP_PKEY *key = NULL;
    if (!str_eq(in->crv, STR("P-256")) || !read_point(in, point))
        return NULL;
    OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
    if (bld && OSSL_PARAM_BLD_push_utf8_string(bld, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
        OSSL_PARAM_BLD_push_octet_string(bld, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point))
        key = make_key("EC", bld);
    OSSL_PARAM_BLD_free(bld);
    return key;
}

static const struct {
    const char *kty, *alg_name;
    enum jwt_alg alg;
    EVP_PKEY *(*make)(const struct jwk_in *in);
} TYPES[] = {
    {"RSA", "RS256", JWT_RS256, rsa_key},
    {"EC", "ES256", JWT_ES256, ec_key},
};

/* ---- key sets ---- */

static bool is_for_signatures(const struct jwk_in *in)
{
    if (in->use.n > 0 && !str_eq(in->use, STR("sig")))
        return false;
    return in->key_ops.len == 0 || json_strs_has(&in->key_ops, STR("verify"));
}

static void take_key(struct jwks *s, const struct json *v)
{
    struct jwk_in in = {0};
    if (json_decode(&s->arena, v, KEY_FIELDS, &in, "", NULL, NULL, NULL) < 0 ||
        !is_for_signatures(&in))
        return;
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++) {
        if (!str_eq(in.kty, str_from(TYPES[i].kty)))
            continue;
        if (in.alg.n > 0 && !str_eq(in.alg, str_from(TYPES[i].alg_name)))
            return;
        assert(s->len < JWKS_KEYS_MAX);
        EVP_PKEY *key = TYPES[i].make(&in);
        if (key)
            s->keys[s->len++] = (struct jwk){in.kid, TYPES[i].alg, key};
        return;
    }
}

int jwks_parse(str text, struct jwks **ret, struct err *e)
{
    struct json *doc, *keys = NULL;
    if (text.n > JWKS_BYTES_MAX)
        return err_set(e, -EINVAL, "the key set has more than %u bytes", JWKS_BYTES_MAX);
    struct jwks *s = xcalloc(1, sizeof *s);
    arena_init(&s->arena);
    if (json_parse(&s->arena, text, JSON_COPY, &doc, NULL) == 0)
        keys = json_get(doc, "keys");
    if (!json_is(keys, JSON_ARRAY)) {
        jwks_free(s);
        return err_set(e, -EINVAL, "this is not a key set");
    }
    for (size_t i = 0; i < keys->len && s->len < JWKS_KEYS_MAX; i++)
        take_key(s, json_at(keys, i));
    *ret = s;
    return 0;
}

void jwks_free(struct jwks *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->len; i++)
        EVP_PKEY_free(s->keys[i].key);
    arena_done(&s->arena);
    free(s);
}

const struct jwk *jwks_find(const struct jwks *s, str kid, enum jwt_alg alg)
{
    const struct jwk *only = NULL;
    size_t n = 0;
    for (size_t i = 0; i < s->len; i++) {
        const struct jwk *k = &s->keys[i];
        if (k->alg != alg)
            continue;
        if (kid.n > 0 && str_eq(k->kid, kid))
            return k;
        only = k;
        n++;
    }
    return kid.n == 0 && n == 1 ? only : NULL;
}
