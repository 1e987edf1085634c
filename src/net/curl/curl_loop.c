#include "net/curl/curl_loop.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <uv.h>

#include "loop/timer.h"

/* Before the first answer curl cannot know how many streams a server takes and may open a
 * connection for each of a burst. */
#define MULTIPLEX_CONNECTIONS_MAX 8L
#define IDLE_CONNECTIONS_MAX      64L
#define EVENTS_PER_TURN           64

struct curl_pool {
    struct curl_loop *owner;
    uint32_t index;
    CURLM *multi; /* NULL until it is used */
    struct timer timer;
};

struct curl_loop {
    const struct curl_api *api;
    struct loop *loop;
    struct curl_pool pools[CURL_POOLS];
    int epoll_fd;
    uint8_t *watched; /* by descriptor: what curl waits for, CURL_POLL_IN, _OUT or both */
    size_t nwatched;
    uv_poll_t *poll; /* outlives us until its close callback */
    unsigned depth;  /* calls into curl on the stack */
    curl_done_fn done;
    void *ctx;
};

static void pool_reap(struct curl_pool *pool)
{
    struct curl_loop *c = pool->owner;
    int left;
    CURLMsg *msg;
    while ((msg = c->api->multi_info_read(pool->multi, &left)) != NULL) {
        if (msg->msg == CURLMSG_DONE)
            c->done(c->ctx, msg->easy_handle, msg->data.result);
    }
}

static void act(struct curl_pool *pool, curl_socket_t fd, int mask)
{
    struct curl_loop *c = pool->owner;
    int running;
    c->depth++;
    (void)c->api->multi_socket_action(pool->multi, fd, mask, &running);
    c->depth--;
    pool_reap(pool);
}

static int curl_mask(uint32_t events)
{
    int mask = 0;
    if (events & (EPOLLIN | EPOLLHUP))
        mask |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        mask |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        mask |= CURL_CSELECT_ERR;
    return mask;
}

static void on_epoll_ready(uv_poll_t *poll, int status, int events)
{
    struct curl_loop *c = poll->data;
    struct epoll_event ready[EVENTS_PER_TURN];
    int n = epoll_wait(c->epoll_fd, ready, EVENTS_PER_TURN, 0);
    for (int i = 0; i < n; i++) {
        struct curl_pool *pool = &c->pools[ready[i].data.u64 >> 32];
        curl_socket_t fd = (curl_socket_t)(ready[i].data.u64 & UINT32_MAX);
        if (c->watched[fd] == 0) /* of a connection that is kept for later: the server ends it */
            (void)epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        else
            act(pool, fd, curl_mask(ready[i].events));
    }
}

/* ---- requests of curl: timers and sockets ---- */

static void on_curl_timeout(void *ctx)
{
    act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

/* curl sets its timer. curl must not be called from here, not even for a timeout of zero. */
static int on_curl_timer(CURLM *multi, long timeout_ms, void *ctx)
{
    struct curl_pool *pool = ctx;
    if (timeout_ms < 0)
        timer_stop(&pool->timer);
    else
        timer_start(&pool->timer, (uint64_t)timeout_ms);
    return 0;
}

static uint8_t *watched_at(struct curl_loop *c, curl_socket_t fd)
{
    assert(fd >= 0);
    if ((size_t)fd >= c->nwatched) {
        size_t n = (size_t)fd + 64;
        c->watched = xrealloc(c->watched, n);
        memset(c->watched + c->nwatched, 0, n - c->nwatched);
        c->nwatched = n;
    }
    return &c->watched[fd];
}

/* After a request the socket of a kept connection stays in the epoll set, for the next request: it
 * is quiet until the server ends the connection. The kernel removes a socket that is closed. */
static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *unused)
{
    struct curl_pool *pool = ctx;
    int epoll_fd = pool->owner->epoll_fd;
    struct epoll_event ev = {.data.u64 = (uint64_t)pool->index << 32 | (uint32_t)fd};
    uint8_t *watched = watched_at(pool->owner, fd);
    uint8_t before = *watched;
    *watched = what == CURL_POLL_REMOVE ? 0 : (uint8_t)what;
    if (what == CURL_POLL_REMOVE) {
        if (before != CURL_POLL_IN) /* it would be ready for writing all the time */
            (void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    if (what != CURL_POLL_OUT)
        ev.events |= EPOLLIN;
    if (what != CURL_POLL_IN)
        ev.events |= EPOLLOUT;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &ev) == 0)
        return 0;
    return errno == ENOENT && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0 ? 0 : -1;
}

