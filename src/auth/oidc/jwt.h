/* jwt.h - signed JSON web tokens (RFC 7519, 8725), strictly.
 *
 * Only the compact form with RS256 or ES256. Which key verifies a token follows from
 * the algorithm AND the type of the key: no `none`, no HMAC with a public key as its secret, no
 * key from the token itself. Headers that require unsupported features (`crit`, encryption) are
 * refused. Pure; any thread. */
#pragma once

#include "auth/oidc/jwk.h"
#include "base/json/json.h"

#define JWT_BYTES_MAX (16u * 1024)
#define JWT_SKEW_S    60 /* how far clocks may differ */

struct jwt {
    enum jwt_alg alg;
    str kid;
    const struct json *claims;
    str subject, signed_part, signature; /* signature: its bytes */
};

bool jwt_looks_right(str token); /* has three parts, and may be a JWT */

/* The content must not be trusted before jwt_verify. -EACCES with the reason. */
int jwt_parse(struct arena *a, str token, struct jwt *ret, struct err *e);
int jwt_verify(const struct jwt *t, const struct jwk *key, struct err *e);

struct jwt_expect {
    str issuer, audience;
    str nonce; /* empty = none is expected */
    int64_t now_s;
};
/* iss, aud, azp, sub, exp, nbf, iat, nonce. */
int jwt_check(const struct jwt *t, const struct jwt_expect *x, struct err *e);

int64_t jwt_time_ms(const struct jwt *t, const char *claim); /* 0 when absent */
