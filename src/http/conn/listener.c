#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/conn/conn.h"

enum {
    BACKLOG = 1024,
    DEAD_PEER_MS = 120000, /* unacknowledged bytes: the peer is gone or never reads */
};

/* ---- accepting ---- */

static void on_connection(uv_stream_t *stream, int status)
{
    if (status == 0)
        conn_accept(stream->data);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;
    struct http_server *s = l->server;
    free(l->path);
    free(l);
    s->nlisteners--;
    server_check_stopped(s);
}

static void listener_close(struct listener *l)
{
    struct stat st;
    if (l->path && stat(l->path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
        (void)unlink(l->path);
    list_del(&l->node);
    uv_close(&l->uv.handle, on_listener_closed);
}

void listeners_close(struct http_server *s)
{
    LIST_FOREACH (it, &s->listeners)
        listener_close(LIST_ENTRY(it, struct listener, node));
}

/* Takes ownership of the bound socket, also when it fails. */
static int listener_start(struct http_server *s, int fd, const char *path, struct listener **ret)
{
    struct listener *l = xcalloc(1, sizeof(*l));
    uv_loop_t *uv = loop_uv(s->loop);
    l->server = s;
    l->path = path ? str_dup(str_from(path)) : NULL;
    int rc = path ? uv_pipe_init(uv, &l->uv.pipe, 0) : uv_tcp_init(uv, &l->uv.tcp);
    assert(rc == 0);
    l->uv.handle.data = l;
    list_push(&s->listeners, &l->node);
    s->nlisteners++;

    struct stat st;
    if (path && stat(path, &st) == 0) {
        l->dev = st.st_dev;
        l->ino = st.st_ino;
    }
    rc = path ? uv_pipe_open(&l->uv.pipe, fd) : uv_tcp_open(&l->uv.tcp, fd);
    if (rc < 0)
        close(fd);
    else
        rc = uv_listen(&l->uv.stream, BACKLOG, on_connection);
    if (rc < 0)
        listener_close(l);
    else
        *ret = l;
    return rc;
}

static int check_room(const struct http_server *s, struct err *e)
{
    if (s->is_stopping)
        return err_set(e, -ECANCELED, "the server is stopping");
    if (s->nlisteners >= HTTP_LISTENERS_MAX)
        return err_set(e, -EMFILE, "more than %u listening addresses", HTTP_LISTENERS_MAX);
    return 0;
}

/* ---- TCP ---- */

/* Options that accepted sockets inherit save a system call each per connection. */
static void set_tcp_options(int fd, const struct sockaddr *addr)
{
    int on = 1, off = 0, dead_ms = DEAD_PEER_MS;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
    if (addr->sa_family != AF_INET6)
        return;
    /* "::" listens on all IPv4 and IPv6 addresses; any other address on itself only. */
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)addr;
    int *only = IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) ? &off : &on;
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, only, sizeof(*only));
}

static void set_port(struct sockaddr *addr, uint16_t port)
{
    if (addr->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage addr = {0};
    socklen_t n = sizeof(addr);
    if (getsockname(fd, (struct sockaddr *)&addr, &n) < 0)
        return 0;
    return addr.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&addr)->sin6_port)
                                      : ntohs(((struct sockaddr_in *)&addr)->sin_port);
}

/* Listens on one address; a port of 0 is replaced by the one the kernel chose. */
static int listen_on(struct http_server *s, const struct addrinfo *ai, uint16_t *port,
                     struct listener **ret)
{
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    set_port(ai->ai_addr, *port);
    set_tcp_options(fd, ai->ai_addr);
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    uint16_t chosen = bound_port(fd);
    int rc = listener_start(s, fd, NULL, ret);
    if (rc == 0)
        *port = chosen;
    return rc;
}

static int explain_listen(struct err *e, int rc, const char *host, uint16_t port)
{
    if (rc == -EADDRINUSE)
        return err_set(e, rc, "port %u on %s is in use by another program", port, host);
    if (rc == -EACCES)
        return err_set(e, rc, "port %u on %s needs more privileges; use a port from 1024 on", port,
                       host);
    if (rc == -EADDRNOTAVAIL)
        return err_set(e, rc, "%s is not an address of this machine", host);
    return err_set(e, rc, "cannot listen on %s port %u: %s", host, port, err_reason(rc));
}

/* A name may have addresses of a family that this machine does not speak ("localhost" and
 * ::1): those are skipped as long as one address works. */
