/* hash.h - SHA-256, for blobs, caches and checksums. Thread-safe. */
#pragma once

#include "base/str.h"

#define SHA256_LEN     32
#define SHA256_HEX_LEN 64

void sha256(str in, uint8_t out[SHA256_LEN]);
/* The same for bytes that come in pieces. */
struct sha256_pieces {
    uint64_t state[16];
};
void sha256_begin(struct sha256_pieces *h);
void sha256_add(struct sha256_pieces *h, str piece);
void sha256_end_hex(struct sha256_pieces *h, char out[SHA256_HEX_LEN + 1]);

/* HMAC-SHA-256; the key may be where the result goes. */
void hmac_sha256(str key, str text, uint8_t out[SHA256_LEN]);
bool sha256_is_hex(str s); /* 64 digits in lower case */
void sha256_hex(str in, char out[SHA256_HEX_LEN + 1]);

bool bytes_eq_const_time(const void *a, const void *b, size_t n);
