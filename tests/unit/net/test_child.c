#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "net/child.h"
#include "support/unit.h"

enum { WAIT_MS = 60000 };

struct kid {
    struct loop *loop;
    struct child *child;
    struct buf lines, err; /* lines are joined with '\n' */
    unsigned nlines, overflows;
    bool has_exited, wants_line, got_line;
    int code;
};

static void on_line(void *ctx, str line)
{
    struct kid *k = ctx;
    assert_false(k->has_exited);
    k->nlines++;
    k->got_line = true;
    buf_add_str(&k->lines, line);
    buf_add_char(&k->lines, '\n');
}

static void on_stderr(void *ctx, str bytes)
{
    buf_add_str(&((struct kid *)ctx)->err, bytes);
}

static void on_overflow(void *ctx)
{
    ((struct kid *)ctx)->overflows++;
}

static void on_exit_(void *ctx, int code)
{
    struct kid *k = ctx;
    assert_false(k->has_exited);
    k->has_exited = true;
    k->code = code;
}

static const struct child_events EVENTS = {on_line, on_stderr, on_overflow, on_exit_};

static void spawn_spec(struct kid *k, const struct child_spec *spec)
{
    *k = (struct kid){.loop = loop_new(NULL)};
    buf_init(&k->lines, 8u << 20);
    buf_init(&k->err, 8u << 20);
    struct err e = {0};
    int rc = child_spawn(k->loop, spec, &EVENTS, k, &k->child, &e);
    if (rc < 0)
        fail_msg("%s", e.msg);
}

static const char *const PATH_ENV[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};

static void spawn_sh(struct kid *k, const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    spawn_spec(k, &(struct child_spec){.argv = argv, .env = PATH_ENV});
}

static void await_line(struct kid *k)
{
    k->got_line = false;
    assert_true(loop_run_until(k->loop, &k->got_line, WAIT_MS));
}

static void await_exit(struct kid *k)
{
    assert_true(loop_run_until(k->loop, &k->has_exited, WAIT_MS));
}

static void kid_done(struct kid *k)
{
    buf_done(&k->lines);
    buf_done(&k->err);
    loop_free(k->loop); /* aborts if a handle of the child is left */
}

static bool is_alive(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    const char *state = n > 0 ? strrchr(text, ')') : NULL;
    return state && state[2] != 'Z' && state[2] != 'X';
}

static bool dies_within(pid_t pid, uint64_t ms)
{
    uint64_t until = clock_mono_ms() + ms;
    while (is_alive(pid)) {
        if (clock_mono_ms() > until)
            return false;
        usleep(5000);
    }
    return true;
}

static pid_t line_pid(const struct kid *k)
{
    uint64_t pid = 0;
    assert_int_equal(parse_u64(str_trim(buf_str(&k->lines)), &pid), 0);
    return (pid_t)pid;
}

TEST(echoes_lines)
{
    struct kid k;
    const char *argv[] = {"cat", NULL};
    spawn_spec(&k, &(struct child_spec){.argv = argv, .env = PATH_ENV});
    assert_int_equal(child_write(k.child, STR("one\ntw")), 0);
    await_line(&k);
    assert_string_equal(buf_cstr(&k.lines), "one\n");
    assert_int_equal(child_write(k.child, STR("o\r\n\nlast")), 0);
    child_close_stdin(k.child);
    assert_int_equal(child_write(k.child, STR("late")), -EPIPE);
    await_exit(&k);
    assert_string_equal(buf_cstr(&k.lines), "one\ntwo\r\n\nlast\n");
    assert_int_equal(k.nlines, 4);
    assert_int_equal(k.code, 0);
    kid_done(&k);
}

TEST(large_writes_arrive_whole)
{
    enum { LINES = 20000 };
    struct kid k;
    spawn_sh(&k, "wc -c");
    char line[101];
    memset(line, 'x', 100);
    line[100] = '\n';
    for (int i = 0; i < LINES; i++)
        assert_int_equal(child_write(k.child, (str){line, sizeof(line)}), 0);
    child_close_stdin(k.child);
    await_exit(&k);
    assert_string_equal(buf_cstr(&k.lines), "2020000\n");
    kid_done(&k);
}

TEST(reports_exit_codes_and_signals)
{
    struct kid k;
    spawn_sh(&k, "exit 7");
    await_exit(&k);
    assert_int_equal(k.code, 7);
    kid_done(&k);

    spawn_sh(&k, "echo before; kill -9 $$");
    await_exit(&k);
    assert_int_equal(k.code, -SIGKILL);
    assert_string_equal(buf_cstr(&k.lines), "before\n");
    kid_done(&k);
}

