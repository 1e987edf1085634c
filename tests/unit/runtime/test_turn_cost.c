/* What a turn costs: exact numbers of syncs, opens and writes, on a store of files, of jobs that
 * are handed over to another thread, and of JSON that is cloned. They may only become smaller.
 * Every message has the syncs between it and its model call, and those between the answer and its
 * acknowledgement. */
#include <dlfcn.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store/log/appender.h"
#include "support/rig.h"

struct cost {
    int syncs, opens; /* of files and directories */
    int writes;
    int jobs;
    int clones; /* of JSON values, by all threads */
};

static atomic_int syncs, opens, writes, jobs, clones;
static struct store_io counting;
static struct appender *appender;
static struct store_env env;

static int count_open(const struct store_io *io, const char *path, int flags, mode_t mode)
{
    atomic_fetch_add(&opens, 1);
    return store_io_system.open(io, path, flags, mode);
}

static ssize_t count_writev(const struct store_io *io, int fd, const struct iovec *iov, int n)
{
    atomic_fetch_add(&writes, 1);
    return store_io_system.writev(io, fd, iov, n);
}

static ssize_t count_pwrite(const struct store_io *io, int fd, str bytes, off_t at)
{
    atomic_fetch_add(&writes, 1);
    return store_io_system.pwrite(io, fd, bytes, at);
}

/* In place of that of the C library: pool_submit calls it once for each job. */
int sem_post(sem_t *s)
{
    static int (*system_post)(sem_t * s);
    if (!system_post)
        *(void **)&system_post = dlsym(RTLD_NEXT, "sem_post");
    atomic_fetch_add(&jobs, 1);
    return system_post(s);
}

struct json *__real_json_clone(struct arena *a, const struct json *v);
struct json *__wrap_json_clone(struct arena *a, const struct json *v);

struct json *__wrap_json_clone(struct arena *a, const struct json *v)
{
    atomic_fetch_add(&clones, 1);
    return __real_json_clone(a, v);
}

static int count_sync(const struct store_io *io, int fd)
{
    atomic_fetch_add(&syncs, 1);
    return store_io_system.sync(io, fd);
}

static int count_sync_dir(const struct store_io *io, int fd)
{
    atomic_fetch_add(&syncs, 1);
    return store_io_system.sync_dir(io, fd);
}

static void close_store(struct rig *r)
{
    bool is_closed = false;
    rig_stop_runtime(r);
    store_close(r->store, rig_set_true, &is_closed);
    rig_until(r, is_closed);
}

/* The rig, with a store of files instead of its memory store. journal_after: syncs in a second
 * that create a journal. */
static int setup_with(void **state, unsigned journal_after)
{
    struct err e = {0};
    assert_int_equal(rig_set_up(state), 0);
    struct rig *r = *state;
    counting = store_io_system;
    counting.open = count_open;
    counting.writev = count_writev;
    counting.pwrite = count_pwrite;
    counting.sync = count_sync;
    counting.sync_dir = count_sync_dir;
    close_store(r);
    struct appender_conf conf = {.threads = 4, .io = &counting, .journal_after = journal_after};
    appender = appender_new_with(r->loop, &conf);
    env = (struct store_env){
        .loop = r->loop, .bus = r->bus, .readers = r->pool, .appender = appender};
    struct store_conf store = {.type = "jsonl",
                               .workspace_id = RIG_WORKSPACE,
                               .dir = arena_printf(&r->arena, "%s/conversations", r->root).p};
    if (store_open(&env, &store, &r->store, &e) < 0)
        fail_msg("%s", e.msg);
    rig_start_runtime(r);
    return 0;
}

/* Each log is synced separately, however quick this machine is. */
static int setup(void **state)
{
    return setup_with(state, 1000000);
}

static int setup_busy(void **state)
{
    return setup_with(state, 1);
}

static int teardown(void **state)
{
    struct rig *r = *state;
    close_store(r);
    appender_free(appender);
    r->store = store_begin(r->loop, r->bus, r->pool, RIG_WORKSPACE);
    return rig_tear_down(state);
}

static struct cost take(void)
{
    return (struct cost){atomic_exchange(&syncs, 0), atomic_exchange(&opens, 0),
                         atomic_exchange(&writes, 0), atomic_exchange(&jobs, 0),
                         atomic_exchange(&clones, 0)};
}

static bool is_cost(struct cost is, struct cost want)
{
    bool is_same = memcmp(&is, &want, sizeof is) == 0;
    if (!is_same)
        print_message("%d syncs, %d opens, %d writes, %d jobs, %d clones; not %d, %d, %d, %d, %d\n",
                      is.syncs, is.opens, is.writes, is.jobs, is.clones, want.syncs, want.opens,
                      want.writes, want.jobs, want.clones);
    return is_same;
}

