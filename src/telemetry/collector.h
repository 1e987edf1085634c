/* collector.h - a collector of OpenTelemetry: its address, the headers that it wants, and the
 * thread that talks to it.
 *
 * A request costs as much as many spans, so the event loop sends none of them. The thread
 * nb-telemetry (low priority) has a loop and connections of its own: it writes the body of a
 * request, sends it and waits for the response, one request after the other. The event loop hands
 * over a request and is told of its end. All functions are for the loop thread, except `write`. */
#pragma once

#include <stdatomic.h>

#include "base/json/json.h"
#include "base/log.h"
#include "loop/pool.h"
#include "net/fetch.h"

#define COLLECTOR_HEADERS_MAX 16
#define COLLECTOR_BODY_MAX    (8u * 1024 * 1024 + 64 * 1024)

struct collector_conf {
    struct loop *loop;
    struct logger *log;
    str endpoint;               /* without /v1/traces; empty = there is no thread */
    const struct json *headers; /* {name: value}, or NULL */
    str service_name;
};

struct otlp_collector {
    struct collector_conf conf;
    struct arena arena;
    str base, instance;
    struct fetch_header headers[COLLECTOR_HEADERS_MAX + 1];
    size_t nheaders;
    struct pool *pool;         /* one thread; NULL without an endpoint */
    struct loop *sender;       /* of that thread */
    struct fetcher *fetcher;   /* of that thread; any thread may load libcurl since 7.84 */
    struct list_node requests; /* struct collector_request, oldest first */
    bool is_stopping;          /* a `done` must not send again */
};

/* Embedded in the struct of its owner, which is there until `done`. */
struct collector_request {
    const char *path; /* such as "/v1/traces" */
    /* Writes the body, in the JSON encoding; on the thread. It does not run if the request was
     * cancelled before. */
    void (*write)(struct collector_request *r, struct buf *out);
    /* Called once, on the loop thread. It may send the request again. */
    void (*done)(struct collector_request *r);

    /* The result, until it is sent again: */
    struct err err; /* code 0: there is a response; -ECANCELED: cancelled */
    int status;
    struct buf body;

    struct otlp_collector *collector; /* what follows is the collector's */
    struct list_node node;
    struct job job;
    atomic_bool is_cancelled;
    bool is_answered;
};

void collector_init(struct otlp_collector *c, const struct collector_conf *conf);
/* path, write and done are set. */
void collector_send(struct otlp_collector *c, struct collector_request *r);
/* `done` comes soon, unless another request is under way before this one. */
void collector_cancel(struct collector_request *r);
/* Cancels all requests, calls their `done` (is_stopping) and ends the thread. */
void collector_stop(struct otlp_collector *c);
void collector_done(struct otlp_collector *c); /* after collector_stop */
