/* api.h - the HTTP API: authenticate, authorise, decode, call the runtime, encode.
 *
 * One file per resource, each with its handlers; api.c holds the table of routes. Every request
 * passes the guard (guard.h) first. The API owns no state but its open streams and the latest
 * import. Loop thread only. */
#pragma once

#include "http/router.h"
#include "http/server.h"
#include "runtime/runtime.h"

struct api;

struct api_deps { /* borrowed */
    struct loop *loop;
    struct logger *log;
    const struct config *config;
    struct runtime *runtime;
    struct store *store;
    struct bus *bus;
    struct llm *llm;
    struct registry *tools;
    uint64_t started_ms; /* monotonic */
};

struct api *api_new(const struct api_deps *deps);
/* Ends what goes on without a client: imports. After the HTTP server, before the store. */
void api_stop(struct api *a);
void api_free(struct api *a);

/* For http_server_new. */
struct http_handlers api_handlers(struct api *a);
