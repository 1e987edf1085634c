/* static.h - the files of the web page over HTTP.
 *
 * Answers from a table of assets (assets.h): ETag and 304, the gzip copy for clients that
 * take it, "immutable" for names that carry a hash. A path without a file gets the page
 * itself when the client asked for a page, because the page's own routes live there. */
#pragma once

#include "http/assets.h"
#include "http/server.h"

struct static_site {
    const struct asset *(*find)(str path); /* assets_find */
    str page_csp;                          /* Content-Security-Policy of HTML; empty: the default */
    const char *const *apart;              /* prefixes that never get the page: "/v1/", NULL ends */
    const struct asset_table *changing;    /* instead of `find`: its bytes are copied; or NULL */
};

/* Answers a GET or HEAD request for a file or the page. False: there is nothing to serve
 * and the request is untouched. */
bool static_serve(struct http_req *r, const struct static_site *site);

/* Answers a GET or HEAD request with this file, or with 304 when the client has it. Its bytes must
 * live as long as the server. */
void static_reply(struct http_req *r, const struct asset *a, str page_csp);

/* Whether an Accept-Encoding value allows the coding (q=0 forbids; "*" stands for all). */
bool static_accepts_coding(str accept_encoding, str coding);
