/* bench_index.c - lists and searches over 100,000 conversations, and one of a gigabyte.
 *
 * Writes 100,000 logs of 40 events into a temporary directory (always the same ones: a
 * vocabulary of 60,000 words used as people use words), then measures what the index costs
 * and what it gives: building it, starting with it, the first page of a list, searches, the
 * last page of a huge log. The floors beside the figures are the project's own.
 * --quick uses a hundredth of the sizes. Everything written is removed at the end. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <sqlite3.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "figure.h"
#include "store/log/appender.h"
#include "store/store.h"

enum {
    CONVS = 100000,
    EVENTS = 40,
    BIG_MB = 1024,
    OWNERS = 100,
    VOCABULARY = 60000,
    LISTS = 1000,
    SEARCHES = 300,
    WAIT_MS = 3600 * 1000,
};

struct bench {
    struct loop *loop;
    struct bus *bus;
    struct appender *appender;
    struct pool *readers;
    struct store_env env;
    struct store *store;
    char root[256], dir[300], big[300], cache[300];
    int convs, big_mb;
    uint64_t random;
    bool done;
    size_t n;
    int64_t total;
    int failed;
};

static double now_ms(void)
{
    return (double)clock_mono_us() / 1000;
}

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double rss_mb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f)
        (void)fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- the corpus ---- */

static uint32_t pick(struct bench *b, uint32_t n)
{
    b->random = b->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(b->random >> 33) % n;
}

/* The n-th most frequent word is used about 1/n as often as the first. */
static uint32_t zipf(struct bench *b)
{
    double u = (double)pick(b, 1u << 30) / (1u << 30);
    return (uint32_t)pow((double)VOCABULARY, u) - 1;
}

static size_t word(uint32_t rank, char *out)
{
    static const char *const SYLLABLES[] = {"ba", "ce", "di", "fo", "gu", "ha", "je", "ki",
                                            "lo", "mu", "na", "pe", "ri", "so", "tu", "va"};
    size_t n = 0;
    do {
        memcpy(out + n, SYLLABLES[rank % 16], 2);
        n += 2;
        rank /= 16;
    } while (rank > 0);
    return n;
}

static void say(struct bench *b, struct buf *out, uint32_t words)
{
    char w[16];
    for (uint32_t i = 0; i < words; i++) {
        if (i)
            buf_add_char(out, ' ');
        buf_add(out, w, word(zipf(b), w));
    }
}

static void open_event(struct buf *out, int64_t ms, const char *type)
{
    char iso[CLOCK_ISO_LEN + 1];
    clock_iso(ms, iso);
    buf_printf(out, "{\"ts\":\"%s\",\"type\":\"%s\"", iso, type);
}

/* One turn of ten events: question, model, tool, model. */
static void turn(struct bench *b, struct buf *out, int64_t ms, int owner)
{
    open_event(out, ms, "user.message");
    buf_add_lit(out, ",\"content\":[{\"type\":\"text\",\"text\":\"");
    say(b, out, 5 + pick(b, 40));
    buf_printf(out, "\"}],\"userId\":\"usr_%d\"}\n", owner);
    open_event(out, ms + 1, "run.start");
    buf_add_lit(out, ",\"runId\":\"run_1\",\"model\":\"anthropic:claude-sonnet-4-5\"}\n");
    for (int i = 0; i < 2; i++) {
        open_event(out, ms + 100 + i * 100, "llm.response");
        buf_add_lit(out, ",\"runId\":\"run_1\",\"model\":\"anthropic:claude-sonnet-4-5\","
                         "\"content\":[{\"type\":\"text\",\"text\":\"");
        say(b, out, 20 + pick(b, 60));
        buf_add_lit(out, "\"}],\"inputTokens\":2000,\"outputTokens\":150,"
                         "\"cacheReadTokens\":1500,\"llmMs\":900}\n");
        open_event(out, ms + 110 + i * 100, "tool.start");
        buf_printf(out, ",\"runId\":\"run_1\",\"name\":\"files__read\",\"id\":\"call_%d\"}\n", i);
        open_event(out, ms + 120 + i * 100, "tool.done");
        buf_printf(out,
                   ",\"runId\":\"run_1\",\"name\":\"files__read\",\"id\":\"call_%d\","
                   "\"ok\":true,\"ms\":12,\"result\":{\"content\":[{\"type\":\"text\","
                   "\"text\":\"",
                   i);
        say(b, out, 10 + pick(b, 80));
        buf_add_lit(out, "\"}]}}\n");
    }
    open_event(out, ms + 400, "tool.progress");
    buf_add_lit(out, ",\"runId\":\"run_1\",\"id\":\"call_1\",\"message\":\"half\"}\n");
    open_event(out, ms + 500, "run.done");
    buf_add_lit(out, ",\"runId\":\"run_1\",\"stopReason\":\"complete\",\"totalMs\":500}\n");
}

