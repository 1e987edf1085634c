/* The namespace and the process beside it, tried by children that enter and connect. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle/network/network_proxy.h"
#include "bundle/network/network_space.h"
#include "support/unit.h"

static struct arena arena;

struct listener {
    int fd;
    uint16_t port;
};

static struct listener listen_here(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(sa);
    struct listener l = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(l.fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(listen(l.fd, 8), 0);
    assert_int_equal(getsockname(l.fd, (struct sockaddr *)&sa, &len), 0);
    l.port = ntohs(sa.sin_port);
    return l;
}

static struct network_rules rules_of(str dest)
{
    struct json_strs list = {&dest, 1};
    struct network_rules r;
    struct err e = {0};
    assert_int_equal(network_rules_make(&arena, &list, &r, &e), 0);
    return r;
}

/* Errno of a connection from inside that sends "x" and reads a byte, or the byte. */
static int try_inside(const struct network_rules *r, const char *host, uint16_t port)
{
    struct err e = {0};
    struct network_ip ip;
    struct sockaddr_storage sa;
    char c = 'x';
    alarm(60);
    int gates = network_proxy_start(&arena, r);
    if (gates < 0 || network_space_enter(r, gates, &e) < 0) {
        fprintf(stderr, "%s\n", e.msg);
        return 255;
    }
    close(gates);
    (void)network_ip_parse(str_from(host), &ip);
    socklen_t len = network_ip_to(&ip, port, &sa);
    int fd = socket(sa.ss_family, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&sa, len) < 0 || send(fd, &c, 1, MSG_NOSIGNAL) < 0 ||
        recv(fd, &c, 1, 0) < 0)
        return errno;
    return c;
}

static int ask_inside(const struct network_rules *r, const char *host, uint16_t port)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(try_inside(r, host, port)); /* the proxy ends with its parent */
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Answers one connection with the byte that it sent, in a process of its own. */
static pid_t echo(int fd)
{
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        alarm(60);
        int peer = accept(fd, NULL, NULL);
        _exit(recv(peer, &c, 1, 0) == 1 && send(peer, &c, 1, MSG_NOSIGNAL) == 1 ? 0 : 1);
    }
    return pid;
}

TEST(a_declared_destination_is_reached_and_nothing_beside_it)
{
    struct listener open = listen_here(), closed = listen_here();
    struct network_rules r = rules_of(arena_printf(&arena, "127.0.0.1:%d", open.port));
    pid_t pid = echo(open.fd);
    int code = ask_inside(&r, "127.0.0.1", open.port);
    if (code == 255) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        print_message("namespaces are not allowed here\n");
        skip();
    }
    assert_int_equal(code, 'x');
    int status;
    assert_true(waitpid(pid, &status, 0) == pid && status == 0);
    assert_int_equal(ask_inside(&r, "127.0.0.1", closed.port), ECONNREFUSED);
    assert_int_equal(ask_inside(&r, "8.8.8.8", 443), ENETUNREACH);
    close(open.fd);
    close(closed.fd);
}

TEST(with_public_the_rest_is_unreachable)
{
    struct listener l = listen_here();
    struct network_rules r = rules_of(STR("public"));
    static const char *const CLOSED[] = {"10.0.0.1",   "192.168.1.1",     "172.16.0.1",
                                         "100.64.0.1", "169.254.169.254", "192.0.2.1",
                                         "198.18.0.1"};
    if (ask_inside(&r, "127.0.0.1", l.port) == 255)
        skip();
    assert_int_equal(ask_inside(&r, "127.0.0.1", l.port), ECONNREFUSED);
    for (size_t i = 0; i < ARRAY_LEN(CLOSED); i++) {
        int code = ask_inside(&r, CLOSED[i], 80);
        if (code != EHOSTUNREACH && code != ENETUNREACH)
            fail_msg("%s: %s", CLOSED[i], strerror(code));
    }
    assert_int_equal(ask_inside(&r, "fd00::1", 80), ENETUNREACH);
    assert_int_equal(ask_inside(&r, "127.0.0.1", 443), ECONNRESET); /* a gate, and refused */
    close(l.fd);
}

TEST(addresses_stand_for_names)
{
    struct network_ip ip;
    for (size_t i = 0; i < NETWORK_DESTS_MAX; i++) {
        network_dest_address(i, &ip);
        assert_int_equal(network_dest_of(&ip), (int)i);
    }
    assert_int_equal(network_dest_of(&(struct network_ip){.at = {198, 18, 0, 0}}), -1);
    assert_int_equal(network_dest_of(&(struct network_ip){.at = {198, 18, 0, 255}}), -1);
    assert_int_equal(network_dest_of(&(struct network_ip){.at = {198, 19, 0, 1}}), -1);
}

static int begin(void **state)
{
    arena_init(&arena);
    return 0;
}

static int end(void **state)
{
    arena_done(&arena);
    return 0;
}

TESTS_SHARE(begin, end)
