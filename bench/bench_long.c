/* bench_long.c - what a turn costs as its conversation becomes longer, for a chart of growth.
 *
 * Logs of 10 to 100,000 messages, as turns with text leave them behind, are put into the work
 * directory of the release binary (NB_RELEASE), which asks a model over HTTP that answers
 * immediately (model_double.h). For each:
 *
 *   first   the turn that meets the log for the first time: it reads it, and may shorten it
 *   warm    further turns
 *   cold    the first turn after a start of the server, which has answered in another conversation
 *           before; with the memory that the server holds afterwards and did not before
 *   page    the newest page of its messages, as the page opens it, after a start
 *
 * Times are medians; CPU is the server's own, of all threads, in the same turns. */
#include "figure.h"
#include "model_double.h"

enum { WARM_TURNS = 51, STARTS = 5, ANSWER_MAX = 16 * 1024 * 1024 };

static const unsigned MESSAGES[] = {10, 100, 1000, 10000, 100000};

static char answer[ANSWER_MAX];

static void get_path(const struct server *s, const char *id, char path[400])
{
    (void)snprintf(path, 400, "%s/conversations/%s.jsonl", s->dir, id);
}

static void write_log(const struct server *s, const char *id, unsigned messages)
{
    char path[400];
    get_path(s, id, path);
    FILE *f = fopen(path, "we");
    if (!f)
        die(path);
    fprintf(f, "{\"id\":\"%s\",\"createdAt\":\"2026-01-01T00:00:00.000Z\",\"title\":\"%s\"}\n", id,
            id);
    for (unsigned i = 0; i < messages / 2; i++) {
        const char *ts = "\"ts\":\"2026-01-01T00:00:00.000Z\"";
        fprintf(f,
                "{%s,\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"What is "
                "the state of order %06u, and when will it leave?\"}]}\n"
                "{%s,\"type\":\"run.start\",\"runId\":\"run_%016x\",\"model\":"
                "\"anthropic:claude-sonnet-4-5\"}\n",
                ts, i, ts, i);
        fprintf(f,
                "{%s,\"type\":\"llm.response\",\"runId\":\"run_%016x\",\"model\":"
                "\"anthropic:claude-sonnet-4-5\",\"content\":[{\"type\":\"text\",\"text\":\"Order "
                "%06u is packed and waits for the van, which comes at four in the "
                "afternoon.\"}],\"inputTokens\":900,\"outputTokens\":30,\"llmMs\":700,"
                "\"finishReason\":\"stop\"}\n"
                "{%s,\"type\":\"run.done\",\"runId\":\"run_%016x\",\"stopReason\":\"complete\","
                "\"iterations\":1,\"totalMs\":710}\n",
                ts, i, i, ts, i);
    }
    if (fclose(f) != 0)
        die(path);
}

/* Sends a request and waits for the whole answer; microseconds. */
static uint64_t ask(const struct server *s, int fd, const char *method, const char *target,
                    const char *body)
{
    char request[1024];
    size_t got = 0;
    int n = snprintf(request, sizeof(request),
                     "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Authorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s",
                     method, target, s->key, strlen(body), body);
    uint64_t began = clock_mono_us();
    if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n)
        die("send");
    for (;;) {
        ssize_t r = recv(fd, answer + got, ANSWER_MAX - 1 - got, 0);
        if (r <= 0)
            die("recv");
        got += (size_t)r;
        answer[got] = 0;
        const char *head = strstr(answer, "\r\n\r\n");
        const char *length = head ? strcasestr(answer, "\r\nContent-Length:") : NULL;
        if (length && got >= (size_t)(head - answer) + 4 + strtoul(length + 17, NULL, 10))
            break;
    }
    uint64_t took = clock_mono_us() - began;
    if (strncmp(answer, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "bench_long: %s\n", answer);
        exit(1);
    }
    return took;
}

struct cost {
    uint64_t us, cpu_us;
};