static int64_t start_ms(struct bench *b)
{
    return 1735689600000 + (int64_t)pick(b, 31536000) * 1000 + pick(b, 1000);
}

static void header(struct buf *out, const char *id, int64_t ms, int owner)
{
    char iso[CLOCK_ISO_LEN + 1];
    clock_iso(ms, iso);
    buf_printf(out,
               "{\"id\":\"%s\",\"createdAt\":\"%s\",\"format\":\"events\","
               "\"ownerId\":\"usr_%d\",\"visibility\":\"private\","
               "\"participants\":[\"usr_%d\"]}\n",
               id, iso, owner, owner);
}

static void write_all(int fd, struct buf *out)
{
    for (size_t at = 0; at < out->n;) {
        ssize_t n = write(fd, out->p + at, out->n - at);
        if (n < 0)
            die("write");
        at += (size_t)n;
    }
    buf_clear(out);
}

static int create(const char *dir, const char *id)
{
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/%s.jsonl", dir, id);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        die(path);
    return fd;
}

static double write_corpus(struct bench *b)
{
    struct buf out;
    double bytes = 0;
    buf_init(&out, 1u << 24);
    for (int i = 0; i < b->convs; i++) {
        char id[40];
        int64_t ms = start_ms(b);
        int owner = i % OWNERS;
        (void)snprintf(id, sizeof(id), "conv_%08x%08x", (unsigned)i * 2654435761u, i);
        header(&out, id, ms, owner);
        for (int t = 0; t < EVENTS / 10; t++)
            turn(b, &out, ms += 60000 + pick(b, 60000), owner);
        open_event(&out, ms + 600, "metadata.title");
        buf_add_lit(&out, ",\"title\":\"");
        say(b, &out, 5);
        buf_add_lit(&out, i % 5000 ? "\"}\n" : " xyzzy\"}\n"); /* the rare word */
        bytes += (double)out.n;
        int fd = create(b->dir, id);
        write_all(fd, &out);
        close(fd);
    }
    buf_done(&out);
    return bytes / 1048576;
}

static void write_big(struct bench *b)
{
    struct buf out;
    int64_t ms = start_ms(b);
    double bytes = 0;
    buf_init(&out, 1u << 24);
    int fd = create(b->big, "conv_big");
    header(&out, "conv_big", ms, 0);
    while (bytes < b->big_mb * 1048576.0) {
        while (out.n < 1u << 22)
            turn(b, &out, ms += 1000, 0);
        bytes += (double)out.n;
        write_all(fd, &out);
    }
    buf_done(&out);
    close(fd);
}

/* ---- calls that wait ---- */

static void wait_for(struct bench *b)
{
    if (!loop_run_until(b->loop, &b->done, WAIT_MS))
        die("no answer");
}

static void on_list(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct bench *b = ctx;
    b->failed += err != NULL;
    b->n = l ? l->n : 0;
    b->total = l ? l->total : 0;
    b->done = true;
}

static double list(struct bench *b, const struct store_query *q)
{
    double from = now_ms();
    b->done = false;
    store_list(b->store, q, on_list, b);
    wait_for(b);
    return now_ms() - from;
}

static void on_search(void *ctx, const struct err *err, const struct store_hits *h)
{
    struct bench *b = ctx;
    b->failed += err != NULL;
    b->n = h ? h->n : 0;
    b->done = true;
}

static double search(struct bench *b, const struct store_search_query *q)
{
    double from = now_ms();
    b->done = false;
    store_search(b->store, q, on_search, b);
    wait_for(b);
    return now_ms() - from;
}

static void on_page(void *ctx, const struct err *err, const struct store_page *p)
{
    struct bench *b = ctx;
    b->failed += err != NULL;
    b->n = p ? p->n : 0;
    b->done = true;
}

static void on_conv(void *ctx, const struct err *err, const struct conv *c)
{
    struct bench *b = ctx;
    b->failed += err != NULL;
    b->total = c ? c->message_count : 0;
    b->done = true;
}

static void set_done(void *ctx)
{
    ((struct bench *)ctx)->done = true;
}

static void open_store(struct bench *b, const char *dir, const char *cache)
{
    struct err e = {0};
    struct store_conf conf = {
        .type = "jsonl", .dir = dir, .cache_dir = cache, .durability = STORE_NONE};
    if (store_open(&b->env, &conf, &b->store, &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.msg);
        exit(1);
    }
}

