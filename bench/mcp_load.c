/* mcp_load.c - tools/call over HTTP as fast as the server answers.
 *
 *   mcp_load HOST PORT PATH TOOL legacy|modern CONNECTIONS SECONDS
 *
 * One request at a time on each connection. Prints JSON: requests, seconds, p50, p99 and max in
 * microseconds, errors (answers without a result, lost connections), stalled (connections that
 * still wait at the end, for longer than a second). Streams are read too. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define CONNS_MAX  1024
#define BUF_MAX    (64u * 1024)
#define SLOT_US    5
#define SLOTS      200000 /* one second */
#define WARM_UP_US 500000
#define STALL_US   1000000      /* an answer that takes longer by the end counts as lost */
#define FIRST_ID   "1000000000" /* ten digits, so that the length stays */

struct conn {
    int fd;
    size_t have;
    uint64_t sent_us;
    char buf[BUF_MAX];
};

static struct conn conns[CONNS_MAX];
static uint32_t histogram[SLOTS + 1];
static uint64_t done, errors;
static char request[4096];
static size_t request_n, id_at; /* where in it the id stands */
static uint64_t next_id;

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static int dial(const char *host, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    inet_pton(AF_INET, host, &a.sin_addr);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) < 0) {
        perror("connect");
        exit(1);
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w <= 0) {
            perror("write");
            exit(1);
        }
        p += w;
        n -= (size_t)w;
    }
}

/* Length of the whole answer, or 0 while it is not complete. */
static size_t answer_length(const char *buf, size_t have)
{
    const char *end = memmem(buf, have, "\r\n\r\n", 4);
    if (!end)
        return 0;
    size_t head = (size_t)(end - buf) + 4;
    const char *length = strcasestr(buf, "content-length:");
    if (length && length < end) {
        size_t total = head + (size_t)strtoull(length + 15, NULL, 10);
        return have >= total ? total : 0;
    }
    const char *last = memmem(end, have - (head - 4), "\r\n0\r\n\r\n", 7); /* chunked */
    return last ? (size_t)(last - buf) + 7 : 0;
}

static size_t exchange(int fd, const char *text, size_t n, char *buf)
{
    size_t have = 0;
    send_all(fd, text, n);
    for (;;) {
        ssize_t r = read(fd, buf + have, BUF_MAX - 1 - have);
        if (r <= 0)
            return 0;
        have += (size_t)r;
        buf[have] = 0;
        if (answer_length(buf, have) > 0)
            return have;
    }
}

static size_t http_text(char *out, size_t max, const char *path, const char *headers,
                        const char *body)
{
    const char *key = getenv("MCP_AUTHORIZATION"); /* "Bearer ...", or nothing */
    bool has_key = key && *key;
    return (size_t)snprintf(
        out, max,
        "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n%s%s%s%sContent-Length: %zu\r\n"
        "\r\n%s",
        path, has_key ? "Authorization: " : "", has_key ? key : "", has_key ? "\r\n" : "", headers,
        strlen(body), body);
}

/* The handshake; the session then serves all connections. */
static void open_session(const char *host, int port, const char *path, char *headers, size_t max)
{
    static char buf[BUF_MAX];
    char text[2048], id[256] = "";
    int fd = dial(host, port);
    size_t n = http_text(text, sizeof text, path, "",
                         "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                         "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
                         "\"name\":\"load\",\"version\":\"1\"}}}");
    exchange(fd, text, n, buf);
    const char *at = strcasestr(buf, "mcp-session-id:");
    if (at)
        sscanf(at + 15, " %255s", id);
    snprintf(headers, max, "%s%s%sMCP-Protocol-Version: 2025-11-25\r\n",
             id[0] ? "Mcp-Session-Id: " : "", id, id[0] ? "\r\n" : "");
    n = http_text(text, sizeof text, path, headers,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    send_all(fd, text, n);
    usleep(100000);
    close(fd);
}

static void prepare(const char *host, int port, const char *path, const char *tool, bool is_modern)
{
    char headers[512], body[1024];
    if (is_modern) {
        snprintf(headers, sizeof headers,
                 "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n",
                 tool);
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":" FIRST_ID
                 ",\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
                 "\"arguments\":{\"text\":\"hello\"},\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                 tool);
    } else {
        open_session(host, port, path, headers, sizeof headers);
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":" FIRST_ID
                 ",\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
                 "\"arguments\":{\"text\":\"hello\"}}}",
                 tool);
    }
    request_n = http_text(request, sizeof request, path, headers, body);
    id_at = (size_t)(strstr(request, FIRST_ID) - request);
    next_id = strtoull(FIRST_ID, NULL, 10);
}