TEST(delivers_stderr)
{
    struct kid k;
    spawn_sh(&k, "echo out; echo err >&2");
    await_exit(&k);
    assert_string_equal(buf_cstr(&k.lines), "out\n");
    assert_string_equal(buf_cstr(&k.err), "err\n");
    kid_done(&k);
}

static int spawn_error(const struct child_spec *spec, struct err *e)
{
    struct loop *l = loop_new(NULL);
    struct child *c = NULL;
    int rc = child_spawn(l, spec, &EVENTS, NULL, &c, e);
    assert_null(c);
    loop_free(l);
    return rc;
}

TEST(missing_program_is_named)
{
    struct err e = {0};
    const char *argv[] = {"no-such-program-nb", NULL};
    const char *const env[] = {"PATH=/usr/bin:relative:", NULL};
    assert_int_equal(spawn_error(&(struct child_spec){.argv = argv, .env = env}, &e), -ENOENT);
    assert_non_null(strstr(e.msg, "no-such-program-nb"));
    assert_non_null(strstr(e.msg, "/usr/bin"));

    argv[0] = "/no/such/file";
    assert_int_equal(spawn_error(&(struct child_spec){.argv = argv}, &e), -ENOENT);
    assert_non_null(strstr(e.msg, "/no/such/file"));

    argv[0] = "/etc/passwd";
    assert_int_equal(spawn_error(&(struct child_spec){.argv = argv}, &e), -EACCES);

    argv[0] = "/";
    assert_int_equal(spawn_error(&(struct child_spec){.argv = argv}, &e), -EACCES);

    argv[0] = "";
    assert_int_equal(spawn_error(&(struct child_spec){.argv = argv}, &e), -ENOENT);
}

TEST(missing_directory_is_named)
{
    struct err e = {0};
    const char *argv[] = {"true", NULL};
    assert_int_equal(spawn_error(&(struct child_spec){.argv = argv, .cwd = "/no/such/dir"}, &e),
                     -ENOENT);
    assert_non_null(strstr(e.msg, "/no/such/dir"));
}

TEST(script_without_interpreter_is_explained)
{
    char path[] = "/tmp/nb-test-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "echo hi\n", 8), 8);
    fchmod(fd, 0700);
    close(fd);
    struct err e = {0};
    const char *argv[] = {path, NULL};
    int rc = spawn_error(&(struct child_spec){.argv = argv}, &e);
    unlink(path);
    assert_int_equal(rc, -ENOEXEC);
    assert_non_null(strstr(e.msg, "#!"));
}

TEST(environment_is_exact)
{
    struct kid k;
    setenv("NB_TEST_LEAK", "secret", 1);
    const char *argv[] = {"/usr/bin/env", NULL};
    const char *const env[] = {"A=1", "B=two words", NULL};
    spawn_spec(&k, &(struct child_spec){.argv = argv, .env = env});
    await_exit(&k);
    assert_string_equal(buf_cstr(&k.lines), "A=1\nB=two words\n");
    kid_done(&k);

    spawn_spec(&k, &(struct child_spec){.argv = argv}); /* none at all */
    await_exit(&k);
    assert_string_equal(buf_cstr(&k.lines), "");
    kid_done(&k);
    unsetenv("NB_TEST_LEAK");
}

TEST(environment_from_an_allow_list)
{
    setenv("NB_TEST_ONE", "1", 1);
    setenv("NB_TEST_TWO", "2", 1);
    unsetenv("NB_TEST_NONE");
    const char *const names[] = {"NB_TEST_ONE", "NB_TEST_NONE", "NB_TEST_TWO", NULL};
    const char *const extra[] = {"NB_TEST_TWO=other", "X=a", "X=b=c", "Y=", NULL};
    char **env = child_env(names, extra);
    assert_string_equal(env[0], "NB_TEST_ONE=1");
    assert_string_equal(env[1], "NB_TEST_TWO=other");
    assert_string_equal(env[2], "X=b=c");
    assert_string_equal(env[3], "Y=");
    assert_null(env[4]);
    free(env);
    env = child_env(NULL, NULL);
    assert_null(env[0]);
    free(env);
}

TEST(no_descriptor_is_inherited)
{
    struct kid k;
    int leak = open("/dev/null", O_RDONLY); /* deliberately without O_CLOEXEC */
    assert_true(leak > 2);
    const char *argv[] = {"ls", "/proc/self/fd", NULL};
    spawn_spec(&k, &(struct child_spec){.argv = argv, .env = PATH_ENV});
    await_exit(&k);
    close(leak);
    assert_string_equal(buf_cstr(&k.lines), "0\n1\n2\n3\n"); /* 3 is the directory itself */
    kid_done(&k);
}

