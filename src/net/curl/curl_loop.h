/* curl_loop.h - libcurl's multi handles driven by our loop.
 *
 * All sockets of curl are in one private epoll descriptor, and libuv polls only that: curl may
 * close a socket at any time, and libuv aborts when a polled descriptor was closed.
 *
 * A pool is a multi handle with its own connections. Transfers never share a connection across
 * pools: a request that may reach only public addresses cannot use a connection that another
 * request opened to a private address. Loop thread only. */
#pragma once

#include "loop/loop.h"
#include "net/curl/curl_api.h"

struct curl_loop;

enum curl_pool_kind {
    CURL_POOL_WIDE,      /* HTTP/1.1: a connection for every request in flight */
    CURL_POOL_MULTIPLEX, /* HTTP/2: few connections, many streams on each */
    CURL_POOL_PUBLIC_WIDE,
    CURL_POOL_PUBLIC_MULTIPLEX,
    CURL_POOLS
};

/* Called outside of curl for every transfer that ended; it is still in its pool. */
typedef void (*curl_done_fn)(void *ctx, CURL *easy, CURLcode result);

int curl_loop_new(struct loop *l, const struct curl_api *api, curl_done_fn done, void *ctx,
                  struct curl_loop **ret, struct err *e);
void curl_loop_free(struct curl_loop *c); /* every pool must be empty */

/* None of these may be called while curl_loop_busy: curl refuses calls from its callbacks. */
int curl_loop_add(struct curl_loop *c, enum curl_pool_kind pool, CURL *easy);
void curl_loop_remove(struct curl_loop *c, enum curl_pool_kind pool, CURL *easy);
/* After CURL_WRITEFUNC_PAUSE. Delivers the bytes that were held back: the data callback may run. */
CURLcode curl_loop_resume(struct curl_loop *c, CURL *easy);

bool curl_loop_busy(const struct curl_loop *c); /* curl is on the stack */
