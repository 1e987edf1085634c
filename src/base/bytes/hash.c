#include "base/bytes/hash.h"

/* The plain functions, which OpenSSL would rather see replaced by EVP: that fetches an
 * implementation for every hash (2 us) and sets up providers for the first (3 ms, 2 MB). */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/bytes/base64.h"

void sha256(str in, uint8_t out[SHA256_LEN])
{
    SHA256_CTX ctx;
    SHA256_Init(&ctx);
    SHA256_Update(&ctx, in.p ? in.p : "", in.n);
    SHA256_Final(out, &ctx);
}

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct sha256_pieces), "state of a hash");

void sha256_begin(struct sha256_pieces *h)
{
    SHA256_Init((SHA256_CTX *)h->state);
}

void sha256_add(struct sha256_pieces *h, str piece)
{
    SHA256_Update((SHA256_CTX *)h->state, piece.p ? piece.p : "", piece.n);
}

void sha256_end_hex(struct sha256_pieces *h, char out[SHA256_HEX_LEN + 1])
{
    uint8_t digest[SHA256_LEN];
    SHA256_Final(digest, (SHA256_CTX *)h->state);
    hex_encode(out, digest, sizeof(digest));
}

void hmac_sha256(str key, str text, uint8_t out[SHA256_LEN])
{
    enum { BLOCK = 64 }; /* of SHA-256 */
    uint8_t whole[BLOCK] = {0}, pad[BLOCK];
    SHA256_CTX ctx;
    if (key.n > BLOCK)
        sha256(key, whole);
    else
        memcpy(whole, key.p, key.n); /* `out` may be the key */
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < BLOCK; i++)
            pad[i] = (uint8_t)(whole[i] ^ (round == 0 ? 0x36 : 0x5c));
        SHA256_Init(&ctx);
        SHA256_Update(&ctx, pad, BLOCK);
        if (round == 0)
            SHA256_Update(&ctx, text.p ? text.p : "", text.n);
        else
            SHA256_Update(&ctx, out, SHA256_LEN);
        SHA256_Final(out, &ctx);
    }
    OPENSSL_cleanse(whole, sizeof whole);
}

void sha256_hex(str in, char out[SHA256_HEX_LEN + 1])
{
    uint8_t digest[SHA256_LEN];
    sha256(in, digest);
    hex_encode(out, digest, sizeof(digest));
}

bool sha256_is_hex(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
    }
    return s.n == SHA256_HEX_LEN;
}

bool bytes_eq_const_time(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}
