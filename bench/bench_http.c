/* bench_http.c - what a small request, an idle stream and a broadcast cost the server.
 *
 * The client is a second process, so that the server's own CPU time and memory can be read
 * from the kernel. The client leads: between its phases it asks for /mark, and the server
 * notes its CPU time and RSS. Every request is a complete one (10 headers, as a browser
 * sends them) on one of 64 kept-alive connections. Request times are the median of
 * several rounds. The floors beside the figures are the project's own. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "http/server.h"
#include "http/sse.h"

enum {
    CONNS = 64,
    WARM_UP = 20000,
    ROUNDS = 5,
    REQUESTS = 60000, /* in each round */
    STREAMS_FEW = 2000,
    STREAMS_MANY = 10000,
    BROADCASTS = 20,
    MARKS_MAX = 16,
};

static const char SMALL[] =
    "GET /hello HTTP/1.1\r\nHost: 127.0.0.1:27247\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101\r\n"
    "Accept: application/json\r\nAccept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br\r\nConnection: keep-alive\r\n"
    "Referer: http://127.0.0.1:27247/c/conv_0123456789abcdef\r\n"
    "Cookie: nb_session=0123456789abcdef0123456789abcdef0123456789abcdef\r\n"
    "Sec-Fetch-Mode: cors\r\nSec-Fetch-Site: same-origin\r\n\r\n";
static const char SUBSCRIBE[] = "GET /events HTTP/1.1\r\nHost: 127.0.0.1:27247\r\n"
                                "Accept: text/event-stream\r\n\r\n";

/* ---- the server ---- */

struct mark {
    double cpu_us;
    double rss_kb;
};

struct app {
    struct loop *loop;
    struct http_server *server;
    struct sse **streams;
    size_t nstreams;
    struct mark marks[MARKS_MAX];
    size_t nmarks;
    struct sse_frame *frame;
};

static struct mark mark_now(void)
{
    struct rusage u;
    long pages = 0;
    getrusage(RUSAGE_SELF, &u);
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    double seconds = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec);
    return (struct mark){.cpu_us =
                             seconds * 1e6 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
                         .rss_kb = (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024};
}

static void on_stream_closed(void *ctx)
{
    (void)ctx;
}

static void broadcast(struct app *a)
{
    for (size_t i = 0; i < a->nstreams; i++)
        (void)sse_send(a->streams[i], a->frame);
}

static void on_stopped(void *ctx)
{
    loop_stop(((struct app *)ctx)->loop);
}

static void on_request(void *ctx, struct http_req *r)
{
    struct app *a = ctx;
    if (str_eq(r->path, STR("/hello"))) {
        http_reply(r, 200, "application/json", STR("{\"hello\":true}"));
        return;
    }
    if (str_eq(r->path, STR("/events"))) {
        a->streams[a->nstreams++] = sse_open(r, on_stream_closed, NULL);
        return;
    }
    if (str_eq(r->path, STR("/broadcast")))
        broadcast(a);
    if (str_eq(r->path, STR("/mark")) && a->nmarks < MARKS_MAX)
        a->marks[a->nmarks++] = mark_now();
    bool is_over = str_eq(r->path, STR("/stop"));
    http_reply(r, 204, NULL, STR_NONE);
    if (is_over)
        http_server_stop(a->server, 0, on_stopped, a);
}

/* ---- the client ---- */

static void die(const char *what)
{
    perror(what);
    _exit(1);
}

static int dial(uint16_t port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        die("connect");
    return fd;
}

static void send_all(int fd, const char *text)
{
    size_t n = strlen(text);
    if (send(fd, text, n, MSG_NOSIGNAL) != (ssize_t)n)
        die("send");
}

static void recv_some(int fd)
{
    char answer[4096];
    if (recv(fd, answer, sizeof(answer), 0) <= 0)
        die("recv");
}