/* Costs are exact, unless this process is stopped for a second: then skills are looked at again, or
 * the journal ends. */
static void assert_soon(struct rig *r, bool (*is_exact)(struct rig *r))
{
    bool is_ok = false;
    for (int i = 0; i < 20 && !is_ok; i++)
        is_ok = is_exact(r);
    assert_true(is_ok);
}

#define COST(...) ((struct cost){__VA_ARGS__})

/* A message; returns when the model has been asked. */
static struct rig_turn *ask(struct rig *r, const char *conversation_id, struct cost *ret)
{
    MODEL(.text = "hello", .is_held = true);
    take();
    struct rig_turn *t = rig_send(r, r->ana, conversation_id, "hi");
    rig_until(r, model_waiting() == 1);
    *ret = take();
    return t;
}

static struct cost answer(struct rig *r, struct rig_turn *t)
{
    model_release();
    rig_until(r, t->is_over && list_empty(&r->runtime->titles));
    return take();
}

static bool is_new_cost(struct rig *r)
{
    struct cost asked;
    struct rig_turn *t = ask(r, "", &asked);
    /* The title and the usage of its call follow the acknowledgement, together. */
    return is_cost(answer(r, t), COST(.syncs = 1 + 1, .writes = 1 + 1, .jobs = 1 + 1)) &
           is_cost(asked, COST(.syncs = 2, .opens = 2, .writes = 1, .jobs = 1, .clones = 1));
}

TEST_WITH(a_new_conversation, setup, teardown)
{
    struct cost ignored;
    answer(*state, ask(*state, "", &ignored)); /* the first prompt of the store is written */
    assert_soon(*state, is_new_cost);
}

static struct rig_turn *begin(struct rig *r)
{
    struct cost ignored;
    struct rig_turn *t = ask(r, "", &ignored);
    answer(r, t);
    return t;
}

static bool is_further_cost(struct rig *r)
{
    struct cost asked;
    struct rig_turn *t = ask(r, begin(r)->conversation_id, &asked);
    /* The answer before it and the message itself, into the transcript that is kept. */
    return is_cost(answer(r, t), COST(.syncs = 1, .writes = 1, .jobs = 1)) &
           is_cost(asked, COST(.syncs = 1, .writes = 1, .jobs = 1, .clones = 2));
}

TEST_WITH(a_further_turn, setup, teardown)
{
    assert_soon(*state, is_further_cost);
}

/* One append for the answer with its calls, before they run; one for the results. */
static bool is_round_cost(struct rig *r)
{
    struct rig_turn *first = begin(r);
    MODEL(.calls = {{"t__ping", "{}"}, {"t__ping", "{\"a\":1}"}, {"t__ping", "{\"a\":2}"}});
    MODEL(.text = "done", .is_held = true);
    take();
    struct rig_turn *t = rig_send(r, r->ana, first->conversation_id, "go");
    rig_until(r, model_waiting() == 1);
    /* Two answers, the message and three results, into the transcript; no arguments. */
    struct cost asked = take();
    return is_cost(answer(r, t), COST(.syncs = 1, .writes = 1, .jobs = 1)) &
           is_cost(asked, COST(.syncs = 1 + 2, .writes = 1 + 2, .jobs = 1 + 2, .clones = 6));
}

TEST_WITH(a_tool_round, setup, teardown)
{
    assert_soon(*state, is_round_cost);
}

/* Three tools that answer one after the other; what it costs until the model gets their results. */
static struct cost answer_one_by_one(struct rig *r, const char *conversation_id)
{
    MODEL(.calls = {{"t__slow", "{}"}, {"t__slow", "{\"a\":1}"}, {"t__slow", "{\"a\":2}"}});
    MODEL(.text = "done", .is_held = true);
    take();
    struct rig_turn *t = rig_send(r, r->ana, conversation_id, "go");
    rig_until(r, list_count(&rig_tools.calls) == 3);
    for (size_t left = 3; left-- > 0;) {
        tools_release();
        rig_until(r, list_count(&rig_tools.calls) == left);
    }
    rig_until(r, model_waiting() == 1);
    struct cost is = take();
    answer(r, t);
    return is;
}

/* Results that come within a few milliseconds share an append. On a machine that is busy just then
 * they may come later; a result never waits long for the others. */