TEST(signals_start_in_their_default_state)
{
    struct kid k;
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &before);
    /* Without signals 32 and 33: glibc keeps them to itself, and its posix_spawn (make uses
     * it) leaves them ignored. */
    spawn_sh(&k, "while read -r name bits; do case $name in SigBlk: | SigIgn:) "
                 "echo $name $((0x$bits & ~0x180000000)) ;; esac; done </proc/self/status");
    await_exit(&k);
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_string_equal(buf_cstr(&k.lines), "SigBlk: 0\nSigIgn: 0\n");
    kid_done(&k);
}

TEST(runs_in_its_directory_and_session)
{
    struct kid k;
    const char *argv[] = {"sh", "-c", "pwd; cut -d' ' -f6 /proc/$$/stat; echo $$", NULL};
    spawn_spec(&k, &(struct child_spec){.argv = argv, .env = PATH_ENV, .cwd = "/usr"});
    int pid = child_pid(k.child);
    await_exit(&k);
    char expected[64];
    snprintf(expected, sizeof(expected), "/usr\n%d\n%d\n", pid, pid);
    assert_string_equal(buf_cstr(&k.lines), expected);
    kid_done(&k);
}

TEST(kill_reaches_grandchildren)
{
    struct kid k;
    spawn_sh(&k, "sleep 600 & echo $!; wait");
    await_line(&k);
    pid_t grandchild = line_pid(&k);
    assert_true(is_alive(grandchild));
    child_kill(k.child, SIGTERM);
    await_exit(&k);
    assert_int_equal(k.code, -SIGTERM);
    assert_true(dies_within(grandchild, WAIT_MS));
    kid_done(&k);
}

TEST(signals_reach_the_whole_group)
{
    struct kid k;
    spawn_sh(&k, "trap : USR1;"
                 "(trap 'echo grandchild; exit' USR1; echo ready; while :; do sleep 0.02; done) &"
                 "wait; wait; echo child");
    await_line(&k);
    child_kill(k.child, SIGUSR1);
    await_exit(&k);
    assert_int_equal(k.code, 0);
    assert_string_equal(buf_cstr(&k.lines), "ready\ngrandchild\nchild\n");
    kid_done(&k);
}

/* The grandchild keeps the pipes open after its parent has ended. */
TEST(orphan_delays_the_end_only_briefly)
{
    struct kid k;
    uint64_t start = clock_mono_ms(); /* its end may be noticed together with the line */
    spawn_sh(&k, "sleep 600 & echo $!; exit 3");
    await_line(&k);
    pid_t grandchild = line_pid(&k);
    await_exit(&k);
    assert_int_equal(k.code, 3);
    assert_in_range(clock_mono_ms() - start, 300, WAIT_MS);
    assert_true(dies_within(grandchild, WAIT_MS));
    kid_done(&k);
}

TEST(output_after_the_end_is_still_delivered)
{
    struct kid k;
    /* Both are there when the loop looks again: the end, and what was written after it. */
    spawn_sh(&k, "(while [ -e /proc/$$/exe ]; do sleep 0.01; done; echo late) & echo $!; read go");
    await_line(&k);
    pid_t grandchild = line_pid(&k);
    assert_int_equal(child_write(k.child, STR("go\n")), 0);
    assert_true(dies_within(child_pid(k.child), WAIT_MS));
    assert_true(dies_within(grandchild, WAIT_MS));
    await_exit(&k);
    assert_int_equal(k.nlines, 2);
    assert_true(str_ends(buf_str(&k.lines), STR("\nlate\n")));
    kid_done(&k);
}

TEST(stop_closes_stdin_first)
{
    struct kid k;
    spawn_sh(&k, "cat; echo bye");
    child_stop(k.child, WAIT_MS, 2 * WAIT_MS);
    await_exit(&k);
    assert_int_equal(k.code, 0);
    assert_string_equal(buf_cstr(&k.lines), "bye\n");
    kid_done(&k);
}

TEST(stop_escalates_to_sigterm)
{
    struct kid k;
    spawn_sh(&k, "trap 'echo term; exit 5' TERM; echo ready; while :; do sleep 0.02; done");
    await_line(&k);
    child_stop(k.child, 50, WAIT_MS);
    await_exit(&k);
    assert_int_equal(k.code, 5);
    assert_string_equal(buf_cstr(&k.lines), "ready\nterm\n");
    kid_done(&k);
}

