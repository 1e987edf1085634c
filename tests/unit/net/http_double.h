/* http_double.h - an HTTP/1.1 server for tests, in threads of its own and plain sockets.
 *
 * It does what the path says, right or wrong: see ROUTES. One thread per connection; the
 * counters may be read by the test at any time. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"

enum { DOUBLE_CONNS_MAX = 256 };

struct exchange;

struct http_double {
    void (*serve)(struct exchange *x); /* instead of ROUTES; set before the first request */
    void *ctx;                         /* of serve */
    int listen_fd, port;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_t threads[DOUBLE_CONNS_MAX];
    int fds[DOUBLE_CONNS_MAX];
    int nconns;
    atomic_int requests, connections, peer_closed;
    atomic_int barrier; /* /barrier answers when so many requests have come */
    atomic_size_t sent; /* body bytes of /endless */
};

struct exchange {
    struct http_double *d;
    int fd;
    struct buf in; /* head and body of the request */
    size_t head_len;
    int served; /* requests before this one on the same connection */
    bool close;
};

static inline bool dbl_send(struct exchange *x, const void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(x->fd, (const char *)p + at, n - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += (size_t)sent;
    }
    return true;
}

static inline bool dbl_say(struct exchange *x, const char *text)
{
    return dbl_send(x, text, strlen(text));
}

static inline void dbl_pause_ms(unsigned ms)
{
    usleep(ms * 1000);
}

/* Waits until the other side closes. */
static inline void dbl_hang(struct exchange *x)
{
    char c;
    while (recv(x->fd, &c, 1, 0) > 0)
        ;
    atomic_fetch_add(&x->d->peer_closed, 1);
    x->close = true;
}

static inline void dbl_hello(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Test: One\r\n\r\nhello");
}

static inline void dbl_chunked(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    dbl_pause_ms(5);
    dbl_say(x, "1\r\n \r\n5;ext=1\r\nworld\r\n0\r\nX-Trailer: ignored\r\n\r\n");
}

