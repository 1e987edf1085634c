/* proxy.h - what a reverse proxy in front of the server changes: below which path it is reached,
 * by TLS or not, and who the client is. By the settings http.basePath, trustedProxies and
 * insecureCookies. Loop thread only. */
#pragma once

#include "config/config.h"
#include "http/server.h"

/* Takes the base path off the request's path; what comes without it stays. False: answered,
 * because the base path itself is no page. */
bool proxy_strip_base(const struct config_http *h, struct http_req *r);

bool proxy_is_tls(const struct http_req *r); /* as far as is known */

/* An address of this server as the client sees it; path begins with '/'. The Host has been
 * checked. */
str proxy_own_url(const struct config_http *h, struct http_req *r, const char *path);

/* Who counts as one client when attempts are limited: an address, or a network of the newer
 * family, of which anybody has a whole one. */
str proxy_client(const struct config_http *h, struct http_req *r);

/* Counts a request that came through a trusted proxy for the client that the proxy names, so that
 * strangers behind one proxy have places of their own. False: that client has too many requests
 * under way. */
bool proxy_count_client(const struct config_http *h, struct http_req *r);

bool proxy_is_trusted(const struct config_http *h, str addr);

/* Cookies are for TLS only, except on the machine itself or where the settings say otherwise. */
bool proxy_wants_secure(const struct config_http *h, const struct http_req *r);
/* A login from this page would come to nothing: its browser drops such cookies. */
bool proxy_loses_cookies(const struct config_http *h, const struct http_req *r);
