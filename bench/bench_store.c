/* bench_store.c - durable appends beside plain write + fdatasync, and one huge conversation.
 *
 *     bench_store [--quick]    without the huge conversation
 *
 * What a disk takes changes from second to second, so the appends to one conversation and the
 * plain writes take turns, and the medians of the rounds are compared.
 *
 * All on the file system of TMPDIR (default: the current directory), with 1 KB events. The
 * huge log has BIG_BYTES of them; it is opened as a person would open it: the last page,
 * then what is known about the conversation, cold and warm. */
#include <fcntl.h>
#include <ftw.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "figure.h"
#include "store/log/appender.h"
#include "store/postgres/database.h"
#include "store/store.h"

enum {
    EVENT_BYTES = 1024,
    MEASURE_MS = 1500,
    ROUND_MS = 300, /* of the peers that take turns */
    ROUNDS = 7,
    THREADS = 16,
    PAGE_EVENTS = 50,
    CONVS_MAX = 64,
    WORD_BYTES = 7,
};

#define MANY      "64 conversations, 16 in flight"
#define BIG_BYTES (1024u * 1024 * 1024)

struct bench {
    const char *type;
    struct loop *loop;
    struct store_env env;
    struct store *store;
    char dir[256], conv_dir[300], workspace[32]; /* of this process: others use the database too */
    char event[EVENT_BYTES + 1];
};

static void fail(const char *what, const struct err *e)
{
    fprintf(stderr, "bench_store: %s: %s\n", what, e ? e->msg : "failed");
    exit(1);
}