static int listen_all(struct http_server *s, const struct addrinfo *list, uint16_t *port)
{
    struct listener *opened[HTTP_LISTENERS_MAX];
    size_t n = 0;
    int rc = -EADDRNOTAVAIL;
    for (const struct addrinfo *ai = list; ai && s->nlisteners < HTTP_LISTENERS_MAX;
         ai = ai->ai_next) {
        int one = listen_on(s, ai, port, &opened[n]);
        if (one == 0)
            n++;
        else if (one != -EADDRNOTAVAIL && one != -EAFNOSUPPORT)
            rc = one;
        if (one == -EADDRINUSE)
            break;
    }
    if (n > 0 && rc != -EADDRINUSE)
        return 0;
    while (n > 0)
        listener_close(opened[--n]);
    return rc;
}

int http_listen_tcp(struct http_server *s, const char *host, uint16_t port, uint16_t *ret_port,
                    struct err *e)
{
    int rc = check_room(s, e);
    if (rc < 0)
        return rc;
    char name[256];
    str h = str_from(host);
    if (h.n > 2 && h.p[0] == '[' && h.p[h.n - 1] == ']')
        h = str_slice(h, 1, h.n - 1);
    (void)snprintf(name, sizeof(name), "%.*s", STR_ARG(h));

    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
    int gai = getaddrinfo(name, NULL, &hints, &list);
    if (gai != 0)
        return err_set(e, -EINVAL, "cannot resolve the address \"%s\" to listen on: %s", name,
                       gai_strerror(gai));
    rc = listen_all(s, list, &port);
    freeaddrinfo(list);
    if (rc < 0)
        return explain_listen(e, rc, host, port);
    if (ret_port)
        *ret_port = port;
    return 0;
}

int http_listen_socket(struct http_server *s, int fd, uint16_t *ret_port, struct err *e)
{
    struct sockaddr_storage addr = {0};
    socklen_t n = sizeof(addr);
    struct listener *l;
    int rc = check_room(s, e);
    if (rc == 0 && getsockname(fd, (struct sockaddr *)&addr, &n) < 0)
        rc = err_set(e, -errno, "descriptor %d is not a socket", fd);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    set_tcp_options(fd, (const struct sockaddr *)&addr);
    *ret_port = bound_port(fd);
    rc = listener_start(s, fd, NULL, &l);
    return rc < 0 ? explain_listen(e, rc, "a passed socket", *ret_port) : 0;
}

/* ---- Unix sockets ---- */

enum { STALE_TRIES = 40, STALE_TRY_MS = 50 };

/* 0 when any process accepts the connection. */
static int knock(const struct sockaddr_un *addr)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int rc = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 ? -errno : 0;
    close(fd);
    return rc;
}

/* Whether a process listens at the address. -EADDRINUSE, or 0 when it is free or stale. A child
 * that a killed server had forked keeps its socket open until it has executed its program: hence
 * several tries. */
static int check_stale(const struct sockaddr_un *addr, struct err *e)
{
    const struct timespec pause = {.tv_nsec = STALE_TRY_MS * 1000000L};
    struct stat st;
    if (lstat(addr->sun_path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, -EEXIST, "%s exists and is not a socket; remove it or use another path",
                       addr->sun_path);
    int rc = knock(addr);
    for (int i = 1; i < STALE_TRIES && rc != -ECONNREFUSED && rc != -ENOENT; i++) {
        (void)nanosleep(&pause, NULL);
        rc = knock(addr);
    }
    if (rc != -ECONNREFUSED && rc != -ENOENT)
        return err_set(e, -EADDRINUSE, "another server is listening on %s", addr->sun_path);
    (void)unlink(addr->sun_path);
    return 0;
}

/* Linux takes the mode of the new file from the unbound socket: other users can never connect,
 * not even for a moment, and the umask of all threads stays unchanged. */
static int bind_private(const struct sockaddr_un *addr)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (fchmod(fd, 0600) < 0 || bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

int http_listen_unix(struct http_server *s, const char *path, struct err *e)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    int rc = check_room(s, e);
    if (rc < 0)
        return rc;
    if (n == 0 || n >= sizeof(addr.sun_path))
        return err_set(e, -ENAMETOOLONG, "the socket path %s is longer than %zu characters", path,
                       sizeof(addr.sun_path) - 1);
    memcpy(addr.sun_path, path, n);
    rc = check_stale(&addr, e);
    if (rc < 0)
        return rc;
    int fd = bind_private(&addr);
    if (fd < 0)
        return err_errno(e, fd, "cannot listen on", path);
    struct listener *l;
    rc = listener_start(s, fd, path, &l);
    return rc < 0 ? err_errno(e, rc, "cannot listen on", path) : 0;
}
