/* Logs that share a sync: when there is a journal, what one sync carries, and who is synced
 * when it goes. */
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>

#include "rig.h"
#include "store/log/commit.h"
#include "store/log/replay.h"

enum { LOGS = 10, HALF = 8 * JOURNAL_BLOCK };

struct recorder {
    struct store_io io;
    atomic_int log_syncs, journal_syncs, dir_syncs;
    atomic_bool fails_log_syncs, fails_journal_syncs, fails_writes;
};

struct test {
    struct dir_changes changes;
    struct rig rig;
    struct recorder rec;
};

static int rec_sync(const struct store_io *io, int fd)
{
    struct recorder *r = io->ctx;
    char link[64], path[400] = {0};
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    assert_true(readlink(link, path, sizeof(path) - 1) > 0);
    bool is_journal = strstr(path, "/" JOURNAL_DIR "/") != NULL;
    atomic_fetch_add(is_journal ? &r->journal_syncs : &r->log_syncs, 1);
    if (atomic_load(is_journal ? &r->fails_journal_syncs : &r->fails_log_syncs))
        return -EIO;
    return store_io_system.sync(io, fd);
}

static int rec_sync_dir(const struct store_io *io, int fd)
{
    struct recorder *r = io->ctx;
    atomic_fetch_add(&r->dir_syncs, 1);
    return store_io_system.sync_dir(io, fd);
}

/* Half of it is in the file when it fails. */
static ssize_t rec_writev(const struct store_io *io, int fd, const struct iovec *iov, int n)
{
    struct recorder *r = io->ctx;
    if (!atomic_load(&r->fails_writes))
        return store_io_system.writev(io, fd, iov, n);
    const struct iovec half = {iov[0].iov_base, iov[0].iov_len / 2};
    assert_true(store_io_system.writev(io, fd, &half, 1) > 0);
    return -ENOSPC;
}

static struct test *begin(unsigned journal_after)
{
    struct test *t = xcalloc(1, sizeof(*t));
    t->rec.io = store_io_system;
    t->rec.io.sync = rec_sync;
    t->rec.io.sync_dir = rec_sync_dir;
    t->rec.io.writev = rec_writev;
    t->rec.io.ctx = &t->rec;
    struct appender_conf conf = {
        .threads = 4, .io = &t->rec.io, .journal_after = journal_after, .journal_bytes = HALF};
    rig_init_with(&t->rig, NULL, &conf);
    assert_int_equal(mkdir(t->rig.conv_dir, 0700), 0);
    return t;
}

static void end(struct test *t)
{
    rig_done(&t->rig);
    free(t);
}

/* ---- tasks ---- */

struct item {
    struct log_task task;
    char path[400];
    str line;
    bool is_done;
    int journal_syncs; /* when it was answered */
    int log_syncs;     /* when it was run */
    bool had_journal;  /* the same */
    struct test *test;
};

static void on_done(struct log_task *task)
{
    struct item *i = CONTAINER_OF(task, struct item, task);
    i->is_done = true;
    i->journal_syncs = atomic_load(&i->test->rec.journal_syncs);
}

static void start(struct test *t, struct item *i, int log, enum log_task_kind kind, str line)
{
    *i = (struct item){.test = t, .line = line};
    i->task = (struct log_task){
        .kind = kind, .lines = &i->line, .n = 1, .bytes = line.n, .done = on_done};
    (void)snprintf(i->path, sizeof(i->path), "%s/conv_%d.jsonl", t->rig.conv_dir, log);
    struct log_spec spec = {
        .path = i->path, .owner = t, .journal_dir = t->rig.conv_dir, .changes = &t->changes};
    appender_submit(t->rig.appender, &spec, &i->task);
}

static int finish(struct test *t, struct item *i)
{
    assert_true(loop_run_until(t->rig.loop, &i->is_done, RIG_WAIT_MS));
    return i->task.err.code;
}

static int run(struct test *t, int log, enum log_task_kind kind, const char *line)
{
    struct item i;
    start(t, &i, log, kind, str_from(line));
    return finish(t, &i);
}

