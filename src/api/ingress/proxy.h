/* proxy.h - effects of a reverse proxy in front of the server: the base path, TLS or not, and the
 * client's address. Uses the settings http.basePath, trustedProxies and insecureCookies. Loop
 * thread only. */
#pragma once

#include "config/config.h"
#include "http/server.h"

/* Removes the base path from the request's path; other paths stay unchanged. False: the request was
 * answered, because the base path without a slash is not a page. */
bool proxy_strip_base(const struct config_http *h, struct http_req *r);

/* Whether the client uses https, to a proxy or to this server, as far as is known. */
bool proxy_is_tls(const struct config_http *h, const struct http_req *r);

/* An address of this server as the client sees it; path begins with '/'. The Host was checked
 * before. */
str proxy_own_url(const struct config_http *h, struct http_req *r, const char *path);

/* The unit that counts as one client when attempts are limited: an IPv4 address, or an IPv6
 * network, because one client has a whole network. */
str proxy_client(const struct config_http *h, struct http_req *r);

/* Counts a request from a trusted proxy for the client that the proxy names, so that clients behind
 * one proxy have separate limits. False: that client has too many requests in progress. */
bool proxy_count_client(const struct config_http *h, struct http_req *r);

bool proxy_is_trusted(const struct config_http *h, str addr);

/* Cookies require TLS, except on the machine itself or where the settings allow plain HTTP. */
bool proxy_wants_secure(const struct config_http *h, const struct http_req *r);
/* A login from this page would fail: its browser drops such cookies. */
bool proxy_loses_cookies(const struct config_http *h, const struct http_req *r);
