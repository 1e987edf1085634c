/* fetch.h - HTTP requests to other servers, on the loop.
 *
 * libcurl (multi interface) is loaded on the first fetch: a process that sends no requests does
 * not load it. Bodies stream to a callback; time limits apply to silence, not to the total
 * time, because model answers take minutes. TLS is verified; proxy variables, SSL_CERT_FILE
 * and SSL_CERT_DIR are honoured, but requests to this machine never use a proxy.
 * Connections are kept and shared; a request is sent a second time if a kept connection dies
 * before a byte of the answer. For the thread of its loop; the process must ignore SIGPIPE. */
#pragma once

#include "base/err.h"
#include "loop/loop.h"

struct fetcher;
struct fetch;

struct fetch_header {
    str name, value;
};

enum fetch_flags {
    /* Refuse private, loopback, link-local and metadata addresses when the connection is
     * made (so DNS tricks do not help), bypass proxies. For URLs that come from users. */
    FETCH_PUBLIC_ONLY = 1,
    FETCH_HTTPS_ONLY = 2,
    /* Follow at most 5 redirects within the origin; one that leads elsewhere is an error
     * (-EACCES). Without it a redirect is an answer like any other. */
    FETCH_FOLLOW_SAME_ORIGIN = 4,
    /* Refuse at least metadata addresses. For servers in the operator's own network: the addresses
     * they refer to may be private too, but must not be a cloud's credential service. */
    FETCH_NO_METADATA = 8,
    /* The request may have an effect: once its body was sent, it is not sent again when the
     * connection turns out to be dead (-ECONNRESET). Without it such a request is repeated on a
     * fresh connection, unless a byte of the answer has come. */
    FETCH_ONCE = 16,
};

/* All three are required. They may call everything here, except that on_head and on_data
 * must not free the fetcher. */
struct fetch_events {
    /* The final status and headers. Not called for 1xx. Header names are lower-case. */
    void (*on_head)(void *ctx, int status, const struct fetch_header *headers, size_t n);
    void (*on_data)(void *ctx, str bytes);
    /* Always the last call, exactly once, unless fetch_cancel came first. err.code 0 = the
     * response is complete (whatever its status). -ETIMEDOUT idle or connect timeout,
     * -ECONNREFUSED, -EHOSTUNREACH no connection, -ECONNRESET cut before its end, -EMSGSIZE
     * body or head ceiling, -EACCES refused address or redirect, -EPROTO TLS or no HTTP,
     * -EINVAL the request itself. The message names the origin, never path or query. */
    void (*on_done)(void *ctx, const struct err *err);
};

struct fetch_spec {
    const char *method; /* NULL = GET, or POST when there is a body */
    str url;
    const struct fetch_header *headers;
    size_t nheaders;
    str body;
    bool has_body;
    uint64_t connect_timeout_ms; /* 0 = 10 s */
    uint64_t idle_timeout_ms;    /* longest time without a byte; 0 = 120 s */
    size_t body_max;             /* 0 = unlimited (streams; the reader bounds itself) */
    unsigned flags;
    const char *unix_socket; /* NULL, or a path to connect to instead of the host */
};

struct fetcher *fetcher_new(struct loop *l);
void fetcher_free(struct fetcher *f); /* cancels what is left */

/* Everything in spec is copied. Never calls back before it returns; errors of set-up come
 * through on_done as well. */
struct fetch *fetch_start(struct fetcher *f, const struct fetch_spec *spec,
                          const struct fetch_events *ev, void *ctx);
void fetch_cancel(struct fetch *f); /* closes the socket; no callback is called after this */
/* Back-pressure: no on_data while paused, and the sender is held back. The idle timeout is
 * suspended. Bytes that were held back are delivered after this call returns, not inside it. */
void fetch_pause(struct fetch *f, bool paused);

/* one HTTP request with its whole response. Loop thread. */

#define FETCH_WHOLE_MAX        (1024u * 1024)
#define FETCH_WHOLE_TIMEOUT_MS 10000 /* in all */

struct fetch_whole;

/* err.code 0: there is a response, with any status. `body` lives for the call. */
typedef void (*fetch_whole_done)(void *ctx, const struct err *err, int status, str body);

/* spec: its limits are set here. Never calls back before it returns. */
struct fetch_whole *fetch_whole_start(struct loop *l, struct fetcher *f,
                                      const struct fetch_spec *spec, fetch_whole_done done,
                                      void *ctx);
void fetch_whole_cancel(struct fetch_whole *c); /* accepts NULL */
