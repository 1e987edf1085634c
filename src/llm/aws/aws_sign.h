/* aws_sign.h - AWS Signature Version 4 of one request, in headers.
 *
 * Signed are method, path, host, time and the body. The path is encoded twice in what is signed,
 * as every service but S3 expects. Pure: the time is an argument; any thread. */
#pragma once

#include "base/arena.h"
#include "net/fetch.h"

#define AWS_HEADERS_MAX 3

struct aws_keys {
    str access_key, secret_key; /* secret_key is a secret */
    str session_token;          /* secret; of temporary keys, else empty */
    str region;
};

struct aws_request {
    const char *method;
    str host; /* with the port if it is not the scheme's own, as the client sends it */
    str path; /* percent-encoded, begins with a slash; without a query */
    str body;
};

/* Writes x-amz-date, x-amz-security-token (if there is one) and authorization; returns their
 * number. Values live in the arena. */
size_t aws_sign(struct arena *a, const struct aws_keys *keys, const char *service,
                const struct aws_request *req, int64_t now_ms,
                struct fetch_header out[AWS_HEADERS_MAX]);
