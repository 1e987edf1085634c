/* fetch.c - the life of a request.
 *
 * curl refuses calls from inside its callbacks, and our callers may do anything in theirs. So
 * everything that changes a transfer (start, resume, end after a cancel) is done in the
 * fetch's own turn of the loop, outside of curl. The callbacks of curl only record facts and
 * pass bytes on.
 *
 *   FETCH_NEW -> FETCH_RUNNING -> FETCH_ENDED -> FETCH_DELIVERING -> freed
 *                  ^       |
 *                  +-------+ redirect, or one retry on a new connection */
#include "net/fetch.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/fetch_impl.h"

#define HTTP1_ORIGINS_MAX 256

/* The body of a redirect is not used; a server that sends more of it than this is cut off. */
#define REDIRECT_BODY_MAX (64u * 1024)

static void attach(struct fetch *f);

static void touch(struct fetch *f)
{
    f->last_byte_ms = clock_mono_ms();
}

static void watch_idle(struct fetch *f)
{
    touch(f);
    timer_start(&f->idle, f->req.idle_timeout_ms);
}

/* ---- leaving curl ---- */

static void detach(struct fetch *f)
{
    if (f->is_attached)
        curl_loop_remove(f->owner->curl, f->pool, f->easy);
    f->is_attached = false;
    timer_stop(&f->idle);
}

static void close_easy(struct fetch *f)
{
    detach(f);
    if (f->easy)
        f->owner->api.easy_cleanup(f->easy);
    f->easy = NULL;
    f->curl_text[0] = '\0';
}

static void fetch_free(struct fetch *f)
{
    close_easy(f);
    defer_stop(&f->turn);
    list_del(&f->node);
    response_head_done(&f->head);
    arena_done(&f->mem);
    free(f);
}

/* The result is in f->result. */
static void fetch_end(struct fetch *f)
{
    close_easy(f);
    f->state = FETCH_ENDED;
    defer_start(f->owner->loop, &f->turn);
}

static void on_idle(void *ctx)
{
    struct fetch *f = ctx;
    curl_off_t uploaded = 0;
    f->owner->api.easy_getinfo(f->easy, CURLINFO_SIZE_UPLOAD_T, &uploaded);
    if (uploaded != f->uploaded) {
        f->uploaded = uploaded;
        touch(f);
    }
    uint64_t quiet_ms = clock_mono_ms() - f->last_byte_ms;
    if (quiet_ms < f->req.idle_timeout_ms) {
        timer_start(&f->idle, f->req.idle_timeout_ms - quiet_ms);
        return;
    }
    err_set(&f->result, -ETIMEDOUT, "%s: no data for %.3g s", f->req.origin,
            (double)f->req.idle_timeout_ms / 1000);
    fetch_end(f);
}

/* ---- callbacks of curl ---- */

static bool is_refused(unsigned flags, enum address_class is)
{
    return flags & FETCH_PUBLIC_ONLY ? is != ADDRESS_PUBLIC
                                     : flags & FETCH_NO_METADATA && is == ADDRESS_METADATA;
}