static void ask(int fd, const char *path)
{
    char request[128];
    (void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
    send_all(fd, request);
    recv_some(fd);
}

static void load(uint16_t port, unsigned requests)
{
    struct pollfd fds[CONNS];
    unsigned sent = CONNS, answered = 0;
    for (int i = 0; i < CONNS; i++) {
        fds[i] = (struct pollfd){.fd = dial(port), .events = POLLIN};
        send_all(fds[i].fd, SMALL);
    }
    while (answered < requests) {
        if (poll(fds, CONNS, 5000) <= 0)
            die("poll");
        for (int i = 0; i < CONNS; i++) {
            if (!fds[i].revents)
                continue;
            recv_some(fds[i].fd);
            answered++;
            if (sent < requests) {
                sent++;
                send_all(fds[i].fd, SMALL);
            }
        }
    }
    for (int i = 0; i < CONNS; i++)
        close(fds[i].fd);
}

static void subscribe(uint16_t port, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int fd = dial(port);
        send_all(fd, SUBSCRIBE);
        recv_some(fd);
    }
}

static void client(uint16_t port)
{
    int control = dial(port);
    load(port, WARM_UP);
    ask(control, "/mark");
    for (int i = 0; i < ROUNDS; i++) {
        load(port, REQUESTS);
        ask(control, "/mark");
    }
    subscribe(port, STREAMS_FEW);
    ask(control, "/mark");
    for (int i = 0; i < BROADCASTS; i++)
        ask(control, "/broadcast");
    ask(control, "/mark");
    subscribe(port, STREAMS_MANY - STREAMS_FEW);
    ask(control, "/mark");
    send_all(control, "GET /stop HTTP/1.1\r\nHost: a\r\n\r\n");
    recv_some(control);
}

/* ---- both ---- */

static void raise_fd_limit(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
        l.rlim_cur = l.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &l);
    }
}

static void print_figure(const char *what, double value, const char *unit, double floor)
{
    printf("%-44s %9.2f %-4s", what, value, unit);
    figure(what, 0, value, unit);
    if (floor > 0)
        printf("  (floor %g: %s)", floor, value <= floor ? "held" : "MISSED");
    printf("\n");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_round_us(const struct mark *m)
{
    double took[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        took[i] = m[i + 1].cpu_us - m[i].cpu_us;
    qsort(took, ROUNDS, sizeof(*took), by_value);
    return took[ROUNDS / 2] / REQUESTS;
}

static void report(const struct app *a)
{
    const struct mark *before = &a->marks[ROUNDS], *few = before + 1, *sent = few + 1,
                      *many = sent + 1;
    print_figure("small request, 64 connections, CPU", median_round_us(a->marks), "us", 12);
    print_figure("idle stream, RSS, 2,000 streams", (few->rss_kb - before->rss_kb) / STREAMS_FEW,
                 "kB", 2);
    print_figure("idle stream, RSS, 10,000 streams", (many->rss_kb - before->rss_kb) / STREAMS_MANY,
                 "kB", 2);
    print_figure("server with 10,000 streams, RSS", many->rss_kb / 1024, "MB", 40);
    print_figure("broadcast of 200 bytes to 2,000 streams, CPU",
                 (sent->cpu_us - few->cpu_us) / BROADCASTS / 1000, "ms", 0);
}

int main(void)
{
    struct app a = {.loop = loop_new(NULL)};
    struct http_handlers h = {.on_request = on_request, .ctx = &a};
    struct err e;
    uint16_t port;
    raise_fd_limit();
    a.streams = xcalloc(STREAMS_MANY, sizeof(struct sse *));
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.conns_per_address = limits.conns;
    limits.conns_reserved = 0;
    a.server = http_server_new(a.loop, &limits, &h);
    a.frame = sse_frame_new(STR("text.delta"), STR_NONE,
                            STR("{\"conversationId\":\"conv_0123456789abcdef\",\"runId\":"
                                "\"run_0123456789abcdef\",\"text\":\"a few words of a streamed "
                                "answer, as they come from the model, up to here\"}"));
    if (http_listen_tcp(a.server, "127.0.0.1", 0, &port, &e) < 0) {
        fprintf(stderr, "%s\n", e.msg);
        return 1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        client(port);
        _exit(0);
    }
    loop_run(a.loop);
    int status;
    (void)waitpid(pid, &status, 0);
    report(&a);
    sse_frame_unref(a.frame);
    http_server_free(a.server);
    loop_free(a.loop);
    free(a.streams);
    return status;
}
