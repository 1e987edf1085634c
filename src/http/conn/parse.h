/* parse.h - the head of an HTTP/1.1 request, read strictly.
 *
 * Pure functions over (pointer, length): no allocation, no I/O, slices point into the input.
 * Input that two parsers could read differently is refused, because a proxy in front of us may
 * be the other one: bare CR or LF, folded lines, white space before a colon, two lengths,
 * a length beside a transfer coding, two hosts, control bytes anywhere. */
#pragma once

#include "http/server.h"

#define HTTP_HOST_MAX   255   /* bytes of Host, port included */
#define HTTP_TARGET_MAX 8192u /* longer request targets: 414 */

enum http_parse { HTTP_PARSE_MORE, HTTP_PARSE_DONE, HTTP_PARSE_BAD };
enum http_framing { HTTP_FRAMING_NONE, HTTP_FRAMING_LENGTH, HTTP_FRAMING_CHUNKED };

struct http_head {
    size_t bytes; /* how much of the input the head takes */
    str method;
    str target;    /* as received */
    str authority; /* of an absolute-form target; else empty */
    str path;      /* still percent-encoded, starts with '/' */
    str query;
    unsigned minor; /* HTTP/1.0 or 1.1 */
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t nheaders;

    enum http_framing framing;
    uint64_t content_length; /* HTTP_FRAMING_LENGTH */
    bool has_keep_alive;     /* the client lets the connection live on */
    bool expects_continue;

    int status; /* HTTP_PARSE_BAD: what to answer, and why */
    const char *reason;
};

/* `in` starts at the first byte of the request and grows from call to call; *scanned, zero at
 * first, stores how far the end of the head was searched, so that a head that arrives byte by
 * byte costs no more than one that arrives in one piece. */
enum http_parse http_parse_head(str in, size_t *scanned, const struct http_limits *limits,
                                struct http_head *ret);

/* Decodes %XX into out (raw.n bytes are enough). -EINVAL for broken escapes, control bytes,
 * text that is not UTF-8, and "." or ".." segments. */
int http_decode_path(str raw, char *out, size_t *ret_n);

/* Character classes shared with the body reader. */
bool http_is_token_char(char c);
bool http_is_value_char(char c); /* visible, space, tab, obs-text */
