/* conn_life.c - the beginning and the end of a connection: accepting it, and detaching everything
 * from it when it closes. The requests between the two are in conn.c. */
#include <assert.h>
#include <sys/socket.h>

#include "http/conn/conn.h"
#include "http/conn/share.h"
#include "http/tls/tls.h"

static void format_addr(const struct sockaddr_storage *addr, char out[48])
{
    if (addr->ss_family == AF_INET) {
        (void)uv_ip4_name((const struct sockaddr_in *)addr, out, 48);
    } else if (addr->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)addr;
        (void)uv_ip6_name(six, out, 48);
        if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
            (void)uv_inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], out, 48);
    }
}

static void learn_peer(struct http_conn *c)
{
    if (!c->is_local_socket) {
        struct sockaddr_storage addr = {0};
        int n = sizeof(addr);
        if (uv_tcp_getpeername(&c->uv.tcp, (struct sockaddr *)&addr, &n) == 0)
            format_addr(&addr, c->peer_addr);
        return;
    }
    uv_os_fd_t fd;
    struct ucred cred = {.uid = UINT32_MAX};
    socklen_t n = sizeof(cred);
    if (uv_fileno(&c->uv.handle, &fd) == 0)
        (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n);
    c->peer_uid = cred.uid;
}

static void on_conn_closed(uv_handle_t *handle)
{
    struct http_conn *c = handle->data;
    struct http_server *s = c->server;
    assert(c->state == CONN_CLOSED && !c->req && !c->tally && !share_is_waiting(c));
    list_del(&c->node);
    buf_done(&c->in);
    tls_session_free(c->tls);
    free(c);
    s->stats.conns--;
    server_check_stopped(s);
}

static struct http_conn *conn_new(struct http_server *s, bool is_local_socket)
{
    struct http_conn *c = xcalloc(1, sizeof(*c));
    uv_loop_t *uv = loop_uv(s->loop);
    int rc = is_local_socket ? uv_pipe_init(uv, &c->uv.pipe, 0) : uv_tcp_init(uv, &c->uv.tcp);
    assert(rc == 0);
    (void)rc;
    c->uv.handle.data = c;
    c->server = s;
    c->is_local_socket = is_local_socket;
    list_init(&c->counted);
    list_init(&c->waits);
    list_init(&c->node);
    conn_put_in(c, &s->busy);
    buf_init(&c->in, HTTP_BACKLOG_MAX);
    defer_init(&c->again, conn_on_again, c);
    timer_init(&c->timer, s->loop, conn_on_timer, c);
    s->stats.conns++;
    s->stats.conns_total++;
    return c;
}

void conn_accept(struct listener *l)
{
    struct http_server *s = l->server;
    struct http_conn *c = conn_new(s, l->path != NULL);
    bool is_refused = false;
    if (uv_accept(&l->uv.stream, &c->uv.stream) < 0 || s->is_stopping) {
        conn_close(c);
        return;
    }
    learn_peer(c);
    secure_accept(c);
    if (!tally_admit(c, &is_refused) || (is_refused && c->tls)) /* no handshake for a refusal */
        conn_reset(c);
    else if (is_refused)
        response_fail(c, 503, "too many connections");
    else
        conn_settle(c);
}

void conn_close_silent(struct http_server *s)
{
    LIST_EACH (c, &s->heads, struct http_conn, node)
        if (c->state == CONN_HEAD && c->in.n == 0)
            conn_close(c);
}

/* The client disconnected. A request that a handler has (was_waiting) belongs to the handler until
 * it answers, unless on_gone tells it not to. */
static void request_gone(struct http_conn *c, bool was_waiting)
{
    struct request *r = c->req;
    if (!r)
        return;
    c->req = NULL;
    r->pub.conn = NULL;
    if (r->pub.on_gone) {
        r->is_gone = true;
        r->pub.on_gone(&r->pub);
        request_release(r);
    } else if (!was_waiting) {
        request_release(r);
    }
}

/* Detaches everything from the connection. False: it is closing already. The state is set first,
 * because on_gone and on_close may call back into this connection. */
static bool begin_close(struct http_conn *c)
{
    if (c->state == CONN_CLOSED)
        return false;
    bool was_waiting = c->state == CONN_WAIT;
    c->state = CONN_CLOSED;
    timer_stop(&c->timer);
    defer_stop(&c->again);
    conn_put_in(c, &c->server->busy); /* never evicted again */
    request_gone(c, was_waiting);
    if (c->sse)
        sse_conn_gone(c->sse);
    c->sse = NULL;
    if (c->stream)
        stream_conn_gone(c->stream);
    c->stream = NULL;
    tally_leave(c);
    return true;
}

void conn_close(struct http_conn *c)
{
    if (begin_close(c))
        uv_close(&c->uv.handle, on_conn_closed);
}

void conn_reset(struct http_conn *c)
{
    if (!begin_close(c))
        return;
    if (c->is_local_socket || uv_tcp_close_reset(&c->uv.tcp, on_conn_closed) < 0)
        uv_close(&c->uv.handle, on_conn_closed);
}
