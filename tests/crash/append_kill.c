/* append_kill.c - a writer is killed at random moments; what it was told is durable must be
 * there afterwards, in order, once.
 *
 *     append_kill KILLS [STORE [SEED]]    STORE: jsonl, folder
 *
 * Each round forks a writer that appends numbered events to several conversations, many in
 * flight, and reports every acknowledgement through a pipe. 0 to MAX_RUN_US after its first
 * acknowledgement it gets SIGKILL; every fourth writer 0 to MAX_RUN_US after its start, which may
 * be before it created a log. Then the logs are read with plain file I/O. The
 * next writer goes on in the same logs, so that it must cope with what the last one left. Every
 * other one has a journal, from its first append on (jsonl). */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/folder/folder_record.h"
#include "store/log/appender.h"
#include "store/log/journal.h"
#include "store/store.h"

enum {
    CONVS = 4,
    IN_FLIGHT = 16,
    MAX_RUN_US = 40000,
    ROUNDS_PER_SET = 20,
    LARGE_EVERY = 37,
    EARLY_EVERY = 4,
    START_MS = 60000
};

static const char *store_type = "jsonl";

static const struct appender_conf APPENDER = {.threads = 4};
static const struct appender_conf JOURNALLED = {
    .threads = 4, .journal_after = 1, .journal_bytes = 16 * JOURNAL_BLOCK};

struct ack {
    int conv;
    int number;
};

/* ---- the writer ---- */

struct writer {
    struct loop *loop;
    struct store_env env;
    struct store *store;
    int pipe;
    int next[CONVS];
    char id[CONVS][32];
    char *large; /* a result that is spilled */
};

struct flight {
    struct writer *w;
    struct ack ack;
};

static void append_next(struct writer *w, int conv);

static void on_append(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct flight *f = ctx;
    struct writer *w = f->w;
    if (err) {
        fprintf(stderr, "writer: %s\n", err->msg);
        _exit(3);
    }
    if (write(w->pipe, &f->ack, sizeof(f->ack)) != sizeof(f->ack))
        _exit(4);
    int conv = f->ack.conv;
    free(f);
    append_next(w, conv);
}

static void append_next(struct writer *w, int conv)
{
    struct flight *f = xcalloc(1, sizeof(*f));
    *f = (struct flight){.w = w, .ack = {conv, w->next[conv]++}};
    bool is_large = f->ack.number % LARGE_EVERY == 0;
    struct buf line;
    buf_init(&line, 1u << 20);
    buf_printf(&line, "{\"type\":\"%s\",\"n\":%d,\"x\":\"%s\"}", is_large ? "tool.done" : "t",
               f->ack.number, is_large ? w->large : "some text that makes the line longer");
    str event = buf_str(&line);
    store_append(w->store, str_from(w->id[conv]), &event, 1, on_append, f);
    buf_done(&line);
}

static void on_create(void *ctx, const struct err *err, const struct conv *conv)
{
    struct flight *f = ctx;
    struct writer *w = f->w;
    int which = f->ack.conv;
    if (err && err->code != -EEXIST) {
        fprintf(stderr, "writer: %s\n", err->msg);
        _exit(3);
    }
    free(f);
    for (int i = 0; i < IN_FLIGHT; i++)
        append_next(w, which);
}

static void write_for_ever(const char *dir, const int next[CONVS], bool is_journalled, int pipe)
{
    struct writer *w = xcalloc(1, sizeof(*w));
    w->pipe = pipe;
    w->loop = loop_new(NULL);
    w->env = (struct store_env){
        .loop = w->loop,
        .bus = bus_new(w->loop),
        .appender = appender_new_with(w->loop, is_journalled ? &JOURNALLED : &APPENDER),
        .readers = pool_new(w->loop, "read", 1)};
    w->large = xcalloc(1, STORE_SPILL_BYTES + 100);
    memset(w->large, 'L', STORE_SPILL_BYTES + 50);
    struct store_conf conf = {.type = store_type, .dir = dir, .workspace_id = "ws"};
    if (store_open(&w->env, &conf, &w->store, NULL) < 0)
        _exit(5);
    for (int i = 0; i < CONVS; i++) {
        w->next[i] = next[i];
        (void)snprintf(w->id[i], sizeof(w->id[i]), "conv_%d", i);
        struct flight *f = xcalloc(1, sizeof(*f));
        *f = (struct flight){.w = w, .ack.conv = i};
        struct conv_create spec = {.id = str_from(w->id[i]), .owner_id = STR("usr_a")};
        store_create(w->store, &spec, on_create, f);
    }
    loop_run(w->loop);
    _exit(6);
}

/* ---- the judge ---- */

struct place { /* of one conversation */
    char log[512], blobs[512];
};

static bool is_folder(void)
{
    return strcmp(store_type, "folder") == 0;
}

