/* collector.h - a collector of OpenTelemetry: its address, the headers that it wants, and who
 * sends. Loop thread only. */
#pragma once

#include "base/json/json.h"
#include "base/log.h"
#include "net/fetch.h"

#define COLLECTOR_HEADERS_MAX 16

struct collector_conf {
    struct loop *loop;
    struct logger *log;
    struct fetcher *fetcher;    /* outlives the collector */
    str endpoint;               /* without /v1/traces */
    const struct json *headers; /* {name: value}, or NULL */
    str service_name;
};

struct otlp_collector {
    struct collector_conf conf;
    struct arena arena;
    str base, instance;
    struct fetch_header headers[COLLECTOR_HEADERS_MAX + 1];
    size_t nheaders;
};

void collector_init(struct otlp_collector *c, const struct collector_conf *conf);
/* Sends a body in the JSON encoding to a path such as "/v1/traces"; the body is copied. Cancel the
 * request before collector_done. */
struct fetch_whole *collector_post(const struct otlp_collector *c, const char *path, str body,
                                   fetch_whole_done done, void *ctx);
void collector_done(struct otlp_collector *c);
