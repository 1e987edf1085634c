/* pg_proxy.h - a socket between nb and PostgreSQL that can lose an answer.
 *
 * After pg_proxy_lose_answer, the next connection that sends something has its request delivered,
 * but the answer of the server is thrown away and the connection is closed: the client cannot know
 * what happened to its transaction. Each connection is a thread. */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/unit.h"

struct pg_proxy {
    char dir[64], server[108];
    int listener;
    pthread_t thread;
    atomic_int lose;  /* connections whose next answer is lost */
    atomic_int lost;  /* answers that were */
    atomic_int pairs; /* connections that are open */
};

struct pg_proxy_pair {
    struct pg_proxy *proxy;
    int client, server;
};

static inline int pg_proxy_socket(const char *path, bool is_listener)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    (void)snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    int r = is_listener ? bind(fd, (struct sockaddr *)&addr, sizeof addr)
                        : connect(fd, (struct sockaddr *)&addr, sizeof addr);
    if (r == 0 && is_listener)
        r = listen(fd, 16);
    if (r < 0)
        close(fd);
    return r < 0 ? -1 : fd;
}

/* False: an end. */
static inline bool pg_proxy_move(int from, int to)
{
    char bytes[16384];
    ssize_t n = read(from, bytes, sizeof bytes), done = 0;
    while (n > 0 && done < n) {
        ssize_t w = to < 0 ? n : write(to, bytes + done, (size_t)(n - done));
        if (w <= 0)
            return false;
        done += w;
    }
    return n > 0;
}

static inline void *pg_proxy_pump(void *ctx)
{
    struct pg_proxy_pair *p = ctx;
    bool is_losing = false, goes_on = true;
    while (goes_on) {
        struct pollfd fds[] = {{.fd = p->client, .events = POLLIN},
                               {.fd = p->server, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0)
            break;
        if (fds[0].revents) {
            int n = atomic_load(&p->proxy->lose);
            if (!is_losing && n > 0 && atomic_compare_exchange_strong(&p->proxy->lose, &n, n - 1))
                is_losing = true;
            goes_on = pg_proxy_move(p->client, p->server);
        }
        if (goes_on && fds[1].revents) {
            goes_on = pg_proxy_move(p->server, is_losing ? -1 : p->client) && !is_losing;
            atomic_fetch_add(&p->proxy->lost, is_losing);
        }
    }
    close(p->client);
    close(p->server);
    atomic_fetch_sub(&p->proxy->pairs, 1);
    free(p);
    return NULL;
}

static inline void *pg_proxy_accept(void *ctx)
{
    struct pg_proxy *proxy = ctx;
    int client;
    while ((client = accept(proxy->listener, NULL, NULL)) >= 0) {
        struct pg_proxy_pair *p = calloc(1, sizeof *p);
        pthread_t thread;
        *p = (struct pg_proxy_pair){proxy, client, pg_proxy_socket(proxy->server, false)};
        if (p->server < 0) {
            close(client);
            free(p);
            continue;
        }
        atomic_fetch_add(&proxy->pairs, 1);
        assert_int_equal(pthread_create(&thread, NULL, pg_proxy_pump, p), 0);
        pthread_detach(thread);
    }
    return NULL;
}

/* home: the directory of the server's socket. ret_url: the address through the proxy. */
static inline void pg_proxy_start(struct pg_proxy *p, const char *home, char *ret_url, size_t size)
{
    char path[108];
    *p = (struct pg_proxy){.dir = "/tmp/nb-pg-proxy-XXXXXX"};
    assert_non_null(mkdtemp(p->dir));
    (void)snprintf(p->server, sizeof p->server, "%s/.s.PGSQL.5432", home);
    (void)snprintf(path, sizeof path, "%s/.s.PGSQL.5432", p->dir);
    p->listener = pg_proxy_socket(path, true);
    assert_true(p->listener >= 0);
    assert_int_equal(pthread_create(&p->thread, NULL, pg_proxy_accept, p), 0);
    (void)snprintf(ret_url, size, "postgresql://nb@/postgres?host=%s", p->dir);
}

static inline void pg_proxy_lose_answer(struct pg_proxy *p)
{
    atomic_store(&p->lose, 1);
}

static inline void pg_proxy_stop(struct pg_proxy *p)
{
    char path[108];
    (void)shutdown(p->listener, SHUT_RDWR);
    pthread_join(p->thread, NULL);
    close(p->listener);
    while (atomic_load(&p->pairs) > 0)
        (void)usleep(1000);
    (void)snprintf(path, sizeof path, "%s/.s.PGSQL.5432", p->dir);
    (void)unlink(path);
    (void)rmdir(p->dir);
}