static void fire(struct conn *c)
{
    char id[16];
    /* Ids are unique within a session: servers may tell answers apart by them. */
    snprintf(id, sizeof id, "%llu", (unsigned long long)next_id++);
    memcpy(request + id_at, id, strlen(FIRST_ID));
    c->have = 0;
    c->sent_us = now_us();
    send_all(c->fd, request, request_n);
}

static bool on_input(struct conn *c, bool is_counted)
{
    ssize_t r = read(c->fd, c->buf + c->have, BUF_MAX - 1 - c->have);
    if (r <= 0)
        return false;
    c->have += (size_t)r;
    c->buf[c->have] = 0;
    if (answer_length(c->buf, c->have) == 0)
        return true;
    uint64_t took = now_us() - c->sent_us;
    if (is_counted) {
        done++;
        histogram[took / SLOT_US < SLOTS ? took / SLOT_US : SLOTS]++;
        errors += strstr(c->buf, "\"result\"") == NULL;
    }
    fire(c);
    return true;
}

static uint64_t percentile(double p)
{
    uint64_t seen = 0, wanted = (uint64_t)((double)done * p);
    for (size_t i = 0; i <= SLOTS; i++) {
        seen += histogram[i];
        if (seen > wanted)
            return i * SLOT_US;
    }
    return (uint64_t)SLOTS * SLOT_US;
}

int main(int argc, char **argv)
{
    if (argc != 8) {
        fprintf(stderr, "usage: mcp_load HOST PORT PATH TOOL legacy|modern CONNECTIONS SECONDS\n");
        return 2;
    }
    int port = (int)strtol(argv[2], NULL, 10), n = (int)strtol(argv[6], NULL, 10);
    uint64_t run_us = strtoull(argv[7], NULL, 10) * 1000000u;
    if (n < 1 || n > CONNS_MAX)
        return 2;
    prepare(argv[1], port, argv[3], argv[4], strcmp(argv[5], "modern") == 0);
    int ep = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < n; i++) {
        conns[i].fd = dial(argv[1], port);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &conns[i]};
        epoll_ctl(ep, EPOLL_CTL_ADD, conns[i].fd, &e);
        fire(&conns[i]);
    }
    uint64_t began = now_us() + WARM_UP_US, now = now_us();
    while (now < began + run_us) {
        struct epoll_event ready[256];
        int k = epoll_wait(ep, ready, 256, 1000);
        for (int i = 0; i < k; i++) {
            if (!on_input(ready[i].data.ptr, now >= began)) {
                errors++;
                epoll_ctl(ep, EPOLL_CTL_DEL, ((struct conn *)ready[i].data.ptr)->fd, NULL);
            }
        }
        now = now_us();
    }
    uint64_t stalled = 0;
    for (int i = 0; i < n; i++)
        stalled += now_us() - conns[i].sent_us > STALL_US;
    printf("{\"sent\":%llu,\"requests\":%llu,\"seconds\":%.3f,\"perSecond\":%.0f,\"p50\":%llu,"
           "\"p99\":%llu,"
           "\"errors\":%llu,\"stalled\":%llu}\n",
           (unsigned long long)(next_id - strtoull(FIRST_ID, NULL, 10)), /* warm-up included */
           (unsigned long long)done, (double)run_us / 1e6, (double)done / ((double)run_us / 1e6),
           (unsigned long long)percentile(0.5), (unsigned long long)percentile(0.99),
           (unsigned long long)errors, (unsigned long long)stalled);
    return 0;
}