static void turn(struct test *t, uint64_t ms)
{
    bool never = false;
    (void)loop_run_until(t->rig.loop, &never, ms);
}

/* ---- the journal ---- */

static bool has_dir(struct test *t)
{
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/" JOURNAL_DIR, t->rig.conv_dir);
    return access(path, F_OK) == 0;
}

static void wait_for_dir(struct test *t, bool is_there)
{
    uint64_t deadline = clock_mono_ms() + RIG_WAIT_MS;
    while (has_dir(t) != is_there && clock_mono_ms() < deadline)
        turn(t, 20);
    assert_int_equal(has_dir(t), is_there);
}

/* Makes the logs, and appends until an append is carried by a journal. */
static void engage(struct test *t, int logs)
{
    for (int i = 0; i < logs; i++)
        assert_int_equal(run(t, i, LOG_CREATE, "{}\n"), 0);
    uint64_t deadline = clock_mono_ms() + RIG_WAIT_MS;
    for (int syncs = -1; syncs != atomic_load(&t->rec.log_syncs);) {
        assert_true(clock_mono_ms() < deadline);
        syncs = atomic_load(&t->rec.log_syncs);
        assert_int_equal(run(t, 0, LOG_APPEND, "{}\n"), 0);
    }
    assert_true(has_dir(t));
}

static void engage_again(struct test *t)
{
    uint64_t deadline = clock_mono_ms() + RIG_WAIT_MS;
    while (!has_dir(t) && clock_mono_ms() < deadline)
        assert_int_equal(run(t, 0, LOG_APPEND, "{}\n"), 0);
    for (int syncs = -1; syncs != atomic_load(&t->rec.log_syncs);) {
        assert_true(clock_mono_ms() < deadline);
        syncs = atomic_load(&t->rec.log_syncs);
        assert_int_equal(run(t, 0, LOG_APPEND, "{}\n"), 0);
    }
}

static void release(struct test *t)
{
    t->rig.done = false;
    appender_release(t->rig.appender, t, rig_set_done, &t->rig);
    rig_wait(&t->rig);
}

TEST(rare_syncs_need_no_journal)
{
    struct test *t = begin(20);
    assert_int_equal(run(t, 0, LOG_CREATE, "{}\n"), 0);
    for (int i = 0; i < 24; i++) {
        if (i == 12)
            turn(t, 2 * APPENDER_INTERVAL_MS); /* what was counted is forgotten */
        assert_int_equal(run(t, 0, LOG_APPEND, "{}\n"), 0);
    }
    assert_false(has_dir(t));
    engage(t, 0);
    end(t);
}

TEST(one_sync_for_all)
{
    struct test *t = begin(1);
    struct item items[LOGS];
    engage(t, LOGS);
    int log_syncs = atomic_load(&t->rec.log_syncs);
    int journal_syncs = atomic_load(&t->rec.journal_syncs);
    for (int i = 0; i < LOGS; i++)
        start(t, &items[i], i, LOG_APPEND, STR("{\"x\":1}\n"));
    for (int i = 0; i < LOGS; i++) {
        assert_int_equal(finish(t, &items[i]), 0);
        assert_int_equal(items[i].journal_syncs, journal_syncs + 1);
        uint64_t at;
        assert_true(appender_end(t->rig.appender, items[i].path, &at));
        assert_int_equal(at, items[i].task.start + strlen("{\"x\":1}\n"));
    }
    assert_int_equal(atomic_load(&t->rec.journal_syncs), journal_syncs + 1);
    assert_int_equal(atomic_load(&t->rec.log_syncs), log_syncs);
    release(t);
    assert_false(has_dir(t));
    assert_int_equal(atomic_load(&t->rec.log_syncs), log_syncs + LOGS);
    end(t);
}

/* The index would compare all logs because of a directory that comes and goes. */
TEST(the_directory_of_the_journal_is_a_change_of_our_own)
{
    struct test *t = begin(1);
    engage(t, 1);
    assert_int_equal(atomic_load(&t->changes.begun), 1);
    assert_int_equal(atomic_load(&t->changes.ended), 1);
    release(t);
    assert_false(has_dir(t));
    assert_int_equal(atomic_load(&t->changes.begun), 2);
    assert_int_equal(atomic_load(&t->changes.ended), 2);
    assert_true(atomic_load(&t->changes.ended_at_ms) <= clock_now_ms());
    end(t);
}

