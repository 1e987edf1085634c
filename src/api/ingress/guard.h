/* guard.h - checks that every request must pass before a handler sees it.
 *
 * A browser may send requests on behalf of strangers: a page on any site may point a name at
 * 127.0.0.1 (DNS rebinding) or post a form to it. So the Host must be one that no stranger controls
 * (an IP literal, localhost, or a configured name), and an Origin, when present, must be the
 * server's own. Requests over the Unix socket have the peer's uid instead. */
#pragma once

#include "base/json/json_decode.h"
#include "http/server.h"

struct guard_refusal {
    int status;
    const char *code, *message;
};

/* Hosts and origins that the settings allow in addition. */
struct guard_rules {
    const char *own_host;
    struct json_strs hosts, origins;
};

/* True when the Host header names this server by IP address, localhost, or a configured name. */
bool guard_host_ok(str host_header, const struct guard_rules *rules);

/* True without an Origin, or it is http(s)://<Host>. */
bool guard_origin_ok(str origin_header, str host_header);

/* An origin that the settings allow (CORS). */
bool guard_origin_listed(str origin_header, const struct guard_rules *rules);

/* Protection against CSRF: a write with a cookie, which browsers send automatically, must come from a page of this server:
 * true when the Origin is the server's own or listed, or when there is none and the browser marks
 * the request as same-origin. */
bool guard_same_site(const struct http_req *r, const struct guard_rules *rules);

/* Does not check credentials. 0, or fills *ret and returns -EACCES. */
int guard_check(const struct http_req *r, const struct guard_rules *rules,
                struct guard_refusal *ret);

/* Whether the Host header names the machine itself; for other hosts, cookies are marked Secure. */
bool guard_is_loopback(str host_header);
