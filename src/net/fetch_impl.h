/* fetch_impl.h - shared by fetch.c, fetch_request.c and fetch_error.c. Not for others. */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "loop/timer.h"
#include "net/address.h"
#include "net/curl/curl_loop.h"
#include "net/fetch.h"
#include "net/response_head.h"
#include "net/url.h"

struct fetcher {
    struct loop *loop;
    struct curl_loop *curl; /* NULL until the first fetch */
    struct curl_api api;
    struct list_node fetches;
    struct map http1_origins; /* https servers known not to speak HTTP/2 */
    struct deferred widen;    /* moves waiting fetches after such a discovery */
};

enum fetch_state {
    FETCH_NEW,        /* not started yet */
    FETCH_RUNNING,    /* added to curl */
    FETCH_ENDED,      /* `result` waits to be delivered */
    FETCH_DELIVERING, /* in on_done */
};

/* The request, copied from the caller's spec; redirects change it. */
struct fetch_request {
    const char *method;
    const char *url;
    const char *origin; /* for messages: no path, no credentials */
    struct url parts;   /* of url */
    struct curl_slist *headers;
    str body;
    bool has_body;
    unsigned flags;
    uint64_t connect_timeout_ms, idle_timeout_ms;
    size_t body_max;
    const char *unix_socket;
};

struct fetch {
    struct list_node node;
    struct fetcher *owner;
    struct arena mem; /* of the request */
    struct fetch_request req;
    enum fetch_state state;
    struct deferred turn; /* work that must not happen inside curl or inside fetch_start */

    CURL *easy;
    enum curl_pool_kind pool;
    bool is_attached; /* easy is in its pool */
    char curl_text[CURL_ERROR_SIZE];

    struct response_head head;
    size_t received; /* bytes of the body */
    bool is_redirect;
    unsigned redirects;
    bool has_retried;

    struct timer idle;
    uint64_t last_byte_ms;
    curl_off_t uploaded; /* as of the last look */
    size_t body_read;    /* bytes of the body that curl has taken; with FETCH_ONCE */

    bool has_socket; /* a connection was tried for it, or it got an open one */
    bool has_answer; /* any byte came back */
    bool is_too_large;
    bool is_cancelled;
    bool is_paused;             /* by the caller */
    bool is_held;               /* curl holds bytes back because of that */
    enum address_class refused; /* ADDRESS_PUBLIC = none */

    struct err result;
    struct fetch_events ev;
    void *ctx;
};

/* fetch_request.c */
int request_copy(struct fetch *f, const struct fetch_spec *spec, struct err *e);
/* Points the request at the Location of its redirect, or returns why not. */
int request_redirect(struct fetch *f, const char *location, struct err *e);
/* Makes f->easy; the callbacks are set by fetch.c. */
int request_open(struct fetch *f, struct err *e);

/* fetch_error.c: fills f->result from the result of curl and the flags of f. */
void fetch_explain(struct fetch *f, CURLcode code);