static inline void dbl_bytes(struct exchange *x)
{
    static const char TEXT[] = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                               "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Test: One\r\n\r\nhello";
    int on = 1;
    setsockopt(x->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    for (size_t i = 0; i < sizeof(TEXT) - 1; i++) {
        dbl_send(x, TEXT + i, 1);
        usleep(200);
    }
}

static inline void dbl_cut(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
    x->close = true;
}

static inline void dbl_cut_chunk(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    x->close = true;
}

static inline void dbl_empty(struct exchange *x)
{
    x->close = true;
}

static inline void dbl_silent(struct exchange *x)
{
    dbl_hang(x);
}

static inline void dbl_stall(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
    dbl_hang(x);
}

static inline void dbl_drip(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n");
    for (int i = 0; i < 12; i++) {
        dbl_pause_ms(200);
        dbl_say(x, "x");
    }
}

static inline void dbl_large(struct exchange *x)
{
    static char block[1 << 20];
    dbl_say(x, "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n");
    dbl_send(x, block, sizeof(block));
}

static inline void dbl_endless(struct exchange *x)
{
    static char block[16384];
    dbl_say(x, "HTTP/1.1 200 OK\r\n\r\n");
    while (dbl_send(x, block, sizeof(block)))
        atomic_fetch_add(&x->d->sent, sizeof(block));
    atomic_fetch_add(&x->d->peer_closed, 1);
    x->close = true;
}

static inline void dbl_error(struct exchange *x)
{
    dbl_say(x,
            "HTTP/1.1 529 Overloaded\r\nContent-Length: 9\r\nRetry-After: 1\r\n\r\n{\"e\":\"x\"}");
}

static inline void dbl_echo(struct exchange *x)
{
    char head[128];
    snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", x->in.n);
    dbl_say(x, head);
    dbl_send(x, x->in.p, x->in.n);
}

static inline void dbl_redirect(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 302 Found\r\nLocation: /echo\r\nContent-Length: 4\r\n\r\ngone");
}

static inline void dbl_keep_method(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 307 Moved\r\nLocation: echo?kept\r\nContent-Length: 0\r\n\r\n");
}

static inline void dbl_elsewhere(struct exchange *x)
{
    char text[256];
    snprintf(
        text, sizeof(text),
        "HTTP/1.1 302 Found\r\nLocation: http://localhost:%d/hello\r\nContent-Length: 0\r\n\r\n",
        x->d->port);
    dbl_say(x, text);
}

static inline void dbl_loop(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n");
}

static inline void dbl_headers(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
    for (int i = 0; i < 400; i++)
        dbl_say(x, "X-A: b\r\n");
    dbl_say(x, "\r\n");
}

static inline void dbl_nonsense(struct exchange *x)
{
    dbl_say(x, "SSH-2.0-OpenSSH_9.2\r\n");
    x->close = true;
}

/* Answers the first request of a connection, closes it over the second. */
static inline void dbl_once(struct exchange *x)
{
    if (x->served > 0)
        x->close = true;
    else
        dbl_hello(x);
}

static inline void dbl_barrier(struct exchange *x)
{
    atomic_fetch_sub(&x->d->barrier, 1);
    for (int i = 0; i < 60000 && atomic_load(&x->d->barrier) > 0; i++)
        dbl_pause_ms(1);
    dbl_say(x, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10; i++) {
        dbl_say(x, "6\r\ndata: \r\n");
        dbl_pause_ms(1);
    }
    dbl_say(x, "0\r\n\r\n");
}

static const struct {
    const char *path;
    void (*serve)(struct exchange *x);
} ROUTES[] = {
    {"/hello", dbl_hello},
    {"/chunked", dbl_chunked},
    {"/bytes", dbl_bytes},
    {"/cut", dbl_cut},
    {"/cut-chunk", dbl_cut_chunk},
    {"/empty", dbl_empty},
    {"/silent", dbl_silent},
    {"/stall", dbl_stall},
    {"/drip", dbl_drip},
    {"/large", dbl_large},
    {"/endless", dbl_endless},
    {"/error", dbl_error},
    {"/echo", dbl_echo},
    {"/redirect", dbl_redirect},
    {"/keep-method", dbl_keep_method},
    {"/elsewhere", dbl_elsewhere},
    {"/loop", dbl_loop},
    {"/headers", dbl_headers},
    {"/nonsense", dbl_nonsense},
    {"/once", dbl_once},
    {"/barrier", dbl_barrier},
};

/* Reads until the buffer holds `n` bytes, or the end of the head when n is 0. */
static inline bool dbl_fill(struct exchange *x, size_t n)
{
    char block[16384];
    for (;;) {
        ptrdiff_t end = str_find(buf_str(&x->in), STR("\r\n\r\n"), 0);
        if (n == 0 && end >= 0) {
            x->head_len = (size_t)end + 4;
            return true;
        }
        if (n > 0 && x->in.n >= n)
            return true;
        ssize_t got = recv(x->fd, block, sizeof(block), 0);
        if (got <= 0)
            return false;
        buf_add(&x->in, block, (size_t)got);
    }
}

static inline bool dbl_read_request(struct exchange *x)
{
    buf_clear(&x->in);
    if (!dbl_fill(x, 0))
        return false;
    str head = str_slice(buf_str(&x->in), 0, x->head_len);
    ptrdiff_t at = str_find_nocase(head, STR("\r\ncontent-length: "));
    if (at < 0)
        return true;
    size_t body = strtoul(head.p + at + 18, NULL, 10);
    return body == 0 || dbl_fill(x, x->head_len + body);
}

static inline void dbl_serve(struct exchange *x)
{
    if (x->d->serve) {
        x->d->serve(x);
        return;
    }
    str line = buf_str(&x->in), method, path;
    str_split(&line, ' ', &method);
    str_split(&line, ' ', &path);
    str query = path;
    str_split(&query, '?', &path);
    for (size_t i = 0; i < ARRAY_LEN(ROUTES); i++) {
        if (str_eq(path, str_from(ROUTES[i].path))) {
            ROUTES[i].serve(x);
            return;
        }
    }
    dbl_say(x, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
}

struct dbl_conn {
    struct http_double *d;
    int fd, index;
};

static inline void *dbl_connection(void *arg)
{
    struct dbl_conn c = *(struct dbl_conn *)arg;
    free(arg);
    struct exchange x = {.d = c.d, .fd = c.fd};
    buf_init(&x.in, 8u << 20);
    while (!x.close && dbl_read_request(&x)) {
        atomic_fetch_add(&c.d->requests, 1);
        dbl_serve(&x);
        x.served++;
    }
    buf_done(&x.in);
    pthread_mutex_lock(&c.d->lock);
    c.d->fds[c.index] = -1;
    pthread_mutex_unlock(&c.d->lock);
    close(c.fd);
    return NULL;
}

static inline void *dbl_accept(void *arg)
{
    struct http_double *d = arg;
    int fd;
    while ((fd = accept4(d->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        pthread_mutex_lock(&d->lock);
        if (d->nconns == DOUBLE_CONNS_MAX)
            abort();
        struct dbl_conn *c = xcalloc(1, sizeof(*c));
        *c = (struct dbl_conn){d, fd, d->nconns};
        d->fds[d->nconns] = fd;
        atomic_fetch_add(&d->connections, 1); /* before it answers, so that a test counts it */
        pthread_create(&d->threads[d->nconns++], NULL, dbl_connection, c);
        pthread_mutex_unlock(&d->lock);
    }
    return NULL;
}

static inline void dbl_listen(struct http_double *d, const struct sockaddr *sa, socklen_t len)
{
    pthread_mutex_init(&d->lock, NULL);
    d->listen_fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(d->listen_fd, sa, len) < 0 || listen(d->listen_fd, 256) < 0)
        abort();
    pthread_create(&d->thread, NULL, dbl_accept, d);
}

static inline struct http_double *http_double_new(void)
{
    struct http_double *d = xcalloc(1, sizeof(*d));
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    dbl_listen(d, (struct sockaddr *)&in, sizeof(in));
    socklen_t len = sizeof(in);
    getsockname(d->listen_fd, (struct sockaddr *)&in, &len);
    d->port = ntohs(in.sin_port);
    return d;
}

static inline struct http_double *http_double_unix(const char *path)
{
    struct http_double *d = xcalloc(1, sizeof(*d));
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    memcpy(un.sun_path, path, strlen(path) + 1);
    dbl_listen(d, (struct sockaddr *)&un, sizeof(un));
    return d;
}

static inline void http_double_free(struct http_double *d)
{
    shutdown(d->listen_fd, SHUT_RDWR);
    pthread_join(d->thread, NULL);
    close(d->listen_fd);
    pthread_mutex_lock(&d->lock);
    for (int i = 0; i < d->nconns; i++) {
        if (d->fds[i] >= 0)
            shutdown(d->fds[i], SHUT_RDWR);
    }
    pthread_mutex_unlock(&d->lock);
    for (int i = 0; i < d->nconns; i++)
        pthread_join(d->threads[i], NULL);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