static int pool_open(struct curl_pool *pool)
{
    const struct curl_api *api = pool->owner->api;
    pool->multi = api->multi_init();
    if (!pool->multi)
        return -ENOMEM;
    api->multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    api->multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    api->multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    api->multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    api->multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS_MAX);
    if (pool->index == CURL_POOL_MULTIPLEX || pool->index == CURL_POOL_PUBLIC_MULTIPLEX) {
        api->multi_setopt(pool->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
        api->multi_setopt(pool->multi, CURLMOPT_MAX_HOST_CONNECTIONS, MULTIPLEX_CONNECTIONS_MAX);
    }
    return 0;
}

static void free_poll(uv_handle_t *h)
{
    free(h);
}

/* The poll handle belongs to libuv from uv_poll_init on; only uv_close releases it. */
static int watch_epoll(struct curl_loop *c)
{
    uv_poll_t *poll = xcalloc(1, sizeof(*poll));
    int rc = uv_poll_init(loop_uv(c->loop), poll, c->epoll_fd);
    if (rc < 0) {
        free(poll);
        return rc;
    }
    poll->data = c;
    rc = uv_poll_start(poll, UV_READABLE, on_epoll_ready);
    if (rc < 0) {
        uv_close((uv_handle_t *)poll, free_poll);
        return rc;
    }
    c->poll = poll;
    return 0;
}

int curl_loop_new(struct loop *l, const struct curl_api *api, curl_done_fn done, void *ctx,
                  struct curl_loop **ret, struct err *e)
{
    struct curl_loop *c = xcalloc(1, sizeof(*c));
    c->api = api;
    c->loop = l;
    c->done = done;
    c->ctx = ctx;
    for (uint32_t i = 0; i < CURL_POOLS; i++) {
        c->pools[i].owner = c;
        c->pools[i].index = i;
        timer_init(&c->pools[i].timer, l, on_curl_timeout, &c->pools[i]);
    }
    c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int rc = c->epoll_fd < 0 ? -errno : watch_epoll(c);
    if (rc < 0) {
        if (c->epoll_fd >= 0)
            close(c->epoll_fd);
        free(c);
        return err_set(e, rc, "cannot watch sockets: %s", err_reason(rc));
    }
    *ret = c;
    return 0;
}

void curl_loop_free(struct curl_loop *c)
{
    assert(!curl_loop_busy(c));
    for (size_t i = 0; i < CURL_POOLS; i++) {
        if (c->pools[i].multi)
            c->api->multi_cleanup(c->pools[i].multi);
        timer_stop(&c->pools[i].timer);
    }
    uv_close((uv_handle_t *)c->poll, free_poll);
    close(c->epoll_fd);
    free(c->watched);
    free(c);
}

int curl_loop_add(struct curl_loop *c, enum curl_pool_kind pool, CURL *easy)
{
    assert(!curl_loop_busy(c));
    struct curl_pool *l = &c->pools[pool];
    int rc = l->multi ? 0 : pool_open(l);
    if (rc < 0)
        return rc;
    c->depth++;
    CURLMcode code = c->api->multi_add_handle(l->multi, easy);
    c->depth--;
    return code == CURLM_OK ? 0 : -ENOMEM;
}

void curl_loop_remove(struct curl_loop *c, enum curl_pool_kind pool, CURL *easy)
{
    assert(!curl_loop_busy(c));
    c->depth++;
    (void)c->api->multi_remove_handle(c->pools[pool].multi, easy);
    c->depth--;
}

CURLcode curl_loop_resume(struct curl_loop *c, CURL *easy)
{
    assert(!curl_loop_busy(c));
    c->depth++;
    CURLcode code = c->api->easy_pause(easy, CURLPAUSE_CONT);
    c->depth--;
    return code;
}

bool curl_loop_busy(const struct curl_loop *c)
{
    return c->depth > 0;
}
