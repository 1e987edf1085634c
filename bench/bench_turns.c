/* bench_turns.c - what a durable chat turn costs beside the model: the server's CPU, and time.
 *
 * The release binary (NB_RELEASE) asks a model over HTTP that answers immediately (model_double.h),
 * and then its demo model without delays. The clients are one thread of this process with
 * kept-alive connections. New: every message begins a conversation. Further: each client has one
 * conversation, and every turn adds to it, so histories grow as they do in life. CPU is the
 * server's own, of all threads. The peer is a loop of write + fdatasync in the same directory: a
 * turn needs two of them, for the message and for the answer, before it may be called done. */
#include "chat_client.h"
#include "figure.h"
#include "model_double.h"

enum { PLAIN_MS = 500, INDEX_S = 5, REST_S = 60 };

struct kind {
    const char *name, *chart; /* what is printed; what its charts are called */
    bool is_new;
};

static const struct kind NEW = {"new", "new conversation", true},
                         FURTHER = {"further", "further turn", false},
                         DEMO = {"further", "further turn, demo model", false};

static void note(const struct kind *kind, int clients, const char *what, double value,
                 const char *unit)
{
    char chart[80];
    (void)snprintf(chart, sizeof(chart), "%s, %s", kind->chart, what);
    figure(chart, clients, value, unit);
}

static void measure(const struct server *s, int clients, int turns, const struct kind *kind,
                    const char *floor)
{
    struct client *c = xcalloc((size_t)clients, sizeof(*c));
    size_t n = (size_t)(clients * turns);
    uint64_t *waits = xcalloc(n, sizeof(*waits));
    for (int i = 0; i < clients; i++) {
        c[i] = (struct client){.key = s->key, .fd = dial(s->port)};
        if (!kind->is_new)
            begin_conversation(&c[i]);
    }
    usleep(100000); /* titles and the index */
    double cpu = cpu_us(s);
    uint64_t began = clock_mono_us();
    drive(c, clients, "echo x", waits, turns);
    double seconds = (double)(clock_mono_us() - began) / 1e6;
    cpu = cpu_us(s) - cpu;
    qsort(waits, n, sizeof(*waits), by_value);
    double p50 = (double)waits[n / 2] / 1e3, p99 = (double)waits[n * 99 / 100] / 1e3;
    printf("  %-7s %2d at a time, %3d each   p50 %6.2f ms  p99 %6.2f ms  %6.0f turns/s  %5.0f us "
           "of CPU each   %s\n",
           kind->name, clients, turns, p50, p99, (double)n / seconds, cpu / (double)n, floor);
    note(kind, clients, "p50", p50, "ms");
    note(kind, clients, "p99", p99, "ms");
    note(kind, clients, "per second", (double)n / seconds, "/s");
    note(kind, clients, "CPU", cpu / (double)n / 1e3, "ms");
    for (int i = 0; i < clients; i++)
        close(c[i].fd);
    free(waits);
    free(c);
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

/* For nftw, which passes no context. */
static uint64_t disk_bytes, disk_blocks, disk_files;

static int count_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path, (void)ftw;
    disk_blocks += (uint64_t)st->st_blocks * 512;
    disk_bytes += type == FTW_F ? (uint64_t)st->st_size : 0;
    disk_files += type == FTW_F;
    return 0;
}

static void count_below(const struct server *s, const char *name)
{
    char dir[300];
    (void)snprintf(dir, sizeof(dir), "%s/%s", s->dir, name);
    (void)nftw(dir, count_file, 16, FTW_PHYS);
}

/* The journal holds what many conversations have in common for as long as the load lasts. It is
 * gone a few seconds later; so long the index takes, too, which counts. */
static void wait_for_rest(const struct server *s)
{
    char journal[300];
    (void)snprintf(journal, sizeof(journal), "%s/conversations/.journal", s->dir);
    for (int i = 0; i < REST_S && (i < INDEX_S || access(journal, F_OK) == 0); i++)
        (void)sleep(1);
}

static void print_disk(const struct server *s, int conversations)
{
    wait_for_rest(s);
    disk_bytes = disk_blocks = disk_files = 0;
    count_below(s, "conversations");
    count_below(s, "cache");
    double bytes = (double)disk_bytes / conversations,
           blocks = (double)disk_blocks / conversations / 1000,
           files = (double)disk_files / conversations;
    printf(
        "  disk per conversation, with its index      %.0f bytes, %.2f kB of blocks, %.2f files\n",
        bytes, blocks, files);
    figure("disk per new conversation, bytes", 0, bytes, "bytes");
    figure("disk per new conversation, blocks", 0, blocks, "kB");
    figure("disk per new conversation, files", 0, files, "");
}

static void bench_http_model(void)
{
    struct server s;
    struct model_double *m = model_new();
    start_server_with(&s, m, "");
    printf("durable chat turns, instant model over HTTP\n");
    measure(&s, 1, 200, &NEW, "(floor 1.5 ms p50)");
    measure(&s, 16, 40, &NEW, "");
    measure(&s, 64, 20, &NEW, "(floor 2,400/s)");
    print_disk(&s, 200 + 16 * 40 + 64 * 20);
    measure(&s, 1, 200, &FURTHER, "(floor 0.9 ms p50)");
    measure(&s, 16, 100, &FURTHER, "(floor 5,000/s)");
    measure(&s, 64, 30, &FURTHER, "");
    printf("  RSS after these turns                      %.1f MB\n", rss_mb(&s));
    stop_server(&s);
    model_free(m);
}

static void bench_demo_model(void)
{
    struct server s;
    start_server(&s, "{\"logging\":{\"level\":\"warn\"}}");
    printf("durable chat turns, instant model inside nb\n");
    double plain = 2 * plain_ms(s.dir);
    printf("  two of write + fdatasync, the peer         %.2f ms\n", plain);
    figure_of("two of write + fdatasync", "further turn, demo model, p50", 1, plain, "ms");
    measure(&s, 1, 200, &DEMO, "(floor 1 ms p50)");
    measure(&s, 16, 100, &DEMO, "");
    measure(&s, 64, 50, &DEMO, "(floor 5,000/s)");
    printf("  RSS after these turns                      %.1f MB\n", rss_mb(&s));
    stop_server(&s);
}

int main(void)
{
    bench_http_model();
    bench_demo_model();
    return 0;
}