TEST(a_reopened_log_is_synced_first)
{
    struct test *t = begin(1);
    engage(t, 1);
    struct item i;
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/conv_7.jsonl", t->rig.conv_dir);
    FILE *f = fopen(path, "we"); /* by whom, and is it synced? */
    (void)fputs("{}\n", f);
    (void)fclose(f);
    int syncs = atomic_load(&t->rec.log_syncs);
    assert_int_equal(run(t, 7, LOG_APPEND, "{}\n"), 0);
    assert_int_equal(atomic_load(&t->rec.log_syncs), syncs + 1);
    assert_int_equal(run(t, 7, LOG_APPEND, "{}\n"), 0);
    assert_int_equal(atomic_load(&t->rec.log_syncs), syncs + 1);
    f = fopen(path, "ae"); /* somebody writes to it while it is open here */
    (void)fputs("{}\n", f);
    (void)fclose(f);
    start(t, &i, 7, LOG_APPEND, STR("{}\n"));
    assert_int_equal(finish(t, &i), 0);
    assert_int_equal(i.task.start, 12);
    assert_int_equal(atomic_load(&t->rec.log_syncs), syncs + 3); /* on closing, and the new one */
    end(t);
}

/* Until the log is synced, a loss of power may leave the half line where the next one begins. */
TEST(a_log_that_was_cut_is_synced_first)
{
    struct test *t = begin(1);
    engage(t, 1);
    atomic_store(&t->rec.fails_writes, true);
    assert_int_equal(run(t, 0, LOG_APPEND, "{\"lost\":1}\n"), -ENOSPC);
    atomic_store(&t->rec.fails_writes, false);
    int syncs = atomic_load(&t->rec.log_syncs), shared = atomic_load(&t->rec.journal_syncs);
    assert_int_equal(run(t, 0, LOG_APPEND, "{}\n"), 0);
    assert_int_equal(atomic_load(&t->rec.log_syncs), syncs + 1);
    assert_int_equal(atomic_load(&t->rec.journal_syncs), shared);
    assert_int_equal(run(t, 0, LOG_APPEND, "{}\n"), 0);
    assert_int_equal(atomic_load(&t->rec.journal_syncs), shared + 1);
    end(t);
}

TEST(large_appends_go_by_themselves)
{
    struct test *t = begin(1);
    engage(t, 1);
    char *line = xcalloc(1, COMMIT_LOG_BYTES + 2);
    memset(line, 'x', COMMIT_LOG_BYTES);
    line[COMMIT_LOG_BYTES] = '\n';
    int syncs = atomic_load(&t->rec.log_syncs), shared = atomic_load(&t->rec.journal_syncs);
    assert_int_equal(run(t, 0, LOG_APPEND, line), 0);
    assert_int_equal(atomic_load(&t->rec.log_syncs), syncs + 1);
    assert_int_equal(atomic_load(&t->rec.journal_syncs), shared);
    free(line);
    end(t);
}

TEST(halves_take_turns)
{
    struct test *t = begin(1);
    char line[JOURNAL_BLOCK];
    memset(line, 'x', sizeof(line));
    memcpy(line + sizeof(line) - 2, "\n", 2);
    engage(t, 2);
    int syncs = atomic_load(&t->rec.log_syncs), shared = atomic_load(&t->rec.journal_syncs);
    enum { N = 40 }; /* two blocks each: ten halves */
    for (int i = 0; i < N; i++)
        assert_int_equal(run(t, 0, LOG_APPEND, line), 0);
    assert_true(atomic_load(&t->rec.journal_syncs) - shared > N / 2);
    assert_true(atomic_load(&t->rec.log_syncs) > syncs);
    assert_true(atomic_load(&t->rec.log_syncs) - syncs < N / 2);
    end(t);
}