static struct cost turn(const struct server *s, int fd, const char *id)
{
    char body[256];
    (void)snprintf(body, sizeof(body), "{\"message\":\"echo x\",\"conversationId\":\"%s\"}", id);
    double cpu = cpu_us(s);
    uint64_t us = ask(s, fd, "POST", "/v1/chat", body);
    return (struct cost){us, (uint64_t)(cpu_us(s) - cpu)};
}

static double median_ms(uint64_t *times, size_t n)
{
    qsort(times, n, sizeof(*times), by_value);
    return (double)times[n / 2] / 1e3;
}

/* Until the index has been brought up to date, as it is in a server that has run for a while. */
static void list(const struct server *s, int fd)
{
    (void)ask(s, fd, "GET", "/v1/conversations?limit=1", "");
}

/* The first calls of a server: its connections, prompts and index are not part of any figure. */
static void warm_up(const struct server *s, int fd)
{
    for (int i = 0; i < 5; i++)
        (void)turn(s, fd, "conv_other");
    list(s, fd);
    usleep(500000); /* the index goes on in the background */
}

static int restart(struct server *s, int fd)
{
    list(s, fd);
    close(fd);
    quit_server(s);
    launch(s);
    fd = dial(s->port);
    warm_up(s, fd);
    return fd;
}

static int measure(struct server *s, int fd, unsigned messages)
{
    char id[64], path[400], target[128];
    uint64_t warm[2][WARM_TURNS], cold[2][STARTS], page[STARTS], kb[STARTS];
    struct stat st;
    struct cost c;
    (void)snprintf(id, sizeof(id), "conv_long%u", messages);
    (void)snprintf(target, sizeof(target), "/v1/conversations/%s/history?limit=100", id);
    write_log(s, id, messages);
    get_path(s, id, path);
    if (stat(path, &st) < 0)
        die(path);
    double first = (double)turn(s, fd, id).us / 1e3;
    for (size_t i = 0; i < WARM_TURNS; i++) {
        c = turn(s, fd, id);
        warm[0][i] = c.us, warm[1][i] = c.cpu_us;
    }
    for (size_t i = 0; i < STARTS; i++) {
        fd = restart(s, fd);
        page[i] = ask(s, fd, "GET", target, "");
        fd = restart(s, fd);
        double mb = rss_mb(s);
        c = turn(s, fd, id);
        mb = rss_mb(s) - mb;
        kb[i] = mb > 0 ? (uint64_t)(mb * 1e3) : 0;
        cold[0][i] = c.us, cold[1][i] = c.cpu_us;
    }
    double warm_ms = median_ms(warm[0], WARM_TURNS), cold_ms = median_ms(cold[0], STARTS),
           page_ms = median_ms(page, STARTS), mb = median_ms(kb, STARTS);
    printf("  %6u messages, %5.1f MB  first %7.2f ms  warm %6.2f ms (%6.2f CPU)  cold %6.2f ms "
           "(%6.2f CPU), %+6.1f MB  page %5.2f ms\n",
           messages, (double)st.st_size / 1048576, first, warm_ms, median_ms(warm[1], WARM_TURNS),
           cold_ms, median_ms(cold[1], STARTS), mb, page_ms);
    (void)fflush(stdout);
    figure("turn by messages, first", messages, first, "ms");
    figure("turn by messages, warm p50", messages, warm_ms, "ms");
    figure("turn by messages, after a start", messages, cold_ms, "ms");
    figure("turn by messages, memory", messages, mb, "MB");
    figure("newest page by messages", messages, page_ms, "ms");
    return fd;
}

int main(void)
{
    struct server s;
    struct model_double *m = model_new();
    start_server_with(&s, m, "");
    int fd = dial(s.port);
    write_log(&s, "conv_other", 2);
    warm_up(&s, fd);
    printf("a turn in a conversation of (floors: 5 ms at 10,000 messages, 6 ms and 2 MB at "
           "100,000)\n");
    for (size_t i = 0; i < ARRAY_LEN(MESSAGES); i++)
        fd = measure(&s, fd, MESSAGES[i]);
    close(fd);
    stop_server(&s);
    model_free(m);
    return 0;
}