static void close_store(struct bench *b)
{
    b->done = false;
    store_close(b->store, set_done, b);
    wait_for(b);
}

/* ---- figures ---- */

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static void report(const char *what, double value, const char *unit, const char *floor)
{
    static char group[100]; /* the last line that is not part of another */
    char chart[220];
    bool is_part = what[0] == ' ';
    (void)printf("  %-52s %10.2f %-5s %s\n", what, value, unit, floor);
    (void)fflush(stdout);
    if (!is_part)
        (void)snprintf(group, sizeof(group), "%s", what);
    (void)snprintf(chart, sizeof(chart), is_part ? "%s: %s" : "%s", group, what + 2 * is_part);
    figure(chart, 0, value, unit);
}

static void spread(const char *what, double *ms, size_t n, const char *floor)
{
    char line[100];
    qsort(ms, n, sizeof(*ms), by_value);
    (void)snprintf(line, sizeof(line), "%s, p50", what);
    report(line, ms[n / 2], "ms", floor);
    (void)snprintf(line, sizeof(line), "%s, p99", what);
    report(line, ms[n * 99 / 100], "ms", floor);
}

static int64_t behind(struct bench *b)
{
    char path[400];
    sqlite3 *db;
    sqlite3_stmt *st = NULL;
    int64_t n = -1;
    (void)snprintf(path, sizeof(path), "%s/index.db", b->cache);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        sqlite3_busy_timeout(db, 60000);
        if (sqlite3_prepare_v2(db, "SELECT count(*) FROM log WHERE text_done <> done", -1, &st,
                               NULL) == SQLITE_OK &&
            sqlite3_step(st) == SQLITE_ROW)
            n = sqlite3_column_int64(st, 0);
    }
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

static void wait_for_text(struct bench *b)
{
    bool never = false;
    while (behind(b) != 0)
        (void)loop_run_until(b->loop, &never, 500);
}

static void bench_build(struct bench *b, double mb)
{
    static double ms[LISTS];
    struct stat st;
    char path[400];
    double from = now_ms(), rss = rss_mb(), cpu = cpu_s();
    open_store(b, b->dir, b->cache);
    double rows = list(b, &(struct store_query){0});
    report("first list without an index (all rows derived)", rows / 1000, "s", "");
    report("  of logs", mb / (rows / 1000), "MB/s", "");
    report("  CPU", cpu_s() - cpu, "s", "");
    for (size_t i = 0; i < LISTS; i++)
        ms[i] = list(b, &(struct store_query){0});
    spread("list first page while text is being indexed", ms, LISTS, "");
    wait_for_text(b);
    double all = (now_ms() - from) / 1000;
    report("cold build, full text included", all, "s", "");
    report("  of logs", mb / all, "MB/s", "18 with one big transaction");
    report("  CPU", cpu_s() - cpu, "s", "");
    report("  RSS grew by", rss_mb() - rss, "MB", "");
    (void)snprintf(path, sizeof(path), "%s/index.db", b->cache);
    if (stat(path, &st) == 0)
        report("  size of the index", (double)st.st_size / 1048576, "MB", "");
    close_store(b);
}

/* How often a file of the directory was opened since the last call. */
static int opened(int fd)
{
    char events[65536];
    int n = 0;
    ssize_t got;
    while ((got = read(fd, events, sizeof(events))) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *e = (const void *)(events + at);
            n += !(e->mask & IN_ISDIR);
            at += (ssize_t)sizeof(*e) + e->len;
        }
    }
    return n;
}

static void bench_start(struct bench *b)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0 || inotify_add_watch(fd, b->dir, IN_OPEN) < 0)
        die("inotify");
    double from = now_ms();
    open_store(b, b->dir, b->cache);
    (void)list(b, &(struct store_query){0});
    report("start with an unchanged directory, to the first list", now_ms() - from, "ms", "");
    report("  logs opened meanwhile", opened(fd), "", "0");
    close(fd);
}

static void bench_list(struct bench *b)
{
    static double ms[LISTS];
    struct viewer one = {.user_id = STR_INIT("usr_7")};
    for (size_t i = 0; i < LISTS; i++)
        ms[i] = list(b, &(struct store_query){0});
    if (b->n != 20 || b->total != b->convs)
        die("list is wrong");
    spread("list, first page, everything", ms, LISTS, "<= 2");
    for (size_t i = 0; i < LISTS; i++)
        ms[i] = list(b, &(struct store_query){.viewer = &one, .limit = 50});
    if (b->total != b->convs / OWNERS)
        die("list is wrong");
    spread("list, first page, one person of a hundred", ms, LISTS, "<= 2");
    report("list by part of a title", list(b, &(struct store_query){.search = STR("xyzzy")}), "ms",
           "");
}

