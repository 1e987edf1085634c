#include "llm/aws/aws_sign.h"

#include <assert.h>
#include <openssl/crypto.h>

#include "base/bytes/base64.h"
#include "base/bytes/hash.h"
#include "net/url.h"

#define DATE_LEN       8
#define STAMP_LEN      16 /* 20150830T123600Z */
#define PATH_MAX_BYTES 8192

static void stamp_of(int64_t now_ms, char out[STAMP_LEN + 1])
{
    time_t now = (time_t)(now_ms / 1000);
    struct tm tm = {0};
    gmtime_r(&now, &tm);
    size_t n = strftime(out, STAMP_LEN + 1, "%Y%m%dT%H%M%SZ", &tm);
    assert(n == STAMP_LEN);
}

static str path_twice(struct arena *a, str path)
{
    struct buf b;
    buf_init(&b, PATH_MAX_BYTES * 3);
    url_encode(&b, path, "/");
    return buf_keep(&b, a);
}

/* The request as it is hashed; the names of the headers are in order. */
static str canonical(struct arena *a, const struct aws_keys *keys, const struct aws_request *req,
                     const char *stamp, str names)
{
    char body[SHA256_HEX_LEN + 1];
    sha256_hex(req->body, body);
    str token = keys->session_token.n == 0
                    ? STR_NONE
                    : arena_printf(a, "x-amz-security-token:%.*s\n", STR_ARG(keys->session_token));
    return arena_printf(a, "%s\n%.*s\n\nhost:%.*s\nx-amz-date:%s\n%.*s\n%.*s\n%s", req->method,
                        STR_ARG(path_twice(a, req->path)), STR_ARG(req->host), stamp,
                        STR_ARG(token), STR_ARG(names), body);
}

/* The key of a day, a region and a service: each is hashed into the one before. */
static void day_key(struct arena *a, const struct aws_keys *keys, str date, const char *service,
                    uint8_t out[SHA256_LEN])
{
    str secret = arena_concat(a, STR("AWS4"), keys->secret_key);
    hmac_sha256(secret, date, out);
    hmac_sha256(str_make((char *)out, SHA256_LEN), keys->region, out);
    hmac_sha256(str_make((char *)out, SHA256_LEN), str_from(service), out);
    hmac_sha256(str_make((char *)out, SHA256_LEN), STR("aws4_request"), out);
    OPENSSL_cleanse((char *)secret.p, secret.n);
}

size_t aws_sign(struct arena *a, const struct aws_keys *keys, const char *service,
                const struct aws_request *req, int64_t now_ms,
                struct fetch_header out[AWS_HEADERS_MAX])
{
    assert(req->path.n > 0 && req->path.p[0] == '/');
    char stamp[STAMP_LEN + 1], hash[SHA256_HEX_LEN + 1], signature[SHA256_HEX_LEN + 1];
    uint8_t key[SHA256_LEN];
    bool has_token = keys->session_token.n > 0;
    str names = has_token ? STR("host;x-amz-date;x-amz-security-token") : STR("host;x-amz-date");
    stamp_of(now_ms, stamp);
    str date = arena_str(a, str_make(stamp, DATE_LEN));
    str scope =
        arena_printf(a, "%.*s/%.*s/%s/aws4_request", STR_ARG(date), STR_ARG(keys->region), service);
    sha256_hex(canonical(a, keys, req, stamp, names), hash);
    str text = arena_printf(a, "AWS4-HMAC-SHA256\n%s\n%.*s\n%s", stamp, STR_ARG(scope), hash);
    day_key(a, keys, date, service, key);
    hmac_sha256(str_make((char *)key, sizeof key), text, key);
    hex_encode(signature, key, sizeof key);
    OPENSSL_cleanse(key, sizeof key);
    size_t n = 0;
    out[n++] = (struct fetch_header){STR("x-amz-date"), arena_str(a, str_from(stamp))};
    if (has_token)
        out[n++] = (struct fetch_header){STR("x-amz-security-token"), keys->session_token};
    str value =
        arena_printf(a, "AWS4-HMAC-SHA256 Credential=%.*s/%.*s, SignedHeaders=%.*s, Signature=%s",
                     STR_ARG(keys->access_key), STR_ARG(scope), STR_ARG(names), signature);
    out[n++] = (struct fetch_header){STR("authorization"), value};
    return n;
}
