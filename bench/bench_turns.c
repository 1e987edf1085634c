/* bench_turns.c - what a durable chat turn costs beside the model: the server's CPU, and time.
 *
 * The release binary (NB_RELEASE) serves the demo model without its delays. The clients are
 * one thread of this process with kept-alive connections, one conversation each; every turn
 * adds to it, so histories grow as they do in life. CPU is the server's own, of all threads.
 * The peer is a loop of write + fdatasync in the same directory: a turn needs two of them,
 * for the message and for the answer, before it may be called done. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

enum { CLIENTS_MAX = 64, ANSWER_MAX = 64 * 1024, PLAIN_MS = 500, TIMEOUT_MS = 10000 };

struct server {
    pid_t pid;
    uint16_t port;
    clockid_t cpu;
    char dir[256];
    char key[64]; /* of the installation */
};

struct client {
    const char *key;
    int fd;
    char conversation[80];
    char answer[ANSWER_MAX];
    size_t n;
    uint64_t began_us;
    int left;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- the server ---- */

static uint16_t read_port(int fd)
{
    char text[4096];
    size_t n = 0;
    ssize_t r;
    while (n < sizeof(text) - 1 && (r = read(fd, text + n, sizeof(text) - 1 - n)) > 0) {
        n += (size_t)r;
        text[n] = 0;
        unsigned port;
        const char *at = strstr(text, "http://127.0.0.1:");
        if (at && sscanf(at, "http://127.0.0.1:%u", &port) == 1)
            return (uint16_t)port;
    }
    die("the server does not start");
    return 0;
}

static void read_key(struct server *s)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/auth/dev.key", s->dir);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(s->key, sizeof(s->key), f))
        die(path);
    (void)fclose(f);
}

static void start_server(struct server *s, const char *binary)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(s->dir, sizeof(s->dir), "%s/bench-turns-XXXXXX", tmp ? tmp : ".");
    int out[2];
    if (!mkdtemp(s->dir) || pipe2(out, O_CLOEXEC) < 0)
        die("temporary directory");
    (void)setenv("NB_DEMO_DELAY_MS", "0", 1);
    (void)unsetenv("ANTHROPIC_API_KEY");
    (void)unsetenv("OPENAI_API_KEY");
    const char *argv[] = {binary, "serve", "--port", "0", "--workdir", s->dir, NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    if (posix_spawn(&s->pid, binary, &files, NULL, (char *const *)argv, environ) != 0)
        die(binary);
    posix_spawn_file_actions_destroy(&files);
    close(out[1]);
    s->port = read_port(out[0]);
    read_key(s);
    if (clock_getcpuclockid(s->pid, &s->cpu) != 0)
        die("CPU clock");
}

static double cpu_us(const struct server *s)
{
    struct timespec t;
    if (clock_gettime(s->cpu, &t) < 0)
        die("CPU clock");
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void stop_server(struct server *s)
{
    int status;
    kill(s->pid, SIGTERM);
    (void)waitpid(s->pid, &status, 0);
    (void)nftw(s->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- one client ---- */

static void dial(struct client *c, const struct server *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(s->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    *c = (struct client){.key = s->key, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        die("connect");
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

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
        fprintf(stderr, "bench_turns: %s\n", c->answer);
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

/* ---- a round ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void drive(struct client *c, int clients, uint64_t *waits, int turns)
{
    struct pollfd fds[CLIENTS_MAX];
    int done = 0;
    for (int i = 0; i < clients; i++) {
        fds[i] = (struct pollfd){.fd = c[i].fd, .events = POLLIN};
        c[i].left = turns;
        say(&c[i], "echo x");
    }
    while (done < clients * turns) {
        if (poll(fds, (nfds_t)clients, TIMEOUT_MS) <= 0)
            die("no answer");
        for (int i = 0; i < clients; i++) {
            if (!fds[i].revents || !listen_on(&c[i]))
                continue;
            waits[done++] = clock_mono_us() - c[i].began_us;
            if (--c[i].left > 0)
                say(&c[i], "echo x");
        }
    }
}

static void measure(const struct server *s, int clients, int turns, const char *floor)
{
    struct client *c = xcalloc((size_t)clients, sizeof(*c));
    size_t n = (size_t)(clients * turns);
    uint64_t *waits = xcalloc(n, sizeof(*waits));
    for (int i = 0; i < clients; i++) {
        dial(&c[i], s);
        begin_conversation(&c[i]);
    }
    usleep(100000); /* titles and the index */
    double cpu = cpu_us(s);
    uint64_t began = clock_mono_us();
    drive(c, clients, waits, turns);
    double seconds = (double)(clock_mono_us() - began) / 1e6;
    cpu = cpu_us(s) - cpu;
    qsort(waits, n, sizeof(*waits), by_value);
    printf("  %2d at a time, %3d turns each   p50 %6.2f ms  p99 %6.2f ms  %6.0f turns/s  %5.0f us "
           "of CPU each   %s\n",
           clients, turns, (double)waits[n / 2] / 1e3, (double)waits[n * 99 / 100] / 1e3,
           (double)n / seconds, cpu / (double)n, floor);
    for (int i = 0; i < clients; i++)
        close(c[i].fd);
    free(waits);
    free(c);
}

static double rss_mb(const struct server *s)
{
    char path[64];
    unsigned long size = 0, resident = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)s->pid);
    FILE *f = fopen(path, "re");
    if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
        die("memory");
    (void)fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

/* The median of write + fdatasync, in milliseconds. */
static double plain_ms(const char *dir)
{
    static uint64_t took[100000];
    char path[300], line[512];
    (void)snprintf(path, sizeof(path), "%s/plain", dir);
    memset(line, 'x', sizeof(line));
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    uint64_t end = clock_mono_us() + PLAIN_MS * 1000, began;
    size_t n = 0;
    while ((began = clock_mono_us()) < end && n < ARRAY_LEN(took)) {
        if (write(fd, line, sizeof(line)) != sizeof(line) || fdatasync(fd) < 0)
            die("plain write");
        took[n++] = clock_mono_us() - began;
    }
    close(fd);
    qsort(took, n, sizeof(*took), by_value);
    return (double)took[n / 2] / 1e3;
}

int main(void)
{
    const char *binary = getenv("NB_RELEASE");
    struct server s;
    if (!binary) {
        fputs("bench_turns: NB_RELEASE is not set\n", stderr);
        return 1;
    }
    start_server(&s, binary);
    printf("durable chat turns, instant model\n");
    printf("  two of write + fdatasync, the peer         %.2f ms\n", 2 * plain_ms(s.dir));
    measure(&s, 1, 200, "(floor 1 ms p50)");
    measure(&s, 16, 100, "");
    measure(&s, 64, 50, "(floor 5,000/s)");
    printf("  RSS after these turns                      %.1f MB\n", rss_mb(&s));
    stop_server(&s);
    return 0;
}
