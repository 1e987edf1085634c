/* curl_loop.h - libcurl's multi handles driven by our loop.
 *
 * All sockets of curl sit in one private epoll descriptor, and libuv polls only that: curl
 * closes its sockets when it likes, and libuv aborts over a polled descriptor that is gone.
 *
 * A pool is a multi handle with connections of its own. Transfers never share a connection
 * across pools, which is what keeps a request that may reach only public addresses from
 * riding on a connection that somebody else opened to a private one. Loop thread only. */
#pragma once

#include "loop/loop.h"
#include "net/curl_api.h"

/* So long may bytes of patient responses lie in their socket once they come in quick succession
 * (curl_loop_heard). */
#define CURL_REST_MS 10

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
/* After CURL_WRITEFUNC_PAUSE. Delivers what was held back, so the data callback may run. */
CURLcode curl_loop_resume(struct curl_loop *c, CURL *easy);

bool curl_loop_busy(const struct curl_loop *c); /* curl is on the stack */
/* To be called from curl's callbacks for whatever was read: may the next bytes of this response
 * wait? A socket rests only while all that is read from it may. (On an HTTP/2 connection that
 * others stream through, the head of a new response can meet such a rest.) */
void curl_loop_heard(struct curl_loop *c, bool is_patient);