TEST_WITH(a_tool_round_with_results_at_different_times, setup, teardown)
{
    struct rig *r = *state;
    struct rig_turn *first = begin(r);
    struct cost is = {0};
    for (int i = 0; i < 100 && is.jobs != 1 + 2; i++)
        is = answer_one_by_one(r, first->conversation_id);
    assert_true(is_cost(is, COST(.syncs = 1 + 2, .writes = 1 + 2, .jobs = 1 + 2, .clones = 6)));
}

/* ---- a busy directory: its logs share a journal ---- */

/* Conversations, one after the other, until the journal is there: a new one needs one sync then. */
static void begin_busy(struct rig *r)
{
    struct cost asked = {0};
    for (int i = 0; i < 1000 && asked.syncs != 1; i++)
        answer(r, ask(r, "", &asked));
    assert_int_equal(asked.syncs, 1);
}

/* A new conversation and a further turn: a write to the log and one to the journal, one sync. */
static bool is_busy_cost(struct rig *r)
{
    struct cost asked;
    begin_busy(r);
    struct rig_turn *t = ask(r, "", &asked);
    bool is_ok = is_cost(asked, COST(.syncs = 1, .opens = 1, .writes = 2, .jobs = 1, .clones = 1)) &
                 is_cost(answer(r, t), COST(.syncs = 1 + 1, .writes = 2 + 2, .jobs = 1 + 1));
    t = ask(r, t->conversation_id, &asked);
    return is_cost(answer(r, t), COST(.syncs = 1, .writes = 2, .jobs = 1)) && is_ok &&
           is_cost(asked, COST(.syncs = 1, .writes = 2, .jobs = 1, .clones = 2));
}

TEST_WITH(turns_of_a_busy_directory, setup_busy, teardown)
{
    assert_soon(*state, is_busy_cost);
}

enum { IN_A_ROW = 5 };

static struct cost talk_in_a_row(struct rig *r)
{
    take();
    for (int i = 0; i < IN_A_ROW; i++) {
        MODEL(.text = "hello");
        struct rig_turn *t = rig_send(r, r->ana, "", "hi");
        rig_until(r, t->is_over);
    }
    rig_until(r, list_empty(&r->runtime->titles));
    return take();
}

/* The title of a conversation is written with the messages of the next: only the last one needs a
 * sync of its own. A machine that stops this process for a while sees one more. */
TEST_WITH(titles_of_a_busy_directory, setup_busy, teardown)
{
    struct rig *r = *state;
    struct cost is = {0};
    for (int i = 0; i < 20 && (is.syncs != 2 * IN_A_ROW + 1 || is.jobs != is.syncs); i++) {
        begin_busy(r);
        is = talk_in_a_row(r);
    }
    assert_int_equal(is.syncs, 2 * IN_A_ROW + 1);
    assert_int_equal(is.jobs, 2 * IN_A_ROW + 1);
}

/* ---- long logs: what a turn reads ---- */

/* Reads of logs by all threads: in place of the function of the C library. */
static atomic_size_t log_bytes;

static bool is_log(int fd)
{
    char name[64], path[512];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, path, sizeof path);
    return n > 0 && str_ends(str_make(path, (size_t)n), STR(".jsonl"));
}

ssize_t pread(int fd, void *buf, size_t count, off_t offset)
{
    ssize_t n = syscall(SYS_pread64, fd, buf, count, offset);
    if (n > 0 && is_log(fd))
        atomic_fetch_add(&log_bytes, (size_t)n);
    return n;
}

#define WORDS "0123456789012345678901234567890123456789"

enum { EVENTS_PER_TURN = 4, SUMMARY_EVERY = 250, KEPT = 100, SAID = 80000 / 40 };

/* A log as turns leave it behind: a summary after every SUMMARY_EVERY of them. */
static const char *write_log(struct rig *r, size_t events)
{
    static const char LINES[] =
        "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"user.message\",\"content\":[{\"type\":"
        "\"text\",\"text\":\"" WORDS "\"}],\"userId\":\"usr_ana\"}\n"
        "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"run.start\",\"runId\":\"run_1\",\"model\":"
        "\"demo:demo\"}\n"
        "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"llm.response\",\"runId\":\"run_1\","
        "\"model\":\"demo:demo\",\"content\":[{\"type\":\"text\",\"text\":\"" WORDS
        "\"}],\"inputTokens\":10,\"outputTokens\":10,\"finishReason\":\"stop\"}\n"
        "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"run.done\",\"runId\":\"run_1\","
        "\"stopReason\":\"complete\",\"iterations\":1,\"totalMs\":1}\n";
    static const char SUMMARY[] =
        "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"history.compacted\",\"summary\":\"S\","
        "\"keptMessages\":100,\"summarizedMessageCount\":400}\n";
    const char *id = arena_printf(&r->arena, "conv_%zu", events).p;
    const char *path = arena_printf(&r->arena, "%s/conversations/%s.jsonl", r->root, id).p;
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fprintf(f,
            "{\"id\":\"%s\",\"createdAt\":\"2026-01-01T00:00:00.000Z\",\"ownerId\":\"usr_ana\","
            "\"title\":\"t\"}\n",
            id);
    for (size_t i = 1; i <= events / EVENTS_PER_TURN; i++) {
        (void)fputs(LINES, f);
        if (i % SUMMARY_EVERY == 0)
            (void)fputs(SUMMARY, f);
    }
    assert_int_equal(fclose(f), 0);
    return id;
}

