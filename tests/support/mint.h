/* mint.h - keys and signed tokens for tests, made with OpenSSL directly. */
#pragma once

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/bytes/base64.h"

static inline EVP_PKEY *mint_rsa(unsigned bits)
{
    return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)bits);
}

static inline EVP_PKEY *mint_ec(const char *curve)
{
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve);
}

static inline void mint_add_number(struct buf *out, EVP_PKEY *key, const char *param, size_t size)
{
    BIGNUM *n = NULL;
    unsigned char bytes[2048];
    assert(EVP_PKEY_get_bn_param(key, param, &n) == 1);
    size_t len = size ? size : (size_t)BN_num_bytes(n);
    BN_bn2binpad(n, bytes, (int)len);
    base64url_encode(out, str_make((const char *)bytes, len));
    BN_free(n);
}

/* {"kty":...} with what `more` adds (",\"kid\":\"a\""). */
static inline void mint_jwk(struct buf *out, EVP_PKEY *key, const char *more)
{
    bool is_rsa = EVP_PKEY_is_a(key, "RSA");
    buf_add_lit(out, is_rsa ? "{\"kty\":\"RSA\",\"n\":\""
                            : "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"");
    mint_add_number(out, key, is_rsa ? OSSL_PKEY_PARAM_RSA_N : OSSL_PKEY_PARAM_EC_PUB_X,
                    is_rsa ? 0 : 32);
    buf_add_lit(out, is_rsa ? "\",\"e\":\"" : "\",\"y\":\"");
    mint_add_number(out, key, is_rsa ? OSSL_PKEY_PARAM_RSA_E : OSSL_PKEY_PARAM_EC_PUB_Y,
                    is_rsa ? 0 : 32);
    buf_printf(out, "\"%s}", more);
}

static inline void mint_signature(struct buf *out, EVP_PKEY *key, str text)
{
    unsigned char sig[1024], raw[64];
    size_t n = sizeof sig;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert(EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1);
    assert(EVP_DigestSign(ctx, sig, &n, (const unsigned char *)text.p, text.n) == 1);
    EVP_MD_CTX_free(ctx);
    if (EVP_PKEY_is_a(key, "RSA")) {
        base64url_encode(out, str_make((const char *)sig, n));
        return;
    }
    const unsigned char *at = sig;
    ECDSA_SIG *both = d2i_ECDSA_SIG(NULL, &at, (long)n);
    BN_bn2binpad(ECDSA_SIG_get0_r(both), raw, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(both), raw + 32, 32);
    ECDSA_SIG_free(both);
    base64url_encode(out, str_make((const char *)raw, sizeof raw));
}

/* header.claims, without a signature yet. */
static inline void mint_unsigned(struct buf *out, const char *header, const char *claims)
{
    base64url_encode(out, str_from(header));
    buf_add_char(out, '.');
    base64url_encode(out, str_from(claims));
}

static inline void mint_token(struct buf *out, EVP_PKEY *key, const char *header,
                              const char *claims)
{
    struct buf text;
    buf_init(&text, 64 * 1024);
    mint_unsigned(&text, header, claims);
    buf_add_str(out, buf_str(&text));
    buf_add_char(out, '.');
    mint_signature(out, key, buf_str(&text));
    buf_done(&text);
}