static int move_away(struct log_task *task, const struct store_io *io)
{
    struct item *i = CONTAINER_OF(task, struct item, task);
    char to[500];
    i->log_syncs = atomic_load(&i->test->rec.log_syncs);
    (void)snprintf(to, sizeof(to), "%s.gone", i->path);
    return io->rename(io, i->path, to);
}

TEST(it_is_synced_before_it_moves)
{
    struct test *t = begin(1);
    engage(t, 1);
    int syncs = atomic_load(&t->rec.log_syncs);
    struct item i = {.test = t};
    i.task = (struct log_task){.kind = LOG_RUN, .run = move_away, .done = on_done};
    (void)snprintf(i.path, sizeof(i.path), "%s/conv_0.jsonl", t->rig.conv_dir);
    struct log_spec spec = {.path = i.path, .owner = t, .journal_dir = t->rig.conv_dir};
    appender_submit(t->rig.appender, &spec, &i.task);
    assert_int_equal(finish(t, &i), 0);
    assert_int_equal(i.log_syncs, syncs + 1);
    end(t);
}

/* New logs share the sync of the journal; later one sync of the directory is for all of them. */
TEST(creations_share_a_sync)
{
    struct test *t = begin(1);
    struct item items[LOGS];
    engage(t, 1);
    int log_syncs = atomic_load(&t->rec.log_syncs), dir_syncs = atomic_load(&t->rec.dir_syncs);
    int journal_syncs = atomic_load(&t->rec.journal_syncs);
    for (int i = 0; i < LOGS; i++)
        start(t, &items[i], i + 1, LOG_CREATE, STR("{\"x\":1}\n"));
    for (int i = 0; i < LOGS; i++) {
        assert_int_equal(finish(t, &items[i]), 0);
        assert_int_equal(items[i].journal_syncs, journal_syncs + 1);
    }
    assert_int_equal(atomic_load(&t->rec.log_syncs), log_syncs);
    assert_int_equal(atomic_load(&t->rec.dir_syncs), dir_syncs);
    assert_int_equal(run(t, 1, LOG_CREATE, "{}\n"), -EEXIST);
    assert_int_equal(run(t, 1, LOG_APPEND, "{\"x\":2}\n"), 0);
    assert_int_equal(atomic_load(&t->rec.log_syncs), log_syncs);
    release(t);
    assert_false(has_dir(t));
    assert_int_equal(atomic_load(&t->rec.log_syncs), log_syncs + LOGS + 1);
    assert_true(atomic_load(&t->rec.dir_syncs) > dir_syncs);
    end(t);
}

/* ---- appends that nobody waits for ---- */

static void start_patient(struct test *t, struct item *i, int log)
{
    *i = (struct item){.test = t, .line = STR("{\"later\":1}\n")};
    i->task = (struct log_task){.kind = LOG_APPEND,
                                .lines = &i->line,
                                .n = 1,
                                .bytes = i->line.n,
                                .may_wait = true,
                                .done = on_done};
    (void)snprintf(i->path, sizeof(i->path), "%s/conv_%d.jsonl", t->rig.conv_dir, log);
    struct log_spec spec = {
        .path = i->path, .owner = t, .journal_dir = t->rig.conv_dir, .changes = &t->changes};
    appender_submit(t->rig.appender, &spec, &i->task);
    turn(t, 0); /* what need not wait would start now */
}

/* The syncs of an append that may wait and of one to `log` that comes after it. */
static int sync_after_patient(struct test *t, int log)
{
    struct item later, now;
    int before = atomic_load(&t->rec.journal_syncs);
    start_patient(t, &later, 1);
    start(t, &now, log, LOG_APPEND, STR("{\"now\":1}\n"));
    assert_int_equal(finish(t, &now), 0);
    assert_int_equal(finish(t, &later), 0);
    if (log == 1)
        assert_int_equal(now.task.start, later.task.start + later.line.n);
    return atomic_load(&t->rec.journal_syncs) - before;
}

