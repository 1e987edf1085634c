/* jwk.h - the public keys of a token's issuer (RFC 7517).
 *
 * A key has one algorithm: RSA keys verify RS256, P-256 keys verify ES256, and nothing else is
 * accepted. Other keys of a set (other curves, encryption keys, secrets) are ignored.
 * Immutable after parsing; one owner. */
#pragma once

#include "base/err.h"

#define JWKS_BYTES_MAX (256u * 1024)
#define JWKS_KEYS_MAX  64

enum jwt_alg { JWT_RS256, JWT_ES256 };

struct jwks;
struct evp_pkey_st;

struct jwk {
    str kid; /* may be empty */
    enum jwt_alg alg;
    struct evp_pkey_st *key;
};

/* -EINVAL: not a key set. A set without a usable key is valid. */
int jwks_parse(str text, struct jwks **ret, struct err *e);
void jwks_free(struct jwks *s); /* accepts NULL */

/* The key with this name for this algorithm; for tokens that name none, the only key for the
 * algorithm. NULL when there is none. */
const struct jwk *jwks_find(const struct jwks *s, str kid, enum jwt_alg alg);
