#include "auth/oidc/jwt.h"

#include <errno.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>

#include "base/bytes/base64.h"
#include "base/bytes/hash.h"

#define SUBJECT_MAX   255
#define KID_MAX       512
#define ES256_LEN     64
#define ECDSA_DER_MAX 80
#define TIME_MAX      253402300800.0 /* the year 10000 */

static const struct {
    const char *name;
    enum jwt_alg alg;
} ALGS[] = {{"RS256", JWT_RS256}, {"ES256", JWT_ES256}};

static int jwt_refuse(struct err *e, const char *why)
{
    return err_set(e, -EACCES, "the token is not accepted: %s", why);
}

/* ---- reading ---- */

static bool split(str token, str part[3])
{
    ptrdiff_t a = str_find_char(token, '.');
    ptrdiff_t b = a < 0 ? -1 : str_find(token, STR("."), (size_t)a + 1);
    if (b < 0 || str_find(token, STR("."), (size_t)b + 1) >= 0)
        return false;
    part[0] = str_slice(token, 0, (size_t)a);
    part[1] = str_slice(token, (size_t)a + 1, (size_t)b);
    part[2] = str_skip(token, (size_t)b + 1);
    return part[0].n > 0 && part[1].n > 0 && part[2].n > 0;
}

bool jwt_looks_right(str token)
{
    str part[3];
    return token.n <= JWT_BYTES_MAX && split(token, part);
}

static int jwt_decode(struct arena *a, str b64, str *ret)
{
    struct buf bytes;
    buf_init(&bytes, JWT_BYTES_MAX);
    int r = base64url_decode(&bytes, b64);
    if (r == 0)
        *ret = arena_str(a, buf_str(&bytes));
    buf_done(&bytes);
    return r;
}

static int decode_object(struct arena *a, str b64, struct json **ret)
{
    str text;
    int r = jwt_decode(a, b64, &text);
    if (r == 0)
        r = json_parse(a, text, JSON_UNIQUE, ret, NULL);
    return r == 0 && json_is(*ret, JSON_OBJECT) ? 0 : -EACCES;
}

static int read_header(const struct json *h, struct jwt *t, struct err *e)
{
    str alg = json_get_string(h, "alg");
    const struct json *typ = json_get(h, "typ"), *kid = json_get(h, "kid");
    size_t i = 0;
    while (i < ARRAY_LEN(ALGS) && !str_eq(alg, str_from(ALGS[i].name)))
        i++;
    if (i == ARRAY_LEN(ALGS))
        return jwt_refuse(e, "its algorithm is neither RS256 nor ES256");
    t->alg = ALGS[i].alg;
    str type = json_string(typ, STR_NONE);
    if (typ && !str_eq_nocase(type, STR("JWT")) && !str_eq_nocase(type, STR("at+jwt")))
        return jwt_refuse(e, "its type (typ) is not supported");
    if (json_get(h, "crit") || json_get(h, "enc") || json_get(h, "zip") || json_get(h, "b64"))
        return jwt_refuse(e, "its header has an unsupported member (crit, enc, zip or b64)");
    if (kid && (!json_is(kid, JSON_STRING) || kid->s.n > KID_MAX))
        return jwt_refuse(e, "its kid is not valid");
    t->kid = json_string(kid, STR_NONE);
    return 0;
}

int jwt_parse(struct arena *a, str token, struct jwt *ret, struct err *e)
{
    str part[3];
    struct json *header, *claims;
    struct jwt t = {0};
    if (token.n > JWT_BYTES_MAX)
        return jwt_refuse(e, "it is too long");
    if (!split(token, part))
        return jwt_refuse(e, "it does not have three parts");
    if (decode_object(a, part[0], &header) < 0)
        return jwt_refuse(e, "its header cannot be read");
    int r = read_header(header, &t, e);
    if (r < 0)
        return r;
    if (decode_object(a, part[1], &claims) < 0)
        return jwt_refuse(e, "its claims cannot be read");
    if (jwt_decode(a, part[2], &t.signature) < 0)
        return jwt_refuse(e, "its signature cannot be read");
    t.claims = claims;
    t.subject = json_get_string(claims, "sub");
    t.signed_part = str_slice(token, 0, part[0].n + 1 + part[1].n);
    *ret = t;
    return 0;
}

/* ---- the signature ---- */

