/* model_double.h - a model over HTTP, on a thread of this process, in Anthropic's format.
 *
 * The newest message says how it answers: "stream:N:GAP_US:EACH" sends N deltas, EACH of them in
 * one packet, GAP_US between two packets; every delta is the time of its write (clock_mono_us) as
 * text. "@calls:N:NAME" asks for N calls of that tool, and answers with text when their results
 * come. Without these words the answer is one packet with one delta. Connections are kept alive. */
#pragma once

#include <poll.h>
#include <pthread.h>

#include "nb_server.h"

enum { MODEL_CONNS = 512, MODEL_REQUEST_MAX = 1 << 20, MODEL_PACKET_MAX = 256 * 1024 };

#define MODEL_MESSAGE                                                                              \
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\","       \
    "\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[],"  \
    "\"stop_reason\":null,\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n"
#define MODEL_HEAD                                                                                 \
    MODEL_MESSAGE                                                                                  \
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"             \
    "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
#define MODEL_DELTA                                                                                \
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"             \
    "\"delta\":{\"type\":\"text_delta\",\"text\":\" %lu\"}}\n\n"
#define MODEL_CALL                                                                                 \
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%u,"            \
    "\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_%u\",\"name\":\"%s\",\"input\":{}}}"  \
    "\n\n"                                                                                         \
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{" \
    "\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"text\\\":\\\"number %u\\\"}\"}}\n\n"    \
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%u}\n\n"
#define MODEL_CALLS_TAIL                                                                           \
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"          \
    "\"tool_use\"},\"usage\":{\"output_tokens\":9}}\n\n"                                           \
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
#define MODEL_TAIL                                                                                 \
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"           \
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"          \
    "\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n"                                           \
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

