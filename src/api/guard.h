/* guard.h - what every request must pass before a handler sees it.
 *
 * Browsers carry requests of strangers: a page on any site may point a name at 127.0.0.1
 * (DNS rebinding) or post a form to it. So the Host must be one that no stranger controls
 * (an IP literal, localhost, or a configured name), and an Origin, when there is one, must be
 * the server's own. Requests over the Unix socket carry the peer's uid instead. */
#pragma once

#include "base/json/json_decode.h"
#include "http/server.h"

struct guard_refusal {
    int status;
    const char *code, *message;
};

/* What the settings allow besides the obvious. */
struct guard_rules {
    const char *own_host;
    struct json_strs hosts, origins;
};

/* True when the Host header names this server by IP address, localhost, or a name of its own. */
bool guard_host_ok(str host_header, const struct guard_rules *rules);

/* True when there is no Origin, or it is http(s)://<Host>. */
bool guard_origin_ok(str origin_header, str host_header);

/* An origin that the settings let in (CORS). */
bool guard_origin_listed(str origin_header, const struct guard_rules *rules);

/* A write that the browser authenticates by itself must come from a page of ours: true when
 * the Origin is our own or listed, or there is none and the browser calls it same-origin. */
bool guard_same_site(const struct http_req *r, const struct guard_rules *rules);

/* Who has to prove who they are is not looked at here. 0, or fills *ret and returns -EACCES. */
int guard_check(const struct http_req *r, const struct guard_rules *rules,
                struct guard_refusal *ret);

/* Does the Host header name the machine itself? Cookies are marked Secure elsewhere. */
bool guard_is_loopback(str host_header);
