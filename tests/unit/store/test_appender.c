/* Group commit: what is written when, and what a failed sync means. */
#include <errno.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"
#include "store/log/appender_impl.h"

struct recorder {
    struct store_io io;
    atomic_int writes, syncs;
    atomic_int fail_syncs, fail_truncates, fail_writes; /* how many of the next ones fail */
    atomic_bool is_unsynced; /* something was written since the last sync */
};

static struct recorder *recorder(const struct store_io *io)
{
    return io->ctx;
}

static bool takes_one(atomic_int *n)
{
    if (atomic_load(n) <= 0)
        return false;
    atomic_fetch_sub(n, 1);
    return true;
}

static ssize_t rec_writev(const struct store_io *io, int fd, const struct iovec *iov, int n)
{
    struct recorder *r = recorder(io);
    if (takes_one(&r->fail_writes))
        return -ENOSPC;
    atomic_fetch_add(&r->writes, 1);
    atomic_store(&r->is_unsynced, true);
    return store_io_system.writev(io, fd, iov, n);
}

static int rec_sync(const struct store_io *io, int fd)
{
    struct recorder *r = recorder(io);
    atomic_fetch_add(&r->syncs, 1);
    if (takes_one(&r->fail_syncs))
        return -EIO;
    atomic_store(&r->is_unsynced, false);
    return store_io_system.sync(io, fd);
}

static int rec_truncate(const struct store_io *io, int fd, off_t size)
{
    return takes_one(&recorder(io)->fail_truncates) ? -EIO : store_io_system.truncate(io, fd, size);
}

struct test {
    struct rig rig;
    struct recorder rec;
    struct log_spec spec;
    char path[300];
};

static int setup(void **state)
{
    struct test *t = xcalloc(1, sizeof(*t));
    t->rec.io = store_io_system;
    t->rec.io.writev = rec_writev;
    t->rec.io.sync = rec_sync;
    t->rec.io.truncate = rec_truncate;
    t->rec.io.ctx = &t->rec;
    rig_init(&t->rig, NULL, &t->rec.io);
    (void)snprintf(t->path, sizeof(t->path), "%s/log", t->rig.dir);
    t->spec = (struct log_spec){.path = t->path, .owner = t};
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct test *t = *state;
    rig_done(&t->rig);
    free(t);
    return 0;
}

struct item {
    struct log_task task;
    struct test *test;
    str line;
    bool is_done, was_synced;
};

static int done_count;

static void on_done(struct log_task *task)
{
    struct item *i = CONTAINER_OF(task, struct item, task);
    i->is_done = true;
    i->was_synced = !atomic_load(&i->test->rec.is_unsynced);
    done_count++;
}

static void start(struct test *t, struct item *i, enum log_task_kind kind, const char *line)
{
    i->test = t;
    i->line = str_from(line);
    i->is_done = false;
    i->task = (struct log_task){
        .kind = kind, .lines = &i->line, .n = 1, .bytes = i->line.n, .done = on_done};
    appender_submit(t->rig.appender, &t->spec, &i->task);
    assert_false(i->is_done);
}

static int finish(struct test *t, struct item *i)
{
    assert_true(loop_run_until(t->rig.loop, &i->is_done, RIG_WAIT_MS));
    return i->task.err.code;
}

static int run(struct test *t, enum log_task_kind kind, const char *line)
{
    struct item i;
    start(t, &i, kind, line);
    return finish(t, &i);
}

static void expect_file(struct test *t, const char *content)
{
    char got[4096];
    FILE *f = fopen(t->path, "re");
    assert_non_null(f);
    size_t n = fread(got, 1, sizeof(got) - 1, f);
    got[n] = 0;
    (void)fclose(f);
    assert_string_equal(got, content);
}

TEST_WITH(one_sync_serves_many, setup, teardown)
{
    struct test *t = *state;
    enum { N = 100 };
    static struct item items[N];
    assert_int_equal(run(t, LOG_CREATE, "0\n"), 0);
    int syncs = atomic_load(&t->rec.syncs), writes = atomic_load(&t->rec.writes);
    done_count = 0;
    for (int i = 0; i < N; i++)
        start(t, &items[i], LOG_APPEND, "x\n");
    uint64_t at = 2;
    for (int i = 0; i < N; i++) {
        assert_int_equal(finish(t, &items[i]), 0);
        assert_true(items[i].was_synced);
        assert_int_equal(items[i].task.start, at);
        at += 2;
    }
    assert_int_equal(done_count, N);
    assert_int_equal(atomic_load(&t->rec.syncs), syncs + 1);
    assert_int_equal(atomic_load(&t->rec.writes), writes + 1);
    uint64_t end;
    assert_true(appender_end(t->rig.appender, t->path, &end));
    assert_int_equal(end, at);
}