static curl_socket_t on_open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
    struct fetch *f = ctx;
    enum address_class is = address_classify(&a->addr, a->addrlen);
    f->has_socket = true;
    if (is_refused(f->req.flags, is)) {
        f->refused = is;
        return CURL_SOCKET_BAD;
    }
    return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static int on_connected(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
    struct fetch *f = ctx;
    f->has_socket = true;
    return f->is_cancelled ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static bool is_multiplexed(const struct fetch *f)
{
    return f->pool == CURL_POOL_MULTIPLEX || f->pool == CURL_POOL_PUBLIC_MULTIPLEX;
}

/* An https server that answers in HTTP/1.1 has no streams to share a connection: from now on
 * its requests get a connection each, also those that wait for one. */
static void learn_http_version(struct fetch *f)
{
    struct fetcher *owner = f->owner;
    long version = 0;
    owner->api.easy_getinfo(f->easy, CURLINFO_HTTP_VERSION, &version);
    str origin = str_from(f->req.origin);
    if (!is_multiplexed(f) || version >= CURL_HTTP_VERSION_2_0 ||
        map_get(&owner->http1_origins, origin))
        return;
    if (map_len(&owner->http1_origins) == HTTP1_ORIGINS_MAX) {
        map_done(&owner->http1_origins);
        map_init(&owner->http1_origins);
    }
    map_put(&owner->http1_origins, origin, owner);
    defer_start(owner->loop, &owner->widen);
}

static bool should_follow(const struct fetch *f)
{
    int status = f->head.status;
    return (f->req.flags & FETCH_FOLLOW_SAME_ORIGIN) &&
           (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
           response_head_get(&f->head, "location").n > 0;
}

static void take_head(struct fetch *f)
{
    learn_http_version(f);
    f->is_redirect = should_follow(f);
    if (f->is_redirect)
        return;
    f->ev.on_head(f->ctx, f->head.status, f->head.headers, f->head.n);
    arena_done(&f->head.mem);
    arena_init(&f->head.mem);
    f->head.n = 0;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct fetch *f = ctx;
    if (f->is_cancelled)
        return 0;
    touch(f);
    f->has_answer = true;
    int rc = response_head_add(&f->head, (str){p, n});
    if (rc < 0) {
        f->is_too_large = true;
        return 0;
    }
    if (rc > 0)
        take_head(f);
    return f->is_cancelled ? 0 : n;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct fetch *f = ctx;
    if (f->is_cancelled)
        return 0;
    touch(f);
    if (f->is_paused && !f->is_redirect) {
        f->is_held = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    size_t max = f->is_redirect ? REDIRECT_BODY_MAX : f->req.body_max;
    if (max > 0 && n > max - f->received) {
        f->is_too_large = !f->is_redirect;
        return 0;
    }
    f->received += n;
    if (!f->is_redirect)
        f->ev.on_data(f->ctx, (str){p, n});
    return f->is_cancelled ? 0 : n;
}

static void set_callbacks(struct fetch *f)
{
    const struct curl_api *api = &f->owner->api;
    api->easy_setopt(f->easy, CURLOPT_PRIVATE, f);
    api->easy_setopt(f->easy, CURLOPT_HEADERFUNCTION, on_header);
    api->easy_setopt(f->easy, CURLOPT_HEADERDATA, f);
    api->easy_setopt(f->easy, CURLOPT_WRITEFUNCTION, on_body);
    api->easy_setopt(f->easy, CURLOPT_WRITEDATA, f);
    api->easy_setopt(f->easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    api->easy_setopt(f->easy, CURLOPT_OPENSOCKETDATA, f);
    api->easy_setopt(f->easy, CURLOPT_PREREQFUNCTION, on_connected);
    api->easy_setopt(f->easy, CURLOPT_PREREQDATA, f);
}

/* ---- the end of a transfer ---- */

static void restart(struct fetch *f)
{
    close_easy(f);
    response_head_done(&f->head);
    response_head_init(&f->head);
    f->received = 0;
    f->is_redirect = f->has_socket = f->has_answer = false;
    attach(f);
}

/* A kept connection can die just when it is used again. curl repeats most such requests
 * automatically; this is for those it gives up on (HTTP/2 connections that the server ends). */
static bool should_retry(const struct fetch *f, CURLcode code)
{
    static const CURLcode CONNECTION_DIED[] = {CURLE_HTTP2,       CURLE_HTTP2_STREAM,
                                               CURLE_SEND_ERROR,  CURLE_RECV_ERROR,
                                               CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE};
    if (f->has_retried || f->has_answer || f->body_read > 0)
        return false;
    long connects = 1;
    f->owner->api.easy_getinfo(f->easy, CURLINFO_NUM_CONNECTS, &connects);
    for (size_t i = 0; i < ARRAY_LEN(CONNECTION_DIED); i++) {
        if (code == CONNECTION_DIED[i])
            return connects == 0;
    }
    return false;
}

static void follow_redirect(struct fetch *f)
{
    char *location = NULL;
    f->owner->api.easy_getinfo(f->easy, CURLINFO_REDIRECT_URL, &location);
    if (request_redirect(f, location ? location : "", &f->result) < 0)
        fetch_end(f);
    else
        restart(f);
}

static void on_curl_done(void *ctx, CURL *easy, CURLcode code)
{
    struct fetcher *owner = ctx;
    struct fetch *f = NULL;
    owner->api.easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&f);
    detach(f);
    if (f->is_cancelled)
        return; /* its turn is coming */
    if (f->is_redirect && (code == CURLE_OK || code == CURLE_WRITE_ERROR)) {
        follow_redirect(f);
    } else if (should_retry(f, code)) {
        f->has_retried = true;
        restart(f);
    } else {
        fetch_explain(f, code);
        fetch_end(f);
    }
}

/* ---- entering curl ---- */

static enum curl_pool_kind choose_lane(const struct fetch *f)
{
    bool is_public = (f->req.flags & FETCH_PUBLIC_ONLY) != 0;
    bool is_wide = !f->req.parts.is_https || f->req.unix_socket ||
                   map_get(&f->owner->http1_origins, str_from(f->req.origin));
    if (is_wide)
        return is_public ? CURL_POOL_PUBLIC_WIDE : CURL_POOL_WIDE;
    return is_public ? CURL_POOL_PUBLIC_MULTIPLEX : CURL_POOL_MULTIPLEX;
}

static int load_curl(struct fetcher *owner, struct err *e)
{
    if (owner->curl)
        return 0;
    int rc = curl_api_load(&owner->api, e);
    if (rc < 0)
        return rc;
    rc = curl_loop_new(owner->loop, &owner->api, on_curl_done, owner, &owner->curl, e);
    if (rc < 0)
        curl_api_unload(&owner->api);
    return rc;
}

static void attach(struct fetch *f)
{
    f->pool = choose_lane(f);
    int rc = load_curl(f->owner, &f->result);
    if (rc == 0)
        rc = request_open(f, &f->result);
    if (rc == 0) {
        set_callbacks(f);
        rc = curl_loop_add(f->owner->curl, f->pool, f->easy);
        if (rc < 0)
            err_set(&f->result, rc, "%s: %s", f->req.origin, err_reason(rc));
    }
    if (rc < 0) {
        fetch_end(f);
        return;
    }
    f->is_attached = true;
    f->state = FETCH_RUNNING;
    watch_idle(f);
}

static void on_widen(void *ctx)
{
    struct fetcher *owner = ctx;
    LIST_EACH (f, &owner->fetches, struct fetch, node)
        if (f->is_attached && !f->is_cancelled && !f->has_socket && choose_lane(f) != f->pool)
            restart(f);
}

static void fetch_resume(struct fetch *f)
{
    f->is_held = false;
    watch_idle(f);
    CURLcode code = curl_loop_resume(f->owner->curl, f->easy);
    if (code != CURLE_OK && !f->is_cancelled) {
        fetch_explain(f, code);
        fetch_end(f);
    }
}

static void fetch_deliver(struct fetch *f)
{
    f->state = FETCH_DELIVERING;
    list_del(&f->node); /* the callback may free the fetcher */
    f->ev.on_done(f->ctx, &f->result);
    response_head_done(&f->head);
    arena_done(&f->mem);
    free(f);
}

static void on_turn(void *ctx)
{
    struct fetch *f = ctx;
    if (f->is_cancelled)
        fetch_free(f);
    else if (f->state == FETCH_NEW)
        attach(f);
    else if (f->state == FETCH_ENDED)
        fetch_deliver(f);
    else if (f->is_held && !f->is_paused)
        fetch_resume(f);
}

/* ---- for callers ---- */

struct fetcher *fetcher_new(struct loop *l)
{
    struct fetcher *owner = xcalloc(1, sizeof(*owner));
    owner->loop = l;
    list_init(&owner->fetches);
    map_init(&owner->http1_origins);
    defer_init(&owner->widen, on_widen, owner);
    return owner;
}

void fetcher_free(struct fetcher *owner)
{
    if (!owner)
        return;
    assert(!owner->curl || !curl_loop_busy(owner->curl));
    LIST_FOREACH (it, &owner->fetches)
        fetch_free(LIST_ENTRY(it, struct fetch, node));
    defer_stop(&owner->widen);
    map_done(&owner->http1_origins);
    if (owner->curl) {
        curl_loop_free(owner->curl);
        curl_api_unload(&owner->api);
    }
    free(owner);
}

struct fetch *fetch_start(struct fetcher *owner, const struct fetch_spec *spec,
                          const struct fetch_events *ev, void *ctx)
{
    assert(ev->on_head && ev->on_data && ev->on_done);
    struct fetch *f = xcalloc(1, sizeof(*f));
    f->owner = owner;
    f->ev = *ev;
    f->ctx = ctx;
    arena_init(&f->mem);
    response_head_init(&f->head);
    defer_init(&f->turn, on_turn, f);
    timer_init(&f->idle, owner->loop, on_idle, f);
    list_push(&owner->fetches, &f->node);
    if (request_copy(f, spec, &f->result) < 0)
        f->state = FETCH_ENDED;
    defer_start(owner->loop, &f->turn);
    return f;
}

void fetch_cancel(struct fetch *f)
{
    if (f->state == FETCH_DELIVERING)
        return; /* it ends with this callback anyway */
    f->is_cancelled = true;
    if (f->owner->curl && curl_loop_busy(f->owner->curl))
        defer_start(f->owner->loop, &f->turn);
    else
        fetch_free(f);
}

void fetch_pause(struct fetch *f, bool paused)
{
    if (f->is_paused == paused)
        return;
    f->is_paused = paused;
    if (paused)
        timer_stop(&f->idle); /* the silence is ours */
    else if (f->is_held)
        defer_start(f->owner->loop, &f->turn);
    else if (f->is_attached)
        watch_idle(f);
}