static const char MODEL_OK[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";

struct model_conn {
    char *request;
    size_t n;
    unsigned left, each; /* deltas of the answer under way */
    uint64_t gap_us, due_us;
    bool is_answering;
};

struct model_double {
    pthread_t thread;
    uint16_t port;
    int quit[2];
    struct pollfd fds[MODEL_CONNS + 2]; /* the listener, the pipe, connections */
    struct model_conn conns[MODEL_CONNS + 2];
    nfds_t nfds;
    unsigned calls; /* asked for so far */
    char packet[MODEL_PACKET_MAX];
};

static void model_send(const struct model_double *m, int fd, const char *body, size_t n)
{
    static _Thread_local char chunk[MODEL_PACKET_MAX + 32];
    int head = snprintf(chunk, sizeof(chunk), "%zx\r\n", n);
    (void)m;
    memcpy(chunk + head, body, n);
    memcpy(chunk + (size_t)head + n, "\r\n", 2);
    (void)send(fd, chunk, (size_t)head + n + 2, MSG_NOSIGNAL);
}

/* The next packet of an answer, and its end after the last one. */
static void model_continue(struct model_double *m, int fd, struct model_conn *c)
{
    size_t n = 0;
    for (unsigned i = 0; i < c->each && c->left > 0; i++, c->left--)
        n += (size_t)snprintf(m->packet + n, sizeof(m->packet) - n, MODEL_DELTA, clock_mono_us());
    if (c->left == 0)
        n += (size_t)snprintf(m->packet + n, sizeof(m->packet) - n, "%s", MODEL_TAIL);
    model_send(m, fd, m->packet, n);
    c->due_us += c->gap_us;
    if (c->left > 0)
        return;
    (void)send(fd, "0\r\n\r\n", 5, MSG_NOSIGNAL);
    c->is_answering = false;
}

static const char *last_of(const char *text, const char *word)
{
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        last = at;
    return last;
}

/* True: the request was one for calls, and these are asked for. */
static bool model_calls(struct model_double *m, int fd, struct model_conn *c)
{
    const char *how = last_of(c->request, "@calls:");
    unsigned count;
    char name[64];
    if (!how || sscanf(how, "@calls:%u:%63[A-Za-z0-9_-]", &count, name) != 2)
        return false;
    if (strstr(how, "\"is_error\":true"))
        die("model: a tool failed");
    if (strstr(how, "\"tool_result\""))
        return false;
    size_t n = (size_t)snprintf(m->packet, sizeof(m->packet), "%s", MODEL_MESSAGE);
    for (unsigned i = 0; i < count; i++, m->calls++)
        n += (size_t)snprintf(m->packet + n, sizeof(m->packet) - n, MODEL_CALL, i, m->calls, name,
                              i, m->calls, i);
    n += (size_t)snprintf(m->packet + n, sizeof(m->packet) - n, "%s", MODEL_CALLS_TAIL);
    (void)send(fd, MODEL_OK, sizeof(MODEL_OK) - 1, MSG_NOSIGNAL | MSG_MORE);
    model_send(m, fd, m->packet, n);
    (void)send(fd, "0\r\n\r\n", 5, MSG_NOSIGNAL);
    c->n = 0;
    return true;
}

static void model_answer(struct model_double *m, int fd, struct model_conn *c)
{
    if (model_calls(m, fd, c))
        return;
    const char *how = last_of(c->request, "stream:");
    c->left = c->each = 1;
    c->gap_us = 0;
    if (how)
        (void)sscanf(how, "stream:%u:%lu:%u", &c->left, &c->gap_us, &c->each);
    c->n = 0;
    c->is_answering = true;
    c->due_us = clock_mono_us() + c->gap_us;
    (void)send(fd, MODEL_OK, sizeof(MODEL_OK) - 1, MSG_NOSIGNAL | MSG_MORE);
    model_send(m, fd, MODEL_HEAD, sizeof(MODEL_HEAD) - 1);
    if (c->gap_us == 0)
        model_continue(m, fd, c);
}

/* False: the connection is gone. */
static bool model_read(struct model_double *m, int fd, struct model_conn *c)
{
    ssize_t r = recv(fd, c->request + c->n, MODEL_REQUEST_MAX - 1 - c->n, 0);
    if (r <= 0)
        return false;
    c->n += (size_t)r;
    c->request[c->n] = 0;
    const char *body = strstr(c->request, "\r\n\r\n");
    const char *length = strcasestr(c->request, "\r\nContent-Length:");
    if (body && length && c->n >= (size_t)(body - c->request) + 4 + strtoul(length + 17, NULL, 10))
        model_answer(m, fd, c);
    return true;
}

static void model_accept(struct model_double *m)
{
    int on = 1, fd = accept4(m->fds[0].fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || m->nfds == MODEL_CONNS + 2)
        die("model: too many connections");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    m->conns[m->nfds] = (struct model_conn){.request = malloc(MODEL_REQUEST_MAX)};
    m->fds[m->nfds++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void model_drop(struct model_double *m, nfds_t i)
{
    close(m->fds[i].fd);
    free(m->conns[i].request);
    m->nfds--;
    m->fds[i] = m->fds[m->nfds];
    m->conns[i] = m->conns[m->nfds];
}

/* Sends what is due; returns the time until the next packet is. */
static uint64_t model_tick(struct model_double *m)
{
    uint64_t now = clock_mono_us(), next = now + 1000000;
    for (nfds_t i = 2; i < m->nfds; i++) {
        struct model_conn *c = &m->conns[i];
        while (c->is_answering && c->due_us <= now)
            model_continue(m, m->fds[i].fd, c);
        if (c->is_answering && c->due_us < next)
            next = c->due_us;
    }
    return next - now;
}

static void *model_serve(void *arg)
{
    struct model_double *m = arg;
    for (;;) {
        uint64_t us = model_tick(m);
        struct timespec wait = {.tv_nsec = (long)(us < 999999 ? us : 999999) * 1000};
        if (ppoll(m->fds, m->nfds, &wait, NULL) < 0)
            die("model: poll");
        if (m->fds[1].revents)
            return NULL;
        for (nfds_t i = m->nfds; i-- > 2;)
            if (m->fds[i].revents && !model_read(m, m->fds[i].fd, &m->conns[i]))
                model_drop(m, i);
        if (m->fds[0].revents)
            model_accept(m);
    }
}

static struct model_double *model_new(void)
{
    struct model_double *m = xcalloc(1, sizeof(*m));
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) < 0 || listen(fd, 512) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) < 0 || pipe2(m->quit, O_CLOEXEC) < 0)
        die("model");
    m->port = ntohs(at.sin_port);
    m->fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
    m->fds[1] = (struct pollfd){.fd = m->quit[0], .events = POLLIN};
    m->nfds = 2;
    if (pthread_create(&m->thread, NULL, model_serve, m) != 0)
        die("model: thread");
    return m;
}

static void model_free(struct model_double *m)
{
    close(m->quit[1]);
    (void)pthread_join(m->thread, NULL);
    while (m->nfds > 2)
        model_drop(m, 2);
    close(m->fds[0].fd);
    close(m->quit[0]);
    free(m);
}

/* A server whose model is the double. more: further members of its settings, or "". */
static void start_server_with(struct server *s, const struct model_double *m, const char *more)
{
    char settings[1024];
    (void)snprintf(settings, sizeof(settings),
                   "{\"defaultModel\":\"anthropic:claude-sonnet-4-5\","
                   "\"models\":{\"fast\":\"demo:demo\"},\"logging\":{\"level\":\"warn\"},"
                   "\"http\":{\"streamsPerPerson\":4096,\"connectionsPerPerson\":4096,"
                   "\"connectionsPerAddress\":4096},\"providers\":{\"anthropic\":{"
                   "\"baseURL\":\"http://127.0.0.1:%u\",\"apiKey\":\"k\"}}%s}",
                   m->port, more);
    start_server(s, settings);
}