/* RFC 7518 concatenates both numbers; OpenSSL needs them in DER. 0 when it is not valid. */
static size_t to_der(str raw, unsigned char out[ECDSA_DER_MAX])
{
    if (raw.n != ES256_LEN)
        return 0;
    const unsigned char *p = (const unsigned char *)raw.p;
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(p, ES256_LEN / 2, NULL);
    BIGNUM *s = BN_bin2bn(p + ES256_LEN / 2, ES256_LEN / 2, NULL);
    int n = 0;
    if (sig && r && s && ECDSA_SIG_set0(sig, r, s)) {
        unsigned char *at = out;
        n = i2d_ECDSA_SIG(sig, NULL) <= ECDSA_DER_MAX ? i2d_ECDSA_SIG(sig, &at) : 0;
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(sig);
    return n > 0 ? (size_t)n : 0;
}

static bool verify(EVP_PKEY *key, str text, const unsigned char *sig, size_t n)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool is_right = ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                    EVP_DigestVerify(ctx, sig, n, (const unsigned char *)text.p, text.n) == 1;
    EVP_MD_CTX_free(ctx);
    return is_right;
}

int jwt_verify(const struct jwt *t, const struct jwk *key, struct err *e)
{
    unsigned char der[ECDSA_DER_MAX];
    const unsigned char *sig = (const unsigned char *)t->signature.p;
    size_t n = t->signature.n;
    if (key->alg != t->alg)
        return jwt_refuse(e, "its algorithm does not match the key");
    if (t->alg == JWT_ES256) {
        n = to_der(t->signature, der);
        sig = der;
    }
    if (n == 0 || !verify(key->key, t->signed_part, sig, n))
        return jwt_refuse(e, "its signature is wrong");
    return 0;
}

/* ---- the claims ---- */

static bool has_audience(const struct json *claims, str audience)
{
    const struct json *aud = json_get(claims, "aud");
    if (json_is(aud, JSON_STRING))
        return str_eq(aud->s, audience);
    if (!json_is(aud, JSON_ARRAY))
        return false;
    bool is_named = false;
    for (size_t i = 0; i < aud->len; i++)
        is_named |= str_eq(json_string(json_at(aud, i), STR_NONE), audience);
    return is_named;
}

/* A token for several audiences must have been issued to us, not to one of the others. */
static bool is_issued_to(const struct json *claims, str client)
{
    const struct json *aud = json_get(claims, "aud"), *azp = json_get(claims, "azp");
    if (azp)
        return str_eq(json_string(azp, STR_NONE), client);
    return !json_is(aud, JSON_ARRAY) || aud->len < 2;
}

/* A time that is present must be a number of seconds in a valid range. */
static bool claim_time(const struct json *claims, const char *name, double absent, double *ret)
{
    const struct json *v = json_get(claims, name);
    if (!v) {
        *ret = absent;
        return true;
    }
    *ret = json_double(v, -1);
    return *ret >= 0 && *ret < TIME_MAX;
}

static int check_times(const struct json *claims, int64_t now_s, struct err *e)
{
    double exp, nbf, iat, now = (double)now_s;
    if (!claim_time(claims, "exp", -1, &exp) || !claim_time(claims, "nbf", 0, &nbf) ||
        !claim_time(claims, "iat", 0, &iat) || exp < 0)
        return jwt_refuse(e, "its times (exp, nbf, iat) are not valid");
    if (now >= exp + JWT_SKEW_S)
        return jwt_refuse(e, "it has expired");
    if (nbf > now + JWT_SKEW_S || iat > now + JWT_SKEW_S)
        return jwt_refuse(e, "it is not valid yet");
    return 0;
}

int jwt_check(const struct jwt *t, const struct jwt_expect *x, struct err *e)
{
    if (!str_eq(json_get_string(t->claims, "iss"), x->issuer))
        return jwt_refuse(e, "its issuer (iss) does not match");
    if (!has_audience(t->claims, x->audience))
        return jwt_refuse(e, "its audience (aud) does not match");
    if (!is_issued_to(t->claims, x->audience))
        return jwt_refuse(e, "its authorized party (azp) does not match");
    if (t->subject.n == 0 || t->subject.n > SUBJECT_MAX)
        return jwt_refuse(e, "it has no subject (sub)");
    str nonce = json_get_string(t->claims, "nonce");
    if (x->nonce.n > 0 &&
        (nonce.n != x->nonce.n || !bytes_eq_const_time(nonce.p, x->nonce.p, nonce.n)))
        return jwt_refuse(e, "its nonce does not match this login");
    return check_times(t->claims, x->now_s, e);
}

int64_t jwt_time_ms(const struct jwt *t, const char *claim)
{
    double s;
    return claim_time(t->claims, claim, 0, &s) ? (int64_t)(s * 1000) : 0;
}
