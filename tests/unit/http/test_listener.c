#include <sys/stat.h>
#include <sys/wait.h>

#include "rig.h"

#define HELLO "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"

static int connect_unix(const char *path)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval limit = {5, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    memcpy(to.sun_path, path, strlen(path));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    close(fd);
    return -errno;
}

static void make_dir(char *dir)
{
    assert_non_null(mkdtemp(dir));
}

static uint32_t seen_uid;
static bool seen_local;
static char seen_addr[48];

static void on_request(void *ctx, struct http_req *r)
{
    (void)ctx;
    seen_uid = r->peer_uid;
    seen_local = r->is_local_socket;
    memcpy(seen_addr, r->peer_addr, sizeof(seen_addr));
    http_reply(r, 200, "text/plain", STR("ok"));
}

static const struct http_handlers HANDLERS = {NULL, on_request, NULL, NULL};

static void quiet_rig(struct rig *rig)
{
    rig_make(rig, NULL, &HANDLERS);
}

TEST(unix_socket)
{
    char dir[] = "/tmp/nb-http-XXXXXX", path[64];
    struct rig rig;
    struct err e;
    struct stat st;
    make_dir(dir);
    (void)snprintf(path, sizeof(path), "%s/nb.sock", dir);
    quiet_rig(&rig);
    mode_t old = umask(0);
    assert_int_equal(http_listen_unix(rig.server, path, &e), 0);
    umask(old);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    rig_run(&rig);
    int fd = connect_unix(path);
    assert_true(fd >= 0);
    SEND(fd, HELLO);
    expect_reply(fd, 200, "ok");
    SEND(fd, HELLO);
    expect_reply(fd, 200, "ok");
    close(fd);
    rig_stop(&rig);
    assert_true(seen_local);
    assert_int_equal(seen_uid, getuid());
    assert_string_equal(seen_addr, "");
    assert_int_equal(stat(path, &st), -1); /* unlinked */
    assert_int_equal(rmdir(dir), 0);
}

TEST(unix_socket_in_use)
{
    char dir[] = "/tmp/nb-http-XXXXXX", path[64];
    struct rig a, b;
    struct err e;
    make_dir(dir);
    (void)snprintf(path, sizeof(path), "%s/nb.sock", dir);
    quiet_rig(&a);
    quiet_rig(&b);
    assert_int_equal(http_listen_unix(a.server, path, &e), 0);
    assert_int_equal(http_listen_unix(b.server, path, &e), -EADDRINUSE);
    assert_non_null(strstr(e.msg, path));
    rig_run(&a);
    rig_run(&b);
    rig_stop(&b);
    int fd = connect_unix(path); /* b has not taken a's socket away */
    assert_true(fd >= 0);
    close(fd);
    rig_stop(&a);
    rmdir(dir);
}

