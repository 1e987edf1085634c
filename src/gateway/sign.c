/* HMAC-SHA-256, cut to 128 bits. */
#include "gateway/sign.h"

#include <assert.h>

#include "base/bytes/base64.h"
#include "base/bytes/hash.h"
#include "gateway/gateway_impl.h"

static str mac_of(struct gateway *g, struct arena *a, str body, str context)
{
    uint8_t sum[SHA256_LEN];
    char *hex = arena_alloc(a, 2 * SHA256_LEN + 1);
    /* The length separates the two parts, whatever bytes they contain. */
    str text = arena_printf(a, "%zu\n%.*s\n%.*s", body.n, STR_ARG(body), STR_ARG(context));
    hmac_sha256(str_make((const char *)g->key, sizeof g->key), text, sum);
    hex_encode(hex, sum, 16);
    return str_make(hex, 32);
}

str gw_sign_text(struct gateway *g, struct arena *a, str body, str context)
{
    str mac = mac_of(g, a, body, context);
    return arena_printf(a, "%.*s.%.*s", STR_ARG(mac), STR_ARG(body));
}

bool gw_sign_check(struct gateway *g, str text, str context, str *ret_body)
{
    struct arena a;
    str mac = str_slice(text, 0, 32), body = str_skip(text, 33);
    if (text.n < 33 || text.p[32] != '.')
        return false;
    arena_init(&a);
    str right = mac_of(g, &a, body, context);
    assert(right.n == mac.n);
    bool is_right = bytes_eq_const_time(mac.p, right.p, right.n);
    arena_done(&a);
    *ret_body = body;
    return is_right;
}