/* One sync, unless this process was stopped for COMMIT_WAIT_MS between the two. */
static void check_patient(struct test *t, int log)
{
    int syncs = 0;
    for (int i = 0; i < 100 && syncs != 1; i++)
        syncs = sync_after_patient(t, log);
    assert_int_equal(syncs, 1);
}

TEST(an_append_that_may_wait_shares_the_next_sync)
{
    struct test *t = begin(1);
    engage(t, 2);
    assert_int_equal(run(t, 1, LOG_APPEND, "{}\n"), 0);
    check_patient(t, 0); /* of another log */
    check_patient(t, 1); /* of the same log, in order */
    end(t);
}

TEST(an_append_that_may_wait_does_not_wait_for_ever)
{
    struct test *t = begin(1);
    struct item i;
    engage(t, 2);
    int syncs = atomic_load(&t->rec.journal_syncs);
    start_patient(t, &i, 1);
    assert_int_equal(finish(t, &i), 0);
    assert_int_equal(atomic_load(&t->rec.journal_syncs), syncs + 1);
    start_patient(t, &i, 1);
    release(t); /* waits for it */
    assert_true(i.is_done);
    assert_int_equal(i.task.err.code, 0);
    end(t);
}

static int remove_log(struct log_task *task, const struct store_io *io)
{
    struct item *i = CONTAINER_OF(task, struct item, task);
    i->had_journal = has_dir(i->test);
    return unlink(i->path) == 0 ? 0 : err_set(&task->err, -errno, "unlink");
}

static int delete_log(struct test *t, struct item *i, int log)
{
    *i = (struct item){.test = t};
    i->task = (struct log_task){.kind = LOG_RUN, .run = remove_log, .done = on_done};
    (void)snprintf(i->path, sizeof(i->path), "%s/conv_%d.jsonl", t->rig.conv_dir, log);
    struct log_spec spec = {.path = i->path, .owner = t, .journal_dir = t->rig.conv_dir};
    appender_submit(t->rig.appender, &spec, &i->task);
    return finish(t, i);
}

/* Replay would create it again. */
TEST(a_log_that_the_journal_created_is_deleted_after_the_journal)
{
    struct test *t = begin(1);
    struct item i;
    engage(t, 1);
    assert_int_equal(run(t, 2, LOG_CREATE, "{}\n"), 0);
    assert_int_equal(run(t, 3, LOG_CREATE, "{}\n"), 0);
    assert_int_equal(delete_log(t, &i, 2), 0);
    assert_false(i.had_journal);
    engage_again(t);
    assert_int_equal(run(t, 2, LOG_CREATE, "{}\n"), 0);
    assert_int_equal(delete_log(t, &i, 3), 0); /* the journal that had it is gone */
    assert_true(i.had_journal);
    end(t);
}

TEST(a_log_of_a_journal_that_stays_is_not_deleted)
{
    struct test *t = begin(1);
    struct item i;
    engage(t, 1);
    assert_int_equal(run(t, 1, LOG_CREATE, "{}\n"), 0);
    atomic_store(&t->rec.fails_log_syncs, true);
    (void)delete_log(t, &i, 1); /* its sync fails, so that the journal is kept */
    assert_int_equal(delete_log(t, &i, 1), -EIO);
    assert_int_equal(access(i.path, F_OK), 0);
    atomic_store(&t->rec.fails_log_syncs, false);
    end(t);
}

TEST(a_creation_that_nothing_can_carry_leaves_no_log)
{
    struct test *t = begin(1);
    struct item i;
    engage(t, 1);
    atomic_store(&t->rec.fails_journal_syncs, true);
    atomic_store(&t->rec.fails_log_syncs, true);
    start(t, &i, 1, LOG_CREATE, STR("{}\n"));
    assert_int_equal(finish(t, &i), -EIO);
    assert_int_equal(access(i.path, F_OK), -1);
    atomic_store(&t->rec.fails_journal_syncs, false);
    atomic_store(&t->rec.fails_log_syncs, false);
    assert_int_equal(run(t, 1, LOG_CREATE, "{}\n"), 0);
    end(t);
}