TEST(stop_escalates_to_sigkill)
{
    struct kid k;
    spawn_sh(&k, "trap '' TERM; echo ready; while :; do sleep 0.02; done");
    await_line(&k);
    uint64_t start = clock_mono_ms();
    child_stop(k.child, 20, 200);
    await_exit(&k);
    assert_int_equal(k.code, -SIGKILL);
    assert_true(clock_mono_ms() - start >= 200);
    kid_done(&k);
}

TEST(too_long_lines_are_dropped)
{
    struct kid k;
    const char *argv[] = {"sh", "-c",
                          "echo first; head -c 300000 /dev/zero | tr '\\0' x; echo; echo second;"
                          "printf '%0101d\\n%0100d\\n' 0 0; head -c 500 /dev/zero",
                          NULL};
    spawn_spec(&k, &(struct child_spec){.argv = argv, .env = PATH_ENV, .line_max = 100});
    await_exit(&k);
    assert_int_equal(k.overflows, 3);
    assert_int_equal(k.nlines, 3);
    assert_memory_equal(k.lines.p, "first\nsecond\n000", 16);
    assert_int_equal(k.lines.n, 13 + 101);
    kid_done(&k);
}

TEST(large_line_arrives_whole)
{
    struct kid k;
    spawn_sh(&k, "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end");
    await_exit(&k);
    assert_int_equal(k.nlines, 2);
    assert_int_equal(k.lines.n, 3000000 + 1 + 4);
    kid_done(&k);
}

TEST(writes_have_a_ceiling)
{
    struct kid k;
    const char *argv[] = {"sleep", "600", NULL};
    spawn_spec(&k, &(struct child_spec){.argv = argv, .env = PATH_ENV, .write_max = 100000});
    char block[50000] = {0};
    int rc = 0, n = 0;
    while ((rc = child_write(k.child, (str){block, sizeof(block)})) == 0 && n < 100)
        n++;
    assert_int_equal(rc, -ENOBUFS);
    assert_in_range(n, 2, 5); /* the kernel's pipe takes 64 KiB of them */
    char huge[100001] = {0};
    assert_int_equal(child_write(k.child, (str){huge, sizeof(huge)}), -ENOBUFS);
    child_stop(k.child, 10, 500); /* with bytes still queued */
    await_exit(&k);
    assert_int_equal(k.code, -SIGTERM);
    kid_done(&k);
}

TEST(writing_to_a_closed_stdin_fails)
{
    struct kid k;
    spawn_sh(&k, "exec 0<&-; echo closed; sleep 600");
    await_line(&k);
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++)
        rc = child_write(k.child, STR("x\n"));
    assert_int_equal(rc, -EPIPE);
    child_kill(k.child, SIGKILL);
    await_exit(&k);
    kid_done(&k);
}

/* A process in between spawns a child and dies without a word. */
TEST(child_dies_with_its_parent)
{
    int out[2];
    assert_int_equal(pipe(out), 0);
    pid_t middle = fork();
    if (middle == 0) {
        struct kid k = {.loop = loop_new(NULL)};
        const char *argv[] = {"sleep", "600", NULL};
        struct child_spec spec = {.argv = argv, .env = PATH_ENV};
        int pid = -1;
        if (child_spawn(k.loop, &spec, &EVENTS, &k, &k.child, NULL) == 0)
            pid = child_pid(k.child);
        ssize_t n = write(out[1], &pid, sizeof(pid));
        _exit(n == (ssize_t)sizeof(pid) ? 0 : 1);
    }
    close(out[1]);
    int pid = -1;
    assert_int_equal(read(out[0], &pid, sizeof(pid)), sizeof(pid));
    close(out[0]);
    waitpid(middle, NULL, 0);
    assert_true(pid > 0);
    assert_true(dies_within(pid, WAIT_MS));
}

TEST(many_children_at_once)
{
    enum { KIDS = 30 };
    struct kid kids[KIDS];
    struct loop *l = loop_new(NULL);
    const char *argv[] = {"sh", "-c", "read x; echo got $x", NULL};
    struct child_spec spec = {.argv = argv, .env = PATH_ENV};
    for (int i = 0; i < KIDS; i++) {
        kids[i] = (struct kid){.loop = l};
        buf_init(&kids[i].lines, 1000);
        assert_int_equal(child_spawn(l, &spec, &EVENTS, &kids[i], &kids[i].child, NULL), 0);
    }
    for (int i = 0; i < KIDS; i++)
        assert_int_equal(child_write(kids[i].child, STR("hi\n")), 0);
    for (int i = 0; i < KIDS; i++) {
        await_exit(&kids[i]);
        assert_string_equal(buf_cstr(&kids[i].lines), "got hi\n");
        buf_done(&kids[i].lines);
    }
    loop_free(l);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* all reaped */
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    return run_unit_tests("tests", NULL);
}
