#include "bundle/network/network_link.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/file.h"

void link_begin(struct link *l, int client, uint64_t deadline)
{
    *l = (struct link){.state = LINK_WAITING, .client = client, .server = -1, .deadline = deadline};
}

static void link_free(struct link *l)
{
    close(l->client);
    file_close(l->server);
    free(l->up.p);
    free(l->down.p);
    *l = (struct link){.state = LINK_FREE};
}

void link_reset(struct link *l)
{
    struct linger now = {1, 0};
    (void)setsockopt(l->client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    link_free(l);
}

/* ---- connecting ---- */

static void carry(struct link *l)
{
    int on = 1;
    assert(l->state == LINK_CONNECTING && l->server >= 0 && !l->up.p && !l->down.p);
    (void)setsockopt(l->server, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(l->server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(l->client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    l->up.p = xcalloc(1, LINK_BUFFER_BYTES);
    l->down.p = xcalloc(1, LINK_BUFFER_BYTES);
    l->state = LINK_CARRYING;
    l->deadline = clock_mono_ms() + LINK_IDLE_MS;
}

/* True when an attempt is in progress or has succeeded. */
static bool try_address(struct link *l, const struct network_ip *ip)
{
    struct sockaddr_storage sa;
    socklen_t len = network_ip_to(ip, l->port, &sa);
    l->server = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->server >= 0 &&
        (connect(l->server, (struct sockaddr *)&sa, len) == 0 || errno == EINPROGRESS))
        return true;
    file_close(l->server);
    l->server = -1;
    return false;
}

/* Returns false after the last address. */
static bool connect_next(struct link *l)
{
    file_close(l->server);
    l->server = -1;
    l->state = LINK_CONNECTING;
    l->deadline = clock_mono_ms() + LINK_CONNECT_MS;
    while (l->next_ip < l->nips) {
        if (try_address(l, &l->ips[l->next_ip++]))
            return true;
    }
    l->deadline = 0; /* link_step reports it */
    return false;
}

void link_connect(struct link *l)
{
    assert(l->state == LINK_WAITING && l->nips > 0);
    l->next_ip = 0;
    (void)connect_next(l);
}

static const char *step_connecting(struct link *l, short revents, uint64_t now)
{
    int failure = 0;
    socklen_t len = sizeof(failure);
    if (l->server >= 0 && revents &&
        getsockopt(l->server, SOL_SOCKET, SO_ERROR, &failure, &len) == 0 && failure == 0) {
        carry(l);
        return NULL;
    }
    if (!revents && now < l->deadline)
        return NULL;
    return connect_next(l) ? NULL : "the host does not answer";
}

/* ---- carrying ---- */

static bool would_block(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Reads into an empty buffer and writes what is in it. Returns false when the link is broken. */
static bool move(struct link_flow *f, int from, int to)
{
    if (f->at == f->n && !f->is_ended) {
        ssize_t n = recv(from, f->p, LINK_BUFFER_BYTES, 0);
        if (n < 0 && !would_block(n))
            return false;
        f->is_ended = n == 0;
        f->at = 0;
        f->n = n > 0 ? (size_t)n : 0;
    }
    if (f->at < f->n) {
        ssize_t n = send(to, f->p + f->at, f->n - f->at, MSG_NOSIGNAL);
        if (n < 0 && !would_block(n))
            return false;
        f->at += n > 0 ? (size_t)n : 0;
    }
    if (f->is_ended && f->at == f->n && !f->is_shut) {
        (void)shutdown(to, SHUT_WR);
        f->is_shut = true;
    }
    return true;
}

static void step_carrying(struct link *l, uint64_t now)
{
    if (!move(&l->up, l->client, l->server) || !move(&l->down, l->server, l->client)) {
        link_reset(l);
        return;
    }
    if (l->up.is_shut && l->down.is_shut) {
        link_free(l);
        return;
    }
    bool is_half = l->up.is_shut || l->down.is_shut;
    l->deadline = now + (is_half ? LINK_HALF_CLOSED_MS : LINK_IDLE_MS);
}

/* ---- both ---- */

static short wanted(const struct link_flow *in, const struct link_flow *out)
{
    int events = 0;
    if (in->at == in->n && !in->is_ended)
        events |= POLLIN;
    if (out->at < out->n)
        events |= POLLOUT;
    return (short)events;
}

void link_watch(const struct link *l, struct pollfd ret[2])
{
    if (l->state == LINK_CONNECTING)
        ret[1] = (struct pollfd){l->server, POLLOUT, 0};
    if (l->state != LINK_CARRYING)
        return;
    short client = wanted(&l->up, &l->down), server = wanted(&l->down, &l->up);
    if (client)
        ret[0] = (struct pollfd){l->client, client, 0};
    if (server)
        ret[1] = (struct pollfd){l->server, server, 0};
}

const char *link_step(struct link *l, const struct pollfd fds[2], uint64_t now)
{
    bool is_late = now >= l->deadline;
    switch (l->state) {
    case LINK_FREE:
        return NULL;
    case LINK_WAITING:
        return is_late ? "the name could not be resolved in time" : NULL;
    case LINK_CONNECTING:
        return step_connecting(l, fds[1].revents, now);
    case LINK_CARRYING:
        if (fds[0].revents || fds[1].revents)
            step_carrying(l, now);
        else if (is_late)
            link_reset(l);
        return NULL;
    }
    return NULL;
}
