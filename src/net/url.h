/* url.h - http and https URLs, strictly.
 *
 * Accepts URLs that can be sent unchanged and refuses those that other parsers might read
 * differently: control characters, spaces, backslashes, non-ASCII, percent signs in the host. The
 * parts borrow from the input. Pure; any thread. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define URL_MAX 8192

struct url {
    bool is_https;
    bool has_userinfo;  /* user:password@ */
    bool is_ip_literal; /* the host was in brackets */
    str host;           /* without brackets, as written */
    uint16_t port;      /* the scheme's own when not given */
    str target;         /* path and query, "" when there is none; no fragment */
};

/* 0, or -EINVAL with a message that never repeats the URL (it may hold secrets). */
int url_parse(str s, struct url *ret, struct err *e);

bool url_same_origin(const struct url *a, const struct url *b);
bool url_is_local(const struct url *u); /* localhost, 127.x.x.x, [::1] */

/* Percent-encodes everything but A-Z a-z 0-9 - . _ ~ and the characters of `also` (or NULL). */
void url_encode(struct buf *out, str s, const char *also);
/* name=value, encoded, with & before it where needed: a form or a query. */
void url_add_param(struct buf *out, const char *name, str value);

/* "https://example.com" with the port only where it is not the scheme's own. */
int url_add_origin(struct buf *out, const struct url *u);