/* False while there is no such conversation. */
static bool find_place(const char *dir, int conv, struct place *ret)
{
    if (!is_folder()) {
        (void)snprintf(ret->log, sizeof(ret->log), "%s/conv_%d.jsonl", dir, conv);
        (void)snprintf(ret->blobs, sizeof(ret->blobs), "%s/conv_%d.blobs", dir, conv);
        return access(ret->log, F_OK) == 0;
    }
    char pattern[512];
    glob_t found;
    (void)snprintf(pattern, sizeof(pattern), "%s/conversations/*-conv_%d", dir, conv);
    bool is_there = glob(pattern, 0, NULL, &found) == 0;
    if (is_there) {
        (void)snprintf(ret->log, sizeof(ret->log), "%s/chat.jsonl", found.gl_pathv[0]);
        (void)snprintf(ret->blobs, sizeof(ret->blobs), "%s/blobs", found.gl_pathv[0]);
        globfree(&found);
    }
    return is_there;
}

static int check_event(const struct place *place, str line, int *ret_number)
{
    struct arena a;
    struct json *v;
    struct stat st;
    arena_init(&a);
    int r = json_parse(&a, is_folder() ? folder_event(&a, line) : line, 0, &v, NULL);
    str type = json_get_string(v, "type");
    *ret_number = (int)json_get_int(v, "n", -1);
    if (r == 0 && str_eq(type, STR("tool.done"))) {
        str blob = json_get_string(json_get(v, "x"), "$blob");
        const char *path = arena_printf(&a, "%s/%.*s", place->blobs, STR_ARG(blob)).p;
        if (!blob.n || stat(path, &st) < 0 || st.st_size != (off_t)STORE_SPILL_BYTES + 52)
            r = -ENOENT; /* the event names a blob that is not whole */
    }
    arena_done(&a);
    return r;
}

/* Goes through one log; the numbers must run from 0 without a gap. Returns how many there
 * are, or -1 with a message. */
static int count_events(const char *dir, int conv)
{
    struct place place;
    FILE *f = find_place(dir, conv, &place) ? fopen(place.log, "re") : NULL;
    if (!f)
        return 0;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int expected = 0, number = 0;
    for (bool is_first = true; expected >= 0 && (n = getline(&line, &cap, f)) > 0;
         is_first = false) {
        if (line[n - 1] != '\n' || is_first)
            continue; /* a torn tail: nothing that was acknowledged */
        int r = check_event(&place, str_make(line, (size_t)n - 1), &number);
        if (r < 0 || number != expected) {
            printf("# %s: expected event %d, found %d (%s)\n", place.log, expected, number,
                   r < 0 ? "bad line or blob" : "out of order");
            expected = -2;
        }
        expected++;
    }
    free(line);
    (void)fclose(f);
    return expected;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static void drain(int pipe, int acked[CONVS], long *total)
{
    struct ack a;
    ssize_t n;
    while ((n = read(pipe, &a, sizeof(a))) == sizeof(a)) {
        if (a.number != acked[a.conv])
            printf("# acknowledged %d of conversation %d out of order\n", a.number, a.conv);
        acked[a.conv] = a.number + 1;
        ++*total;
    }
}

/* The pipe is read only after the kill: an acknowledgement that found room in it was given, and
 * the writer blocks in the pipe at worst. */
static void wait_for_moment(int pipe, bool is_early)
{
    struct pollfd first = {.fd = pipe, .events = POLLIN};
    if (!is_early)
        (void)poll(&first, 1, START_MS);
    usleep((useconds_t)(random() % MAX_RUN_US));
}

/* One kill. next[] is what the logs held before, and after. */
static bool play_round(const char *dir, int next[CONVS], uint64_t round, long *total)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return false;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0) {
        close(fds[0]);
        write_for_ever(dir, next, round % 2, fds[1]);
    }
    close(fds[1]);
    wait_for_moment(fds[0], round % EARLY_EVERY == 0);
    kill(pid, SIGKILL);
    int status, acked[CONVS];
    memcpy(acked, next, sizeof(acked));
    drain(fds[0], acked, total);
    waitpid(pid, &status, 0);
    close(fds[0]);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
        printf("# the writer ended before it was killed: status %x\n", status);
        return false;
    }
    for (int i = 0; i < CONVS; i++) {
        next[i] = count_events(dir, i);
        if (next[i] < acked[i]) {
            printf("# conversation %d: %d acknowledged, %d found\n", i, acked[i], next[i]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    uint64_t kills = 500, seed = (uint64_t)clock_now_ms();
    if (argc > 1 && parse_u64(str_from(argv[1]), &kills) < 0)
        return 2;
    if (argc > 2)
        store_type = argv[2];
    if (argc > 3 && parse_u64(str_from(argv[3]), &seed) < 0)
        return 2;
    srandom((unsigned)seed);
    const char *tmp = getenv("TMPDIR");
    char dir[256];
    int next[CONVS];
    long total = 0;
    bool ok = true;
    uint64_t done = 0;
    while (ok && done < kills) {
        (void)snprintf(dir, sizeof(dir), "%s/nb-crash-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(dir))
            return 2;
        memset(next, 0, sizeof(next));
        for (int i = 0; ok && i < ROUNDS_PER_SET && done < kills; i++, done++)
            ok = play_round(dir, next, done, &total);
        if (ok)
            (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        else
            printf("# seed %llu, kept %s\n", (unsigned long long)seed, dir);
    }
    printf("# %llu kills, %ld events acknowledged\n", (unsigned long long)done, total);
    ok = ok && total > (long)kills; /* else it was killed before it did anything */
    printf("%s every acknowledged event survives SIGKILL (%s)\n1..1\n", ok ? "ok" : "not ok",
           store_type);
    return !ok;
}
