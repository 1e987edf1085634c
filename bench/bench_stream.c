/* bench_stream.c - how long a streamed delta takes from the model's write to a watcher's read.
 *
 * The model is an HTTP server in this process (model_double.h); every delta is the time of its
 * write, so that the reader of the watchers, a thread of this process too, knows its age. CPU is
 * the server's own, of all threads. A delta that nb sends together with others counts as one of its
 * own. */
#include "figure.h"
#include "model_double.h"

enum { WATCHERS_MAX = 2000, FRAMES_MAX = 256 * 1024, TIMEOUT_MS = 60000 };

struct reader {
    int fd;
    char *text;
    size_t n;
    bool has_ended;
};

struct tally {
    uint64_t *us;
    size_t n, cap, frames;
};

static void note(struct tally *t, uint64_t us)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 4096;
        t->us = realloc(t->us, t->cap * sizeof(*t->us));
        if (!t->us)
            die("memory");
    }
    t->us[t->n++] = us;
}

/* The deltas of one event: the numbers after "text". */
static void take_event(struct reader *r, const char *event, struct tally *t)
{
    if (strstr(event, "event: run.done") || strstr(event, "event: done"))
        r->has_ended = true;
    const char *at = strstr(event, "event: text.delta") ? strstr(event, "\"text\":\"") : NULL;
    if (!at)
        return;
    uint64_t now = clock_mono_us();
    char *end;
    for (at += 8; *at == ' '; at = end)
        note(t, now - strtoull(at, &end, 10));
    t->frames++;
}

static void take_bytes(struct reader *r, struct tally *t)
{
    ssize_t got = recv(r->fd, r->text + r->n, FRAMES_MAX - 1 - r->n, 0);
    if (got <= 0)
        die("the stream ended");
    r->n += (size_t)got;
    r->text[r->n] = 0;
    char *from = r->text, *end;
    while ((end = strstr(from, "\n\n")) != NULL) {
        *end = 0;
        take_event(r, from, t);
        from = end + 2;
    }
    r->n -= (size_t)(from - r->text);
    memmove(r->text, from, r->n + 1);
}

static void read_all(struct reader *r, size_t n, struct tally *t)
{
    struct pollfd fds[WATCHERS_MAX + 1];
    size_t left = n;
    for (size_t i = 0; i < n; i++)
        fds[i] = (struct pollfd){.fd = r[i].fd, .events = POLLIN};
    while (left > 0) {
        if (poll(fds, (nfds_t)n, TIMEOUT_MS) <= 0)
            die("no answer");
        for (size_t i = 0; i < n; i++) {
            if (!fds[i].revents || r[i].has_ended)
                continue;
            take_bytes(&r[i], t);
            if (!r[i].has_ended)
                continue;
            fds[i].fd = -1;
            left--;
        }
    }
}

static void ask(struct reader *r, const struct server *s, const char *line, const char *body)
{
    char request[1024];
    int n = snprintf(request, sizeof(request),
                     "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Authorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s",
                     line, s->key, strlen(body), body);
    *r = (struct reader){.fd = dial(s->port), .text = malloc(FRAMES_MAX)};
    if (!r->text || send(r->fd, request, (size_t)n, MSG_NOSIGNAL) != n)
        die("send");
}

static void reader_done(struct reader *r)
{
    close(r->fd);
    free(r->text);
}

/* x: streams or watchers. */
static void print(const char *what, size_t x, const char *chart, struct tally *t, double cpu,
                  size_t deltas, const char *floor)
{
    qsort(t->us, t->n, sizeof(*t->us), by_value);
    double p50 = (double)t->us[t->n / 2] / 1e3, p99 = (double)t->us[t->n * 99 / 100] / 1e3;
    char name[80];
    printf("  %-34s p50 %7.2f ms  p99 %7.2f ms  %6.1f ms of CPU per 1,000  %5.0f frames   %s\n",
           what, p50, p99, cpu / (double)deltas, 1000.0 * (double)t->frames / (double)t->n, floor);
    (void)snprintf(name, sizeof(name), "delay of a delta, %s, p50", chart);
    figure(name, (double)x, p50, "ms");
    (void)snprintf(name, sizeof(name), "delay of a delta, %s, p99", chart);
    figure(name, (double)x, p99, "ms");
    (void)snprintf(name, sizeof(name), "CPU per 1,000 deltas, %s", chart);
    figure(name, (double)x, cpu / (double)deltas, "ms");
    free(t->us);
}

