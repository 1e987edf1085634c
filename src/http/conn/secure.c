/* secure.c - a connection whose bytes are encrypted: between the socket and the states of conn.c.
 *
 * Everything that one read brings is decrypted before conn.c sees it, so that no plain text waits
 * inside the session, and a socket that is not read delivers nothing. The handshake has the time of
 * a head, from the first moment on. */
#include <assert.h>

#include "http/conn/conn.h"
#include "http/tls/tls.h"

/* Answers to messages of the protocol itself that a client may cause without reading them. */
#define SECURE_UNREAD_MAX (256u * 1024)

void http_server_use_tls(struct http_server *s, struct tls_keys *keys)
{
    assert(!s->keys && s->stats.conns_total == 0);
    s->keys = keys;
    s->plain_buf = xcalloc(1, HTTP_READ_BYTES);
}

void secure_accept(struct http_conn *c)
{
    if (c->is_local_socket || !c->server->keys)
        return;
    c->tls = tls_session_new(c->server->keys);
    c->is_greeting = true;
}

static bool flush_output(struct http_conn *c)
{
    str out = tls_session_take_output(c->tls);
    return out.n == 0 || conn_send(c, out, STR_NONE, false);
}

bool secure_write(struct http_conn *c, str head, str body)
{
    tls_session_send(c->tls, head);
    tls_session_send(c->tls, body);
    return flush_output(c);
}

/* The client ended the session, or does not follow the protocol. It gets what explains that. */
static void secure_failed(struct http_conn *c)
{
    str out = tls_session_take_output(c->tls);
    uv_buf_t buf = uv_buf_init((char *)out.p, (unsigned)out.n);
    if (out.n > 0)
        (void)uv_try_write(&c->uv.stream, &buf, 1);
    conn_close(c);
}

void secure_received(struct http_conn *c, str in)
{
    struct http_server *s = c->server;
    size_t n;
    int rc = tls_session_receive(c->tls, in, s->plain_buf, HTTP_READ_BYTES, &n);
    if (rc == 0 && uv_stream_get_write_queue_size(&c->uv.stream) > SECURE_UNREAD_MAX &&
        c->state == CONN_HEAD)
        rc = -EPROTO;
    if (rc == 0 && !flush_output(c))
        return;
    if (c->is_greeting && tls_session_is_ready(c->tls)) {
        c->is_greeting = false;
        c->has_begun = false;
        conn_settle(c);
    }
    if (n > 0 && c->state != CONN_CLOSED)
        conn_input(c, str_make(s->plain_buf, n));
    if (rc < 0 && c->state != CONN_CLOSED)
        secure_failed(c);
}

void secure_end(struct http_conn *c)
{
    str out;
    if (!c->tls)
        return;
    tls_session_end(c->tls);
    out = tls_session_take_output(c->tls);
    uv_buf_t buf = uv_buf_init((char *)out.p, (unsigned)out.n);
    if (out.n > 0)
        (void)uv_try_write(&c->uv.stream, &buf, 1);
}