TEST(unix_socket_stale)
{
    char dir[] = "/tmp/nb-http-XXXXXX", path[64];
    struct rig rig;
    struct err e;
    make_dir(dir);
    (void)snprintf(path, sizeof(path), "%s/nb.sock", dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    close(fd); /* leaves the file behind, as a killed server does */
    quiet_rig(&rig);
    assert_int_equal(http_listen_unix(rig.server, path, &e), 0);
    rig_run(&rig);
    fd = connect_unix(path);
    assert_true(fd >= 0);
    close(fd);
    /* Somebody else's socket at our path is not ours to remove. */
    assert_int_equal(unlink(path), 0);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    rig_stop(&rig);
    assert_int_equal(unlink(path), 0);
    close(fd);
    rmdir(dir);
}

/* As a child does that its server forked right before it was killed. */
TEST(unix_socket_held_by_a_child)
{
    char dir[] = "/tmp/nb-http-XXXXXX", path[64];
    struct rig rig;
    struct err e;
    make_dir(dir);
    (void)snprintf(path, sizeof(path), "%s/nb.sock", dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct pollfd tried = {.fd = fd, .events = POLLIN};
        _exit(poll(&tried, 1, RIG_TIMEOUT_MS) == 1 ? 0 : 1); /* the listener tries again */
    }
    close(fd);
    quiet_rig(&rig);
    assert_int_equal(http_listen_unix(rig.server, path, &e), 0);
    rig_run(&rig);
    rig_stop(&rig);
    assert_int_equal(waitpid(child, NULL, 0), child);
    rmdir(dir);
}

TEST(unix_socket_refused)
{
    char dir[] = "/tmp/nb-http-XXXXXX", path[256];
    struct rig rig;
    struct err e;
    make_dir(dir);
    (void)snprintf(path, sizeof(path), "%s/file", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    quiet_rig(&rig);
    assert_int_equal(http_listen_unix(rig.server, path, &e), -EEXIST);
    assert_non_null(strstr(e.msg, "not a socket"));
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/no/such/dir", dir);
    assert_int_equal(http_listen_unix(rig.server, path, &e), -ENOENT);
    memset(path, 'x', 150);
    path[150] = '\0';
    assert_int_equal(http_listen_unix(rig.server, path, &e), -ENAMETOOLONG);
    rig_run(&rig);
    rig_stop(&rig);
    rmdir(dir);
}

/* ---- TCP ---- */

TEST(port_in_use)
{
    struct rig a, b;
    struct err e;
    quiet_rig(&a);
    quiet_rig(&b);
    assert_int_equal(http_listen_tcp(a.server, "127.0.0.1", 0, &a.port, &e), 0);
    assert_int_equal(http_listen_tcp(b.server, "127.0.0.1", a.port, NULL, &e), -EADDRINUSE);
    assert_non_null(strstr(e.msg, "in use"));
    rig_run(&a);
    rig_run(&b);
    rig_stop(&a);
    rig_stop(&b);
}

TEST(bad_addresses)
{
    struct rig rig;
    struct err e;
    quiet_rig(&rig);
    assert_int_equal(http_listen_tcp(rig.server, "192.0.2.1", 0, NULL, &e), -EADDRNOTAVAIL);
    assert_non_null(strstr(e.msg, "192.0.2.1 is not an address of this machine"));
    assert_int_equal(http_listen_tcp(rig.server, "no such host", 0, NULL, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "no such host"));
    for (unsigned i = 0; i < HTTP_LISTENERS_MAX; i++)
        assert_int_equal(http_listen_tcp(rig.server, "127.0.0.1", 0, NULL, &e), 0);
    assert_int_equal(http_listen_tcp(rig.server, "127.0.0.1", 0, NULL, &e), -EMFILE);
    rig_run(&rig);
    rig_stop(&rig);
}

static int connect_to(int family, const char *host, uint16_t port)
{
    struct sockaddr_storage to = {.ss_family = (sa_family_t)family};
    struct sockaddr_in *four = (struct sockaddr_in *)&to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&to;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {5, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    four->sin_port = htons(port); /* the same place in both */
    inet_pton(family, host, family == AF_INET ? (void *)&four->sin_addr : &six->sin6_addr);
    if (connect(fd, (struct sockaddr *)&to, family == AF_INET ? sizeof(*four) : sizeof(*six)) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool has_ipv6(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

/* host to listen on, family and address to come from, what the handler must see */
static void check_address(const char *host, int family, const char *from, const char *seen)
{
    struct rig rig;
    struct err e;
    quiet_rig(&rig);
    assert_int_equal(http_listen_tcp(rig.server, host, 0, &rig.port, &e), 0);
    assert_int_not_equal(rig.port, 0);
    rig_run(&rig);
    int fd = connect_to(family, from, rig.port);
    assert_true(fd >= 0);
    SEND(fd, HELLO);
    expect_reply(fd, 200, "ok");
    close(fd);
    rig_stop(&rig);
    assert_string_equal(seen_addr, seen);
    assert_false(seen_local);
}

TEST(addresses)
{
    check_address("127.0.0.1", AF_INET, "127.0.0.1", "127.0.0.1");
    check_address("localhost", AF_INET, "127.0.0.1", "127.0.0.1");
    check_address("0.0.0.0", AF_INET, "127.0.0.1", "127.0.0.1");
    if (!has_ipv6())
        skip();
    check_address("::1", AF_INET6, "::1", "::1");
    check_address("[::1]", AF_INET6, "::1", "::1");
    check_address("::", AF_INET6, "::1", "::1");
    check_address("::", AF_INET, "127.0.0.1", "127.0.0.1"); /* not ::ffff:127.0.0.1 */
}

/* Small answers must not wait for the next acknowledgement. */
static int nodelay = -1;

static void on_request_look(void *ctx, struct http_req *r)
{
    (void)ctx;
    uv_os_fd_t fd;
    socklen_t n = sizeof(nodelay);
    uv_fileno(&r->conn->uv.handle, &fd);
    getsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &nodelay, &n);
    http_reply(r, 204, NULL, STR_NONE);
}

TEST(nodelay_is_inherited)
{
    struct rig rig;
    struct http_handlers h = {.on_request = on_request_look};
    rig_make(&rig, NULL, &h);
    rig_listen(&rig);
    rig_run(&rig);
    int fd = rig_connect(&rig);
    SEND(fd, HELLO);
    expect_status(fd, 204);
    close(fd);
    rig_stop(&rig);
    assert_int_equal(nodelay, 1);
}
