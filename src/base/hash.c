#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/base64.h"

void sha256(str in, uint8_t out[SHA256_LEN])
{
    SHA256((const uint8_t *)(in.p ? in.p : ""), in.n, out);
}

void sha256_hex(str in, char out[SHA256_HEX_LEN + 1])
{
    uint8_t digest[SHA256_LEN];
    sha256(in, digest);
    hex_encode(out, digest, sizeof(digest));
}

bool bytes_eq_const_time(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}
