/* router.h - routes as const tables.
 *
 * Patterns are literal segments, ":name" for one segment, and a trailing "*" for the rest
 * of the path. The first match in table order wins. Paths are matched after percent-decoding. */
#pragma once

#include "http/server.h"

struct route {
    const char *method;  /* "GET"; HEAD is answered by GET routes */
    const char *pattern; /* "/v1/conversations/:id/history" */
    void (*handle)(void *ctx, struct http_req *r);
    unsigned flags;   /* for the caller: authentication, access class ... */
    size_t body_max;  /* 0 = the server's default */
    const void *rule; /* for the caller: who may use it */
};

enum route_result { ROUTE_FOUND, ROUTE_NOT_FOUND, ROUTE_WRONG_METHOD };

/* Fills r->params and r->route. With ROUTE_WRONG_METHOD ret_allow names the methods that
 * exist for the path ("GET, HEAD, POST"). */
enum route_result route_find(const struct route *table, size_t len, struct http_req *r,
                             struct buf *ret_allow);
