/* guard.h - what every request must pass before a handler sees it.
 *
 * Browsers carry requests of strangers: a page on any site may point a name at 127.0.0.1
 * (DNS rebinding) or post a form to it. So the Host must be one that no stranger controls
 * (an IP literal, localhost, or a configured name), and an Origin, when there is one, must be
 * the server's own. Requests over the Unix socket carry the peer's uid instead. */
#pragma once

#include "http/server.h"

struct guard_refusal {
    int status;
    const char *code, *message;
};

/* True when the Host header names this server by IP address, localhost, or `own_host`. */
bool guard_host_ok(str host_header, const char *own_host);

/* True when there is no Origin, or it is http(s)://<Host>. */
bool guard_origin_ok(str origin_header, str host_header);

/* 0, or fills *ret and returns -EACCES. `key` is the API key, empty = none required. */
int guard_check(const struct http_req *r, const char *own_host, str key, bool is_open,
                struct guard_refusal *ret);