static void bench_search(struct bench *b)
{
    static double ms[SEARCHES];
    static const struct {
        const char *what, *text;
        bool by_relevance;
    } ASKED[] = {
        {"common word", "ba", false},
        {"frequent word", "soce", false},
        {"rare word", "xyzzy", false},
        {"two words", "ce di", false},
        {"phrase", "\"ba ce\"", false},
        {"prefix", "xyz*", false},
        {"one sender, common word", "from:usr_7 ba", false},
        {"common word by relevance", "ba", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(ASKED); i++) {
        struct store_search_query q = {.text = str_from(ASKED[i].text),
                                       .by_relevance = ASKED[i].by_relevance};
        char what[100];
        size_t n = ASKED[i].by_relevance ? SEARCHES / 10 : SEARCHES;
        for (size_t k = 0; k < n; k++)
            ms[k] = search(b, &q);
        (void)snprintf(what, sizeof(what), "search %s, %zu hits", ASKED[i].what, b->n);
        spread(what, ms, n, ASKED[i].by_relevance ? "" : "<= 5");
    }
}

static double last_page(struct bench *b)
{
    struct store_range range = {.backwards = true, .max_events = 50};
    double from = now_ms();
    b->done = false;
    store_read(b->store, STR("conv_big"), &range, on_page, b);
    wait_for(b);
    return now_ms() - from;
}

static double get(struct bench *b)
{
    double from = now_ms();
    b->done = false;
    store_get(b->store, STR("conv_big"), on_conv, b);
    wait_for(b);
    return now_ms() - from;
}

static void bench_big(struct bench *b)
{
    (void)snprintf(b->cache, sizeof(b->cache), "%s/cache-big", b->root);
    write_big(b);
    double rss = rss_mb(), from = now_ms();
    open_store(b, b->big, b->cache);
    (void)last_page(b);
    report("huge log: open the store, read the last page", now_ms() - from, "ms", "<= 20");
    report("  RSS grew by", rss_mb() - rss, "MB", "<= 10");
    report("huge log: the last page again", last_page(b), "ms", "");
    (void)list(b, &(struct store_query){0});
    wait_for_text(b);
    close_store(b);
    rss = rss_mb(), from = now_ms();
    open_store(b, b->big, b->cache);
    (void)get(b);
    (void)last_page(b);
    report("huge log, indexed: open, derived values, last page", now_ms() - from, "ms", "<= 20");
    report("  RSS grew by", rss_mb() - rss, "MB", "<= 10");
    close_store(b);
}

static void discard(void *ctx, enum log_level level, str line)
{
    (void)ctx, (void)level, (void)line;
}

static void run(struct bench *b)
{
    (void)printf("index, %d conversations of %d events\n", b->convs, EVENTS);
    double from = now_ms(), mb = write_corpus(b);
    report("(corpus)", mb, "MB", "");
    report("(written in)", (now_ms() - from) / 1000, "s", "");
    bench_build(b, mb);
    bench_start(b);
    bench_list(b);
    bench_search(b);
    close_store(b);
    (void)printf("one conversation of %d MB\n", b->big_mb);
    bench_big(b);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

int main(int argc, char **argv)
{
    static struct bench b = {.random = 42, .convs = CONVS, .big_mb = BIG_MB};
    const char *tmp = getenv("TMPDIR");
    if (argc > 1 && strcmp(argv[1], "--quick") == 0) {
        b.convs /= 100;
        b.big_mb /= 16;
    }
    (void)snprintf(b.root, sizeof(b.root), "%s/nb-bench-index-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(b.root))
        die(b.root);
    (void)snprintf(b.dir, sizeof(b.dir), "%s/conversations", b.root);
    (void)snprintf(b.big, sizeof(b.big), "%s/big", b.root);
    (void)snprintf(b.cache, sizeof(b.cache), "%s/cache", b.root);
    if (mkdir(b.dir, 0700) < 0 || mkdir(b.big, 0700) < 0)
        die(b.root);
    struct logger *log = logger_new(LOG_ERROR, LOG_TEXT, discard, NULL);
    b.loop = loop_new(log);
    b.bus = bus_new(b.loop);
    b.appender = appender_new(b.loop, 4);
    b.readers = pool_new(b.loop, "read", 4);
    b.env = (struct store_env){
        .loop = b.loop, .log = log, .bus = b.bus, .appender = b.appender, .readers = b.readers};
    run(&b);
    appender_free(b.appender);
    pool_free(b.readers);
    bus_free(b.bus);
    loop_free(b.loop);
    logger_free(log);
    (void)nftw(b.root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return b.failed != 0;
}