static void start_again(struct rig *r)
{
    struct err e = {0};
    close_store(r);
    struct store_conf conf = {.type = "jsonl",
                              .workspace_id = RIG_WORKSPACE,
                              .cache_dir = arena_printf(&r->arena, "%s/cache", r->root).p,
                              .dir = arena_printf(&r->arena, "%s/conversations", r->root).p};
    if (store_open(&env, &conf, &r->store, &e) < 0)
        fail_msg("%s", e.msg);
    rig_start_runtime(r);
}

static void on_listed(void *is_done, const struct err *err, const struct store_listing *l)
{
    assert_null(err);
    assert_int_equal(l->nunreadable, 0);
    *(bool *)is_done = true;
}

/* The index knows every log afterwards. */
static void list(struct rig *r)
{
    bool is_done = false;
    store_list(r->store, &(struct store_query){0}, on_listed, &is_done);
    rig_until(r, is_done);
}

struct reading {
    size_t bytes, lines, parsed, memory;
};

static struct reading read_by_turn(struct rig *r, const char *id)
{
    MODEL(.text = "hello", .is_held = true);
    atomic_store(&log_bytes, 0);
    struct rig_turn *t = rig_send(r, r->ana, id, "hi");
    rig_until(r, model_waiting() == 1);
    const struct turn *turn = t->turn->turn;
    struct reading is = {atomic_load(&log_bytes), turn->model_lines.nlooked,
                         turn->model_lines.nparsed, transcript_size(turn->transcript)};
    model_release();
    rig_until(r, t->is_over);
    return is;
}

/* The first turn after a start reads what the model gets: the 100 messages that the summary keeps,
 * and 80,000 bytes of what the user said before. A further one reads nothing. */
TEST_WITH(a_turn_in_a_long_log, setup, teardown)
{
    static const size_t EVENTS[] = {10, 1000, 10000, 100000};
    static const size_t BYTES_MAX[] = {6000, 700000, 2500000, 2500000};
    struct rig *r = *state;
    const char *ids[ARRAY_LEN(EVENTS)];
    struct reading cold = {0}, before = {0};
    for (size_t i = 0; i < ARRAY_LEN(EVENTS); i++)
        ids[i] = write_log(r, EVENTS[i]);
    start_again(r);
    list(r);
    start_again(r);
    for (size_t i = 0; i < ARRAY_LEN(EVENTS); i++) {
        before = cold;
        cold = read_by_turn(r, ids[i]);
        printf("%6zu events: %7zu bytes, %5zu lines, %4zu parsed, %6zu bytes kept\n", EVENTS[i],
               cold.bytes, cold.lines, cold.parsed, cold.memory);
        assert_true(cold.bytes <= BYTES_MAX[i]);
        assert_true(cold.memory < 1024u * 1024);
        struct reading warm = read_by_turn(r, ids[i]);
        assert_int_equal(warm.bytes, 0);
        assert_int_equal(warm.lines, 0);
    }
    /* 10,000 and 100,000 events: the same. */
    assert_int_equal(cold.lines, before.lines);
    assert_int_equal(cold.parsed, before.parsed);
    assert_int_equal(cold.memory, before.memory);
    assert_int_equal(cold.parsed, KEPT + SAID + 1);
}

/* Without an index the log is read once, to know whose it is; the model gets the same. */
TEST_WITH(a_missing_index_costs_time_only, setup, teardown)
{
    struct rig *r = *state;
    const char *id = write_log(r, 10000);
    struct reading is = read_by_turn(r, id);
    const char *with = rig_model.seen[rig_model.nseen - 1].messages;
    assert_true(is.bytes > 1500000);
    id = write_log(r, 10000);
    start_again(r);
    list(r);
    start_again(r);
    read_by_turn(r, id);
    assert_string_equal(rig_model.seen[rig_model.nseen - 1].messages, with);
}
