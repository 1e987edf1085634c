#include "net/curl/curl_loop.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/map.h"
#include "loop/timer.h"

/* Before the first answer curl cannot know how many streams a server takes and may open a
 * connection for each of a burst. */
#define MULTIPLEX_CONNECTIONS_MAX 8L
#define IDLE_CONNECTIONS_MAX      64L
#define EVENTS_PER_TURN           64

/* Waking up for a packet costs more than handling its bytes. So a socket that has delivered
 * STREAM_READS pieces of patient responses in a row, the last two less than QUICK_MS apart, is
 * not polled for CURL_REST_MS, and the bytes that arrive in this time are read together. This
 * repeats until a rest brings no bytes. Network cards delay their interrupts in the same way. */
#define STREAM_READS 16
#define QUICK_MS     5

/* The kind of the responses that curl has just read from. */
enum read_kind { READ_NOTHING, READ_PATIENT, READ_IMPATIENT };

struct curl_pool {
    struct curl_loop *owner;
    uint32_t index;
    CURLM *multi; /* NULL until it is used */
    struct timer timer;
};

struct watched { /* a socket of curl */
    struct curl_pool *pool;
    curl_socket_t fd;
    uint32_t wanted;     /* events that curl waits for */
    unsigned reads;      /* of patient responses in a row */
    uint64_t read_at_ms; /* time of the last read of any kind */
    bool is_resting;     /* EPOLLIN is not polled */
    struct timer rest;   /* ends the rest */
};

struct curl_loop {
    const struct curl_api *api;
    struct loop *loop;
    struct curl_pool pools[CURL_POOLS];
    struct map sockets;  /* descriptor -> struct watched */
    enum read_kind read; /* in the current call */
    int epoll_fd;
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

/* ---- watched sockets ---- */

static str socket_key(const curl_socket_t *fd)
{
    return (str){(const char *)fd, sizeof *fd};
}

/* curl may close a socket in any call, so the pointer is not kept across a call of curl. */
static struct watched *find_socket(const struct curl_loop *c, curl_socket_t fd)
{
    return map_get(&c->sockets, socket_key(&fd));
}

static int watch(const struct watched *w)
{
    int epoll_fd = w->pool->owner->epoll_fd;
    struct epoll_event ev = {.data.u64 = (uint64_t)w->pool->index << 32 | (uint32_t)w->fd};
    ev.events = w->is_resting ? w->wanted & ~(uint32_t)EPOLLIN : w->wanted;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, w->fd, &ev) == 0)
        return 0;
    return errno == ENOENT && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, w->fd, &ev) == 0 ? 0 : -1;
}

/* epoll knows the socket, and then a change cannot fail. */
static void set_resting(struct watched *w, bool is_resting)
{
    if (w->is_resting == is_resting)
        return;
    w->is_resting = is_resting;
    (void)watch(w);
}

static void rest(struct watched *w)
{
    timer_start(&w->rest, CURL_REST_MS);
    set_resting(w, true);
}

static void wake(struct watched *w)
{
    timer_stop(&w->rest);
    set_resting(w, false);
}

/* ---- reading ---- */

static bool has_bytes(const struct watched *w)
{
    int n = 0;
    return ioctl(w->fd, FIONREAD, &n) == 0 && n > 0;
}

/* Counts a read and returns whether the next bytes may wait. */
static bool note_read(struct watched *w, enum read_kind kind)
{
    if (kind == READ_NOTHING)
        return false;
    uint64_t now = clock_mono_ms(), gap_ms = now - w->read_at_ms;
    w->read_at_ms = now;
    w->reads = kind == READ_PATIENT ? w->reads + 1 : 0;
    return w->reads > STREAM_READS && (w->is_resting || gap_ms < QUICK_MS);
}

/* curl usually reads until the socket is empty, but does not promise it; bytes that it leaves must
 * not wait for the end of a rest. */
static void pool_serve(struct curl_pool *pool, curl_socket_t fd, int mask)
{
    struct curl_loop *c = pool->owner;
    c->read = READ_NOTHING;
    act(pool, fd, mask);
    struct watched *w = find_socket(c, fd);
    if (!w)
        return;
    if (note_read(w, c->read) && !has_bytes(w))
        rest(w);
    else
        wake(w);
}

/* The end of a stream is not a byte: only epoll reports it. */
static void on_rested(void *ctx)
{
    struct watched *w = ctx;
    if ((w->wanted & EPOLLIN) && has_bytes(w))
        pool_serve(w->pool, w->fd, CURL_CSELECT_IN);
    else
        wake(w);
}

static struct watched *watched_new(struct curl_pool *pool, curl_socket_t fd)
{
    struct watched *w = xcalloc(1, sizeof(*w));
    *w = (struct watched){.pool = pool, .fd = fd};
    timer_init(&w->rest, pool->owner->loop, on_rested, w);
    map_put(&pool->owner->sockets, socket_key(&fd), w);
    return w;
}

static void watched_free(struct watched *w)
{
    timer_stop(&w->rest);
    map_del(&w->pool->owner->sockets, socket_key(&w->fd));
    free(w);
}

static void on_epoll_ready(uv_poll_t *poll, int status, int events)
{
    struct curl_loop *c = poll->data;
    struct epoll_event ready[EVENTS_PER_TURN];
    int n = epoll_wait(c->epoll_fd, ready, EVENTS_PER_TURN, 0);
    for (int i = 0; i < n; i++) {
        struct curl_pool *pool = &c->pools[ready[i].data.u64 >> 32];
        pool_serve(pool, (curl_socket_t)(ready[i].data.u64 & UINT32_MAX),
                   curl_mask(ready[i].events));
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

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *unused)
{
    struct curl_pool *pool = ctx;
    struct watched *w = find_socket(pool->owner, fd);
    if (what == CURL_POLL_REMOVE) {
        /* The socket may be closed already, and then the kernel has removed it. */
        (void)epoll_ctl(pool->owner->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        if (w)
            watched_free(w);
        return 0;
    }
    if (!w)
        w = watched_new(pool, fd);
    w->pool = pool;
    w->wanted = 0;
    if (what != CURL_POLL_OUT)
        w->wanted |= EPOLLIN;
    if (what != CURL_POLL_IN)
        w->wanted |= EPOLLOUT;
    return watch(w);
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
    map_init(&c->sockets);
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
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&c->sockets, &i)) != NULL;)
        watched_free(e->value);
    map_done(&c->sockets);
    uv_close((uv_handle_t *)c->poll, free_poll);
    close(c->epoll_fd);
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

void curl_loop_note_read(struct curl_loop *c, bool is_patient)
{
    enum read_kind now = is_patient ? READ_PATIENT : READ_IMPATIENT;
    if (now > c->read)
        c->read = now;
}