static size_t rss_kb(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    unsigned long size = 0, resident = 0;
    if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    if (f)
        (void)fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

static uint64_t cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* ---- appends ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct load {
    struct bench *bench;
    char id[CONVS_MAX][48];
    uint64_t end_us;
    size_t in_flight, done;
    bool is_over;
    uint64_t *waits_us;
    size_t cap;
    uint64_t cpu_us; /* of the whole process */
};

struct flight {
    struct load *load;
    int conv;
    uint64_t began_us;
};

static void on_append(void *ctx, const struct err *err, const store_pos *pos, size_t n);

static void append(struct flight *f)
{
    struct bench *b = f->load->bench;
    str event = str_from(b->event);
    f->began_us = clock_mono_us();
    store_append(b->store, str_from(f->load->id[f->conv]), &event, 1, on_append, f);
}

static void on_append(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct flight *f = ctx;
    struct load *l = f->load;
    uint64_t now = clock_mono_us();
    if (err)
        fail("append", err);
    if (l->done < l->cap)
        l->waits_us[l->done] = now - f->began_us;
    l->done++;
    if (now < l->end_us) {
        append(f);
        return;
    }
    free(f);
    l->is_over = --l->in_flight == 0;
}

static bool created;

static void on_conv(void *ctx, const struct err *err, const struct conv *conv)
{
    if (err)
        fail("create", err);
    created = true;
}

static void create(struct bench *b, const char *id)
{
    struct conv_create spec = {.id = str_from(id), .owner_id = STR("usr_bench")};
    created = false;
    store_create(b->store, &spec, on_conv, b);
    loop_run_until(b->loop, &created, 10000);
}

static struct load *load_new(struct bench *b, int convs, int in_flight)
{
    struct load *l = xcalloc(1, sizeof(*l));
    l->bench = b;
    l->cap = 4000000;
    l->waits_us = xcalloc(l->cap, sizeof(*l->waits_us));
    for (int i = 0; i < convs; i++) {
        (void)snprintf(l->id[i], sizeof(l->id[i]), "conv_%d-%d-%d", convs, in_flight, i);
        create(b, l->id[i]);
    }
    return l;
}

static void load_free(struct load *l)
{
    free(l->waits_us);
    free(l);
}

/* Appends per second. */
static double run_load(struct load *l, int convs, int in_flight, uint64_t ms)
{
    uint64_t began = clock_mono_us(), cpu = cpu_us();
    size_t before = l->done;
    l->end_us = began + ms * 1000;
    l->is_over = false;
    for (int i = 0; i < convs * in_flight; i++) {
        struct flight *f = xcalloc(1, sizeof(*f));
        *f = (struct flight){.load = l, .conv = i % convs};
        l->in_flight++;
        append(f);
    }
    loop_run_until(l->bench->loop, &l->is_over, 60000);
    double seconds = (double)(clock_mono_us() - began) / 1e6;
    l->cpu_us += cpu_us() - cpu;
    return (double)(l->done - before) / seconds;
}

static void note(const char *name, const char *what, double value, const char *unit)
{
    char chart[100];
    (void)snprintf(chart, sizeof(chart), "appends, %s: %s", name, what);
    figure(chart, 0, value, unit);
}

static void print_load(struct load *l, const char *name, double rate)
{
    size_t n = l->done < l->cap ? l->done : l->cap;
    qsort(l->waits_us, n, sizeof(*l->waits_us), by_value);
    double p50 = (double)l->waits_us[n / 2] / 1e3, p99 = (double)l->waits_us[n * 99 / 100] / 1e3,
           cpu = (double)l->cpu_us / (double)l->done;
    printf("  %-44s %9.0f/s   p50 %6.2f ms  p99 %6.2f ms  %5.1f us CPU\n", name, rate, p50, p99,
           cpu);
    note(name, "per second", rate, "/s");
    note(name, "p50", p50, "ms");
    note(name, "p99", p99, "ms");
    note(name, "CPU", cpu, "us");
}

static double measure_load(struct bench *b, const char *name, int convs, int in_flight)
{
    struct load *l = load_new(b, convs, in_flight);
    double rate = run_load(l, convs, in_flight, MEASURE_MS);
    print_load(l, name, rate);
    load_free(l);
    return rate;
}

static double run_plain(struct bench *b)
{
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/plain", b->dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    uint64_t began = clock_mono_us(), now;
    size_t n = 0;
    do {
        if (write(fd, b->event, EVENT_BYTES) != EVENT_BYTES || fdatasync(fd) < 0)
            fail("plain write", NULL);
        n++;
        now = clock_mono_us();
    } while (now < began + ROUND_MS * 1000);
    close(fd);
    return (double)n / ((double)(now - began) / 1e6);
}

static int by_rate(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *rates)
{
    qsort(rates, ROUNDS, sizeof(*rates), by_rate);
    return rates[ROUNDS / 2];
}

/* One conversation and the plain loop in turns. Returns the rate of the plain one. */
static double measure_one(struct bench *b)
{
    double plain[ROUNDS], one[ROUNDS], ratio[ROUNDS];
    struct load *l = load_new(b, 1, 1);
    for (int i = 0; i < ROUNDS; i++) {
        plain[i] = run_plain(b);
        one[i] = run_load(l, 1, 1, ROUND_MS);
        ratio[i] = one[i] / plain[i];
    }
    double rate = median(plain);
    printf("  %-44s %9.0f/s   (the peer: a loop of write, fdatasync)\n", "plain write + fdatasync",
           rate);
    print_load(l, "1 conversation, 1 in flight", median(one));
    printf("  %-44s %9.2f times\n", "  beside plain", median(ratio));
    figure_of("write + fdatasync", "appends, 1 conversation, 1 in flight: per second", 0, rate,
              "/s");
    load_free(l);
    return rate;
}

/* ---- one huge conversation ---- */

static void make_big(struct bench *b, const char *path)
{
    FILE *f = fopen(path, "we");
    if (!f)
        fail("big log", NULL);
    fputs("{\"id\":\"conv_big\",\"createdAt\":\"2026-01-01T00:00:00.000Z\",\"format\":\"events\","
          "\"ownerId\":\"usr_bench\"}\n",
          f);
    static const char *const types[] = {"user.message", "run.start", "llm.response",
                                        "tool.start",   "tool.done", "run.done"};
    char text[1000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    for (size_t bytes = 0, i = 0; bytes < BIG_BYTES; i++) {
        int n =
            fprintf(f,
                    "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"%s\",\"runId\":\"run_%zu\","
                    "\"inputTokens\":1000,\"outputTokens\":10,\"content\":[{\"type\":\"text\","
                    "\"text\":\"%s\"}]}\n",
                    types[i % ARRAY_LEN(types)], i / ARRAY_LEN(types), text);
        bytes += (size_t)n;
    }
    if (fclose(f) != 0)
        fail("big log", NULL);
}

static bool answered;

static void on_page(void *ctx, const struct err *err, const struct store_page *page)
{
    if (err || page->n != PAGE_EVENTS)
        fail("last page", err);
    answered = true;
}

static void on_big(void *ctx, const struct err *err, const struct conv *conv)
{
    if (err)
        fail("get", err);
    answered = true;
}

static void time_page(struct bench *b, const char *name)
{
    struct store_range range = {.backwards = true, .max_events = PAGE_EVENTS};
    size_t before = rss_kb();
    uint64_t began = clock_mono_us();
    answered = false;
    store_read(b->store, STR("conv_big"), &range, on_page, b);
    loop_run_until(b->loop, &answered, 60000);
    printf("  %-44s %9.2f ms   %6.1f MB more RSS   (target 20 ms, 10 MB)\n", name,
           (double)(clock_mono_us() - began) / 1e3, ((double)rss_kb() - (double)before) / 1024);
}

static void time_get(struct bench *b, const char *name)
{
    size_t before = rss_kb();
    uint64_t began = clock_mono_us();
    answered = false;
    store_get(b->store, STR("conv_big"), on_big, b);
    loop_run_until(b->loop, &answered, 60000);
    printf("  %-44s %9.2f ms   %6.1f MB more RSS\n", name, (double)(clock_mono_us() - began) / 1e3,
           ((double)rss_kb() - (double)before) / 1024);
}

/* ---- */

static void open_store(struct bench *b)
{
    struct store_conf conf = {.type = b->type, .dir = b->conv_dir, .workspace_id = b->workspace};
    struct err e = {0};
    if (store_open(&b->env, &conf, &b->store, &e) < 0)
        fail("open", &e);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static bool closed;

static void on_closed(void *ctx)
{
    closed = true;
}

static void measure_appends(struct bench *b)
{
    printf("durable appends of %d bytes\n", EVENT_BYTES);
    double plain = measure_one(b);
    measure_load(b, "1 conversation, 32 in flight", 1, 32);
    measure_load(b, "64 conversations, 1 in flight", 64, 1);
    double many = measure_load(b, MANY, 64, 16);
    printf("  %-44s %9.0f times\n", "  beside plain", many / plain);
}

static void measure_big(struct bench *b)
{
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/conv_big.jsonl", b->conv_dir);
    make_big(b, path);
    printf("a conversation of %u MB\n", BIG_BYTES >> 20);
    time_page(b, "last page, first time");
    time_page(b, "last page, again");
    time_get(b, "totals, reading the whole log");
    time_get(b, "totals, known before");
}

/* A line without text, or a message whose words are searched. */
static void make_event(struct bench *b, bool has_text)
{
    static const char END[] = "\"}]}";
    int n = snprintf(b->event, sizeof(b->event),
                     "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"%s\",\"content\":[{\"type\":"
                     "\"text\",\"text\":\"",
                     has_text ? "user.message" : "bench");
    const size_t end = EVENT_BYTES + 1 - sizeof(END);
    memset(b->event + n, 'x', end - (size_t)n);
    for (size_t i = (size_t)n; has_text && i + WORD_BYTES <= end; i += WORD_BYTES) {
        char word[WORD_BYTES + 1];
        (void)snprintf(word, sizeof(word), " w%05zu", i * 7919 % 50000);
        memcpy(b->event + i, word, WORD_BYTES);
    }
    memcpy(b->event + end, END, sizeof(END));
}

int main(int argc, char **argv)
{
    struct bench *b = xcalloc(1, sizeof(*b));
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(b->dir, sizeof(b->dir), "%s/bench-store-XXXXXX", tmp ? tmp : ".");
    if (!mkdtemp(b->dir))
        fail("temporary directory", NULL);
    (void)snprintf(b->conv_dir, sizeof(b->conv_dir), "%s/conversations", b->dir);
    make_event(b, argc > 2 && strcmp(argv[2], "text") == 0);
    b->loop = loop_new(NULL);
    b->env = (struct store_env){.loop = b->loop,
                                .bus = bus_new(b->loop),
                                .appender = appender_new(b->loop, THREADS),
                                .readers = pool_new(b->loop, "read", 2)};
    /* "postgres", "replica": in the database of NB_STORE_URL, which has tables (nb store init);
     * replica: beside others, and only the last measurement; "replica text": of messages */
    bool is_replica = argc > 1 && strcmp(argv[1], "replica") == 0;
    b->type = is_replica || (argc > 1 && strcmp(argv[1], "postgres") == 0) ? "postgres" : "jsonl";
    (void)snprintf(b->workspace, sizeof(b->workspace), "ws_bench%d", (int)getpid());
    b->env.database = database_new(b->loop, NULL, getenv("NB_STORE_URL"));
    if (is_replica)
        database_share(b->env.database);
    open_store(b);

    if (is_replica)
        measure_load(b, MANY, 64, 16);
    else
        measure_appends(b);
    bool is_short = argc > 1; /* --quick, or the type of another store */
    if (!is_short)
        measure_big(b);

    store_close(b->store, on_closed, b);
    loop_run_until(b->loop, &closed, 60000);
    database_free(b->env.database);
    appender_free(b->env.appender);
    pool_free(b->env.readers);
    bus_free(b->env.bus);
    loop_free(b->loop);
    (void)nftw(b->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(b);
    return 0;
}
