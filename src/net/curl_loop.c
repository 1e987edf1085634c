#include "net/curl_loop.h"

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

struct lane {
    struct curl_loop *owner;
    uint32_t index;
    CURLM *multi; /* NULL until it is used */
    struct timer timer;
};

struct curl_loop {
    const struct curl_api *api;
    struct loop *loop;
    struct lane lanes[CURL_LANES];
    int epoll_fd;
    uv_poll_t *poll; /* outlives us until its close callback */
    unsigned depth;  /* calls into curl on the stack */
    curl_done_fn done;
    void *ctx;
};

static void reap(struct lane *lane)
{
    struct curl_loop *c = lane->owner;
    int left;
    CURLMsg *msg;
    while ((msg = c->api->multi_info_read(lane->multi, &left)) != NULL) {
        if (msg->msg == CURLMSG_DONE)
            c->done(c->ctx, msg->easy_handle, msg->data.result);
    }
}

static void act(struct lane *lane, curl_socket_t fd, int mask)
{
    struct curl_loop *c = lane->owner;
    int running;
    c->depth++;
    (void)c->api->multi_socket_action(lane->multi, fd, mask, &running);
    c->depth--;
    reap(lane);
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

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct curl_loop *c = poll->data;
    struct epoll_event ready[EVENTS_PER_TURN];
    int n = epoll_wait(c->epoll_fd, ready, EVENTS_PER_TURN, 0);
    for (int i = 0; i < n; i++) {
        struct lane *lane = &c->lanes[ready[i].data.u64 >> 32];
        act(lane, (curl_socket_t)(ready[i].data.u64 & UINT32_MAX), curl_mask(ready[i].events));
    }
}

static void on_timeout(void *ctx)
{
    act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

/* curl asks for a wake-up. It must not be called back from here, not even for zero. */
static int on_curl_timer(CURLM *multi, long timeout_ms, void *ctx)
{
    struct lane *lane = ctx;
    if (timeout_ms < 0)
        timer_stop(&lane->timer);
    else
        timer_start(&lane->timer, (uint64_t)timeout_ms);
    return 0;
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *unused)
{
    struct lane *lane = ctx;
    int epoll_fd = lane->owner->epoll_fd;
    if (what == CURL_POLL_REMOVE) {
        /* The socket may be closed already, and then the kernel has removed it. */
        (void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    struct epoll_event ev = {.data.u64 = (uint64_t)lane->index << 32 | (uint32_t)fd};
    if (what != CURL_POLL_OUT)
        ev.events |= EPOLLIN;
    if (what != CURL_POLL_IN)
        ev.events |= EPOLLOUT;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &ev) == 0)
        return 0;
    return errno == ENOENT && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0 ? 0 : -1;
}

static int lane_open(struct lane *lane)
{
    const struct curl_api *api = lane->owner->api;
    lane->multi = api->multi_init();
    if (!lane->multi)
        return -ENOMEM;
    api->multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    api->multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
    api->multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    api->multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
    api->multi_setopt(lane->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS_MAX);
    if (lane->index == CURL_LANE_MULTIPLEX || lane->index == CURL_LANE_PUBLIC_MULTIPLEX) {
        api->multi_setopt(lane->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
        api->multi_setopt(lane->multi, CURLMOPT_MAX_HOST_CONNECTIONS, MULTIPLEX_CONNECTIONS_MAX);
    }
    return 0;
}

static void free_poll(uv_handle_t *h)
{
    free(h);
}

/* The poll handle belongs to libuv from uv_poll_init on, and goes by uv_close only. */
static int watch_epoll(struct curl_loop *c)
{
    uv_poll_t *poll = xcalloc(1, sizeof(*poll));
    int rc = uv_poll_init(loop_uv(c->loop), poll, c->epoll_fd);
    if (rc < 0) {
        free(poll);
        return rc;
    }
    poll->data = c;
    rc = uv_poll_start(poll, UV_READABLE, on_ready);
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
    for (uint32_t i = 0; i < CURL_LANES; i++) {
        c->lanes[i].owner = c;
        c->lanes[i].index = i;
        timer_init(&c->lanes[i].timer, l, on_timeout, &c->lanes[i]);
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
    for (size_t i = 0; i < CURL_LANES; i++) {
        if (c->lanes[i].multi)
            c->api->multi_cleanup(c->lanes[i].multi);
        timer_stop(&c->lanes[i].timer);
    }
    uv_close((uv_handle_t *)c->poll, free_poll);
    close(c->epoll_fd);
    free(c);
}

int curl_loop_add(struct curl_loop *c, enum curl_lane lane, CURL *easy)
{
    assert(!curl_loop_busy(c));
    struct lane *l = &c->lanes[lane];
    int rc = l->multi ? 0 : lane_open(l);
    if (rc < 0)
        return rc;
    c->depth++;
    CURLMcode code = c->api->multi_add_handle(l->multi, easy);
    c->depth--;
    return code == CURLM_OK ? 0 : -ENOMEM;
}

void curl_loop_remove(struct curl_loop *c, enum curl_lane lane, CURL *easy)
{
    assert(!curl_loop_busy(c));
    c->depth++;
    (void)c->api->multi_remove_handle(c->lanes[lane].multi, easy);
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