TEST_WITH(durability_settings, setup, teardown)
{
    struct test *t = *state;
    t->spec.sync = LOG_SYNC_NEVER;
    assert_int_equal(run(t, LOG_CREATE, "0\n"), 0);
    assert_int_equal(run(t, LOG_APPEND, "1\n"), 0);
    assert_int_equal(atomic_load(&t->rec.syncs), 0);
    char later[300];
    (void)snprintf(later, sizeof(later), "%s/later", t->rig.dir);
    t->spec = (struct log_spec){.path = later, .owner = t, .sync = LOG_SYNC_INTERVAL};
    assert_int_equal(run(t, LOG_CREATE, "0\n"), 0);
    assert_int_equal(run(t, LOG_APPEND, "1\n"), 0);
    assert_int_equal(atomic_load(&t->rec.syncs), 1); /* of the creation */
    bool never = false;
    for (int i = 0; i < 3000 && atomic_load(&t->rec.syncs) < 2; i++)
        (void)loop_run_until(t->rig.loop, &never, 20);
    assert_int_equal(atomic_load(&t->rec.syncs), 2);
    assert_int_equal(run(t, LOG_APPEND, "2\n"), 0);
    t->rig.done = false;
    appender_release(t->rig.appender, t, rig_set_done, &t->rig);
    rig_wait(&t->rig);
    assert_int_equal(atomic_load(&t->rec.syncs), 3); /* closing syncs what is left */
}

TEST_WITH(failed_sync_fails_the_log_for_good, setup, teardown)
{
    struct test *t = *state;
    assert_int_equal(run(t, LOG_CREATE, "0\n"), 0);
    assert_int_equal(run(t, LOG_APPEND, "1\n"), 0);
    atomic_store(&t->rec.fail_syncs, 1);
    assert_int_equal(run(t, LOG_APPEND, "2\n"), -EIO);
    int syncs = atomic_load(&t->rec.syncs);
    assert_int_equal(run(t, LOG_APPEND, "3\n"), -EIO); /* the disk is fine again: too late */
    assert_int_equal(atomic_load(&t->rec.syncs), syncs);
    uint64_t end;
    assert_true(appender_end(t->rig.appender, t->path, &end));
    assert_int_equal(end, 4); /* readers stop at what was acknowledged */
    assert_non_null(strstr(t->rig.logged, "closed for writing"));
}

TEST_WITH(full_disk_takes_the_write_back, setup, teardown)
{
    struct test *t = *state;
    assert_int_equal(run(t, LOG_CREATE, "0\n"), 0);
    atomic_store(&t->rec.fail_writes, 1);
    struct item i;
    start(t, &i, LOG_APPEND, "1\n");
    assert_int_equal(finish(t, &i), -ENOSPC);
    assert_non_null(strstr(i.task.err.msg, "o space left"));
    expect_file(t, "0\n");
    assert_int_equal(run(t, LOG_APPEND, "2\n"), 0);
    expect_file(t, "0\n2\n");
    atomic_store(&t->rec.fail_writes, 1);
    atomic_store(&t->rec.fail_truncates, 1);
    assert_int_equal(run(t, LOG_APPEND, "3\n"), -EIO);
    assert_int_equal(run(t, LOG_APPEND, "4\n"), -EIO);
}

TEST_WITH(create_is_all_or_nothing, setup, teardown)
{
    struct test *t = *state;
    atomic_store(&t->rec.fail_syncs, 1);
    assert_int_equal(run(t, LOG_CREATE, "0\n"), -EIO);
    assert_int_equal(access(t->path, F_OK), -1);
    assert_int_equal(run(t, LOG_APPEND, "1\n"), -ENOENT);
    assert_int_equal(run(t, LOG_CREATE, "0\n"), 0);
    assert_int_equal(run(t, LOG_CREATE, "other\n"), -EEXIST);
    expect_file(t, "0\n");
}

static int prepare_fails(struct log_task *task, const struct store_io *io)
{
    return err_set(&task->err, -EINVAL, "no");
}

TEST_WITH(a_bad_task_fails_alone, setup, teardown)
{
    struct test *t = *state;
    struct item a, b, c;
    assert_int_equal(run(t, LOG_CREATE, "0\n"), 0);
    start(t, &a, LOG_APPEND, "a\n");
    start(t, &b, LOG_APPEND, "b\n");
    b.task.prepare = prepare_fails;
    start(t, &c, LOG_APPEND, "c\n");
    assert_int_equal(finish(t, &a), 0);
    assert_int_equal(finish(t, &b), -EINVAL);
    assert_int_equal(finish(t, &c), 0);
    assert_int_equal(c.task.start, 4);
    expect_file(t, "0\na\nc\n");
}

