/* script_server.h - a server that plays a script: the n-th request gets the n-th answer.
 *
 * Answers are raw HTTP, so that tests can write every wrong thing. One thread, one
 * connection at a time; what was asked is kept for the test, which reads it after
 * script_server_free's join or under the lock (script_request). */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

enum { SCRIPT_MAX = 32 };

enum script_end {
    SCRIPT_CLOSE, /* the answer, then the connection ends */
    SCRIPT_HANG,  /* the answer, then silence until the peer closes */
    SCRIPT_PING,  /* the answer, then nothing but pings and comments until the peer closes */
};

struct script_step {
    const char *answer;
    enum script_end end;
    bool bytewise; /* every byte in its own packet */
};

struct script_server {
    int listen_fd, port;
    pthread_t thread;
    pthread_mutex_t lock;
    const struct script_step *steps;
    size_t nsteps, played;
    char *requests[SCRIPT_MAX]; /* head and body */
    bool saw_close;             /* the peer closed while an answer hung */
};

static inline bool script_read_request(int fd, struct buf *in)
{
    char block[16384];
    size_t want = 0;
    for (;;) {
        ptrdiff_t end = str_find(buf_str(in), STR("\r\n\r\n"), 0);
        if (end >= 0 && want == 0) {
            ptrdiff_t at = str_find_nocase(buf_str(in), STR("\r\ncontent-length: "));
            want = (size_t)end + 4 + (at < 0 ? 0 : strtoul(in->p + at + 18, NULL, 10));
        }
        if (want > 0 && in->n >= want)
            return true;
        ssize_t got = recv(fd, block, sizeof block, 0);
        if (got <= 0)
            return false;
        buf_add(in, block, (size_t)got);
    }
}

static inline void script_send(int fd, const struct script_step *s)
{
    size_t n = strlen(s->answer), step = s->bytewise ? 1 : n;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (size_t at = 0; at < n; at += step) {
        if (send(fd, s->answer + at, step, MSG_NOSIGNAL) <= 0)
            return;
        if (s->bytewise)
            usleep(20);
    }
}

static inline void script_ping(int fd)
{
    static const char PING[] = "event: ping\ndata: {\"type\":\"ping\"}\n\n: still here\n\n"
                               "data: {\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n";
    while (send(fd, PING, sizeof PING - 1, MSG_NOSIGNAL) > 0)
        usleep(20000);
}

static inline void script_serve(struct script_server *s, int fd)
{
    struct buf in;
    char c;
    buf_init(&in, 8u << 20);
    if (script_read_request(fd, &in)) {
        pthread_mutex_lock(&s->lock);
        const struct script_step *step = s->played < s->nsteps ? &s->steps[s->played] : NULL;
        if (s->played < SCRIPT_MAX)
            s->requests[s->played] = str_dup(buf_str(&in));
        s->played++;
        pthread_mutex_unlock(&s->lock);
        if (step)
            script_send(fd, step);
        if (step && step->end == SCRIPT_PING)
            script_ping(fd);
        if (step && step->end == SCRIPT_HANG) {
            while (recv(fd, &c, 1, 0) > 0)
                ;
            pthread_mutex_lock(&s->lock);
            s->saw_close = true;
            pthread_mutex_unlock(&s->lock);
        }
    }
    buf_done(&in);
    close(fd);
}

static inline void *script_run(void *arg)
{
    struct script_server *s = arg;
    int fd;
    while ((fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        script_serve(s, fd);
    return NULL;
}

static inline struct script_server *script_server_new(const struct script_step *steps, size_t n)
{
    struct script_server *s = xcalloc(1, sizeof *s);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof in;
    s->steps = steps;
    s->nsteps = n;
    pthread_mutex_init(&s->lock, NULL);
    s->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(s->listen_fd, (struct sockaddr *)&in, len) < 0 || listen(s->listen_fd, 16) < 0)
        abort();
    getsockname(s->listen_fd, (struct sockaddr *)&in, &len);
    s->port = ntohs(in.sin_port);
    pthread_create(&s->thread, NULL, script_run, s);
    return s;
}

static inline size_t script_played(struct script_server *s)
{
    pthread_mutex_lock(&s->lock);
    size_t n = s->played;
    pthread_mutex_unlock(&s->lock);
    return n;
}

static inline bool script_saw_close(struct script_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool saw = s->saw_close;
    pthread_mutex_unlock(&s->lock);
    return saw;
}

/* The n-th request as it came; owned by the server. */
static inline str script_request(struct script_server *s, size_t i)
{
    pthread_mutex_lock(&s->lock);
    str r = i < SCRIPT_MAX ? str_from(s->requests[i]) : STR_NONE;
    pthread_mutex_unlock(&s->lock);
    return r;
}

static inline void script_server_free(struct script_server *s)
{
    shutdown(s->listen_fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listen_fd);
    for (size_t i = 0; i < SCRIPT_MAX; i++)
        free(s->requests[i]);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
