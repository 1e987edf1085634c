/* chat_client.h - clients that send one message after another on kept-alive connections, all of
 * them on one thread, and how long each waited for its answer. */
#pragma once

#include <poll.h>

#include "nb_server.h"

enum { CLIENTS_MAX = 64, ANSWER_MAX = 64 * 1024, TIMEOUT_MS = 10000 };

struct client {
    const char *key;
    int fd;
    char conversation[80];
    char answer[ANSWER_MAX];
    size_t n;
    uint64_t began_us;
    int left;
};

static void say(struct client *c, const char *message)
{
    char body[256], request[640];
    int n = c->conversation[0]
                ? snprintf(body, sizeof(body), "{\"message\":\"%s\",\"conversationId\":\"%s\"}",
                           message, c->conversation)
                : snprintf(body, sizeof(body), "{\"message\":\"%s\"}", message);
    n = snprintf(request, sizeof(request),
                 "POST /v1/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 "Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
                 c->key, n, body);
    c->n = 0;
    c->began_us = clock_mono_us();
    if (send(c->fd, request, (size_t)n, MSG_NOSIGNAL) != n)
        die("send");
}

/* Reads what has come; true when the answer is whole. */
static bool listen_on(struct client *c)
{
    ssize_t r = recv(c->fd, c->answer + c->n, ANSWER_MAX - 1 - c->n, 0);
    if (r <= 0)
        die("recv");
    c->n += (size_t)r;
    c->answer[c->n] = 0;
    const char *body = strstr(c->answer, "\r\n\r\n");
    const char *length = strcasestr(c->answer, "\r\nContent-Length:");
    if (!body || !length || c->n < (size_t)(body - c->answer) + 4 + strtoul(length + 17, NULL, 10))
        return false;
    if (strncmp(c->answer, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "bench: %s\n", c->answer);
        exit(1);
    }
    return true;
}

static void begin_conversation(struct client *c)
{
    say(c, "hi");
    while (!listen_on(c))
        ;
    const char *id = strstr(c->answer, "\"conversationId\":\"");
    if (!id || sscanf(id + 18, "%79[^\"]", c->conversation) != 1)
        die("no conversation");
}

/* Every client sends `message` as often as `turns` says; waits has room for all. */
static void drive(struct client *c, int clients, const char *message, uint64_t *waits, int turns)
{
    struct pollfd fds[CLIENTS_MAX];
    int done = 0;
    for (int i = 0; i < clients; i++) {
        fds[i] = (struct pollfd){.fd = c[i].fd, .events = POLLIN};
        c[i].left = turns;
        say(&c[i], message);
    }
    while (done < clients * turns) {
        if (poll(fds, (nfds_t)clients, TIMEOUT_MS) <= 0)
            die("no answer");
        for (int i = 0; i < clients; i++) {
            if (!fds[i].revents || !listen_on(&c[i]))
                continue;
            waits[done++] = clock_mono_us() - c[i].began_us;
            if (--c[i].left > 0)
                say(&c[i], message);
        }
    }
}