/* Every stream is a new conversation that its sender watches. */
static void measure_streams(const struct server *s, size_t streams, const char *how, size_t deltas,
                            const char *what, const char *chart, const char *floor)
{
    struct reader r[64];
    struct tally t = {0};
    char body[128];
    (void)snprintf(body, sizeof(body), "{\"message\":\"%s\"}", how);
    double cpu = cpu_us(s);
    for (size_t i = 0; i < streams; i++)
        ask(&r[i], s, "POST /v1/chat/stream", body);
    read_all(r, streams, &t);
    cpu = cpu_us(s) - cpu;
    for (size_t i = 0; i < streams; i++)
        reader_done(&r[i]);
    if (t.n != streams * deltas)
        die("deltas are missing");
    print(what, streams, chart, &t, cpu, streams * deltas, floor);
}

static void begin_conversation(const struct server *s, char id[80])
{
    struct reader r;
    ask(&r, s, "POST /v1/chat", "{\"message\":\"hi\"}");
    const char *at = NULL;
    while (!at) {
        ssize_t got = recv(r.fd, r.text + r.n, FRAMES_MAX - 1 - r.n, 0);
        if (got <= 0)
            die("no conversation");
        r.n += (size_t)got;
        r.text[r.n] = 0;
        at = strstr(r.text, "\"conversationId\":\"");
    }
    if (sscanf(at + 18, "%79[^\"]", id) != 1)
        die("no conversation");
    reader_done(&r);
}

/* One conversation, watched by many. */
static void measure_watchers(const struct server *s, size_t watchers, const char *floor)
{
    struct reader *r = xcalloc(watchers + 1, sizeof(*r));
    struct tally t = {0};
    char id[80], line[160], body[192], what[64];
    begin_conversation(s, id);
    (void)snprintf(line, sizeof(line), "GET /v1/conversations/%s/events", id);
    for (size_t i = 1; i <= watchers; i++)
        ask(&r[i], s, line, "");
    usleep(500000); /* all have read the log */
    (void)snprintf(body, sizeof(body),
                   "{\"message\":\"stream:200:5000:1\",\"conversationId\":\"%s\"}", id);
    double cpu = cpu_us(s);
    ask(&r[0], s, "POST /v1/chat/stream", body);
    for (size_t i = 1; i <= watchers; i++)
        r[i].has_ended = false;
    read_all(r, watchers + 1, &t);
    cpu = cpu_us(s) - cpu;
    for (size_t i = 0; i <= watchers; i++)
        reader_done(&r[i]);
    free(r);
    (void)snprintf(what, sizeof(what), "watchers: %zu, paced 5 ms", watchers);
    print(what, watchers, "watchers", &t, cpu, 200, floor);
}

int main(void)
{
    struct server s;
    struct model_double *m = model_new();
    start_server_with(&s, m, "");
    printf("streamed text: from the model's write to the watcher's read\n");
    measure_streams(&s, 1, "stream:400:5000:1", 400, "1 stream, paced 5 ms", "streams",
                    "(floor 0.5 / 1.5 ms)");
    measure_streams(&s, 16, "stream:200:5000:1", 200, "16 streams, paced 5 ms", "streams", "");
    measure_streams(&s, 64, "stream:200:5000:1", 200, "64 streams, paced 5 ms", "streams",
                    "(floor 45 ms of CPU)");
    measure_streams(&s, 16, "stream:5000:1000:100", 5000, "16 streams, 100 in a packet",
                    "100 in a packet", "(floor 4 ms of CPU)");
    measure_watchers(&s, 1, "");
    measure_watchers(&s, 200, "(floor p99 5 ms)");
    measure_watchers(&s, WATCHERS_MAX, "");
    printf("  RSS after these streams            %.1f MB\n", rss_mb(&s));
    stop_server(&s);
    model_free(m);
    return 0;
}