TEST(a_failed_journal_takes_nothing_with_it)
{
    struct test *t = begin(1);
    struct item items[LOGS];
    engage(t, LOGS);
    atomic_store(&t->rec.fails_journal_syncs, true);
    int syncs = atomic_load(&t->rec.log_syncs);
    for (int i = 0; i < LOGS; i++)
        start(t, &items[i], i, LOG_APPEND, STR("{}\n"));
    for (int i = 0; i < LOGS; i++)
        assert_int_equal(finish(t, &items[i]), 0);
    assert_int_equal(atomic_load(&t->rec.log_syncs), syncs + LOGS);
    assert_non_null(strstr(t->rig.logged, "cannot write the journal"));
    wait_for_dir(t, false);
    atomic_store(&t->rec.fails_journal_syncs, false);
    for (int i = 0; i < 3 * LOGS; i++)
        assert_int_equal(run(t, i % LOGS, LOG_APPEND, "{}\n"), 0);
    turn(t, 50);
    assert_false(has_dir(t)); /* not for a while */
    end(t);
}

/* The disk takes the journal, and not the log: what was acknowledged is only there. */
TEST(a_log_that_cannot_be_synced_keeps_the_journal)
{
    struct test *t = begin(1);
    struct replay_report report;
    engage(t, 2);
    assert_int_equal(run(t, 0, LOG_APPEND, "{\"x\":1}\n"), 0);
    atomic_store(&t->rec.fails_log_syncs, true);
    release(t);
    assert_true(has_dir(t));
    assert_non_null(strstr(t->rig.logged, "is kept"));
    atomic_store(&t->rec.fails_log_syncs, false);
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/conv_0.jsonl", t->rig.conv_dir);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 4), 0);
    assert_int_equal(replay_journals(&store_io_system, t->rig.conv_dir, &report, NULL), 0);
    assert_int_equal(report.logs, 1);
    struct stat after;
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, st.st_size);
    assert_false(has_dir(t));
    end(t);
}

TEST(a_quiet_directory_is_only_logs)
{
    struct test *t = begin(1);
    engage(t, 2);
    assert_int_equal(run(t, 1, LOG_APPEND, "{}\n"), 0);
    wait_for_dir(t, false);
    int syncs = atomic_load(&t->rec.log_syncs);
    release(t);
    assert_int_equal(atomic_load(&t->rec.log_syncs), syncs); /* nothing was left to sync */
    end(t);
}

/* Its lines are durable: some seconds without use are no reason for a sync. The test needs two
 * ticks before the third, which ends a quiet journal. */
TEST(a_log_in_the_journal_may_rest)
{
    enum { TWO_TICKS_MS = 2300, THREE_TICKS_MS = 2900 };
    bool is_in_time = false;
    for (int i = 0; i < 20 && !is_in_time; i++) {
        uint64_t began_ms = clock_mono_ms();
        struct test *t = begin(1);
        engage(t, 2);
        assert_int_equal(run(t, 1, LOG_APPEND, "{}\n"), 0);
        int syncs = atomic_load(&t->rec.log_syncs);
        turn(t, TWO_TICKS_MS);
        syncs = atomic_load(&t->rec.log_syncs) - syncs;
        is_in_time = clock_mono_ms() - began_ms < THREE_TICKS_MS;
        if (is_in_time)
            assert_int_equal(syncs, 0);
        end(t);
    }
    assert_true(is_in_time);
}

TEST(closing_at_any_moment)
{
    for (int i = 0; i < 20; i++) {
        struct test *t = begin(1);
        struct item item;
        assert_int_equal(run(t, 0, LOG_CREATE, "{}\n"), 0);
        for (int k = 0; k <= i % 5; k++)
            assert_int_equal(run(t, 0, LOG_APPEND, "{}\n"), 0);
        start(t, &item, 0, LOG_APPEND, STR("{}\n"));
        if (i % 2) {
            release(t);
            assert_true(item.is_done);
            assert_false(has_dir(t));
        } else {
            assert_int_equal(finish(t, &item), 0);
        }
        appender_free(t->rig.appender);
        t->rig.appender = NULL;
        assert_false(has_dir(t));
        end(t);
    }
}