TEST_WITH(queue_has_a_ceiling, setup, teardown)
{
    struct test *t = *state;
    struct item a, b, c;
    assert_int_equal(run(t, LOG_CREATE, "0\n"), 0);
    start(t, &a, LOG_APPEND, "a\n");
    b.test = c.test = t;
    b.line = c.line = STR("b\n");
    b.is_done = c.is_done = false;
    b.task = (struct log_task){.kind = LOG_APPEND,
                               .lines = &b.line,
                               .n = 1,
                               .bytes = APPENDER_QUEUE_BYTES - 2,
                               .done = on_done};
    c.task = b.task;
    c.task.lines = &c.line;
    c.task.bytes = 1;
    appender_submit(t->rig.appender, &t->spec, &b.task);
    appender_submit(t->rig.appender, &t->spec, &c.task);
    assert_int_equal(finish(t, &c), -ENOBUFS);
    assert_int_equal(finish(t, &a), 0);
    assert_int_equal(finish(t, &b), 0);
    expect_file(t, "0\na\nb\n");
}

static void use_log(struct test *t, int n)
{
    (void)snprintf(t->path, sizeof(t->path), "%s/log%d", t->rig.dir, n);
}

TEST_WITH(an_append_meets_the_closing_of_its_log, setup, teardown)
{
    struct test *t = *state;
    struct item last, first;
    for (int n = 0; n < APPENDER_OPEN_MAX; n++) {
        use_log(t, n);
        assert_int_equal(run(t, LOG_CREATE, "0\n"), 0);
    }
    use_log(t, APPENDER_OPEN_MAX);
    start(t, &last, LOG_CREATE, "0\n"); /* closes the one that was not used for longest */
    use_log(t, 0);
    start(t, &first, LOG_APPEND, "1\n");
    assert_int_equal(finish(t, &first), 0);
    assert_int_equal(finish(t, &last), 0);
    uint64_t end;
    assert_true(appender_end(t->rig.appender, t->path, &end));
    assert_int_equal(end, 4);
    assert_int_equal(run(t, LOG_APPEND, "2\n"), 0);
    expect_file(t, "0\n1\n2\n");
}

/* Known to the appender, and not about to be closed. */
static size_t count_kept_logs(const struct appender *a)
{
    const struct map_entry *e;
    size_t n = 0;
    for (size_t i = 0; (e = map_next(&a->logs, &i)) != NULL;) {
        const struct log *l = e->value;
        n += !(l->is_busy && l->step == STEP_CLOSE);
    }
    return n;
}

/* More logs are in use than are kept open; the next one closes all that are too many. */
TEST_WITH(a_burst_does_not_raise_the_number_of_open_logs, setup, teardown)
{
    enum { BURST = APPENDER_OPEN_MAX + 40 };
    struct test *t = *state;
    struct item *items = xcalloc(BURST, sizeof(*items)), last;
    for (int n = 0; n < BURST; n++) {
        use_log(t, n);
        start(t, &items[n], LOG_CREATE, "0\n");
    }
    for (int n = 0; n < BURST; n++)
        assert_int_equal(finish(t, &items[n]), 0);
    free(items);
    assert_int_equal(count_kept_logs(t->rig.appender), BURST);
    use_log(t, BURST);
    start(t, &last, LOG_CREATE, "0\n");
    size_t kept = count_kept_logs(t->rig.appender);
    assert_int_equal(finish(t, &last), 0);
    assert_int_equal(kept, APPENDER_OPEN_MAX);
}

/* A child that shares every open file of this process until the pipe is closed, as between fork and
 * exec. */
static pid_t fork_idle_child(int until[2])
{
    assert_int_equal(pipe(until), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(until[1]);
        (void)!read(until[0], &byte, 1);
        _exit(0);
    }
    assert_true(child > 0);
    close(until[0]);
    return child;
}

TEST_WITH(a_closed_log_is_unlocked_while_a_child_still_shares_it, setup, teardown)
{
    struct test *t = *state;
    int until[2];
    assert_int_equal(run(t, LOG_CREATE, "0\n"), 0);
    pid_t child = fork_idle_child(until);
    t->rig.done = false;
    appender_release(t->rig.appender, t, rig_set_done, &t->rig);
    rig_wait(&t->rig);
    assert_int_equal(run(t, LOG_APPEND, "1\n"), 0);
    close(until[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    expect_file(t, "0\n1\n");
}
