#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "media/media_child.h"
#include "support/unit.h"

struct child_rig {
    struct arena a;
    atomic_bool is_stopping;
    struct media_output out;
};

static int child_setup(void **state)
{
    struct child_rig *r = xcalloc(1, sizeof *r);
    (void)signal(SIGPIPE, SIG_IGN);
    arena_init(&r->a);
    *state = r;
    return 0;
}

static int child_teardown(void **state)
{
    struct child_rig *r = *state;
    arena_done(&r->a);
    free(r);
    return 0;
}

/* A shell command; its input is this test program's own source of zeros, 100,000 bytes. */
static int run_shell(struct child_rig *r, const char *command, size_t out_max, uint64_t timeout_ms)
{
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    char name[] = "/tmp/nb-unit-in-XXXXXX";
    struct err e = {0};
    int fd = mkstemp(name);
    assert_true(fd >= 0 && ftruncate(fd, 100000) == 0 && unlink(name) == 0);
    const struct media_job job = {.spec = {.argv = argv},
                                  .in = fd,
                                  .out_max = out_max,
                                  .timeout_ms = timeout_ms,
                                  .is_stopping = &r->is_stopping};
    int rc = media_child_run(&r->a, &job, &r->out, &e);
    close(fd);
    return rc;
}

TEST_WITH(input_output_and_error_are_whole, child_setup, child_teardown)
{
    struct child_rig *r = *state;
    assert_int_equal(run_shell(r, "cat; echo why >&2; exit 7", 200000, 60000), 0);
    assert_int_equal(r->out.out.n, 100000);
    assert_true(str_eq(r->out.err, STR("why\n")));
    assert_int_equal(r->out.exit_code, 7);
    assert_false(r->out.is_late || r->out.is_too_long);
}

TEST_WITH(a_program_that_does_not_read_is_no_problem, child_setup, child_teardown)
{
    struct child_rig *r = *state;
    assert_int_equal(run_shell(r, "exec 0<&-; echo done", 100, 60000), 0);
    assert_true(str_eq(r->out.out, STR("done\n")));
}

TEST_WITH(too_much_output_ends_it, child_setup, child_teardown)
{
    struct child_rig *r = *state;
    assert_int_equal(run_shell(r, "while :; do echo much; done", 1000, 60000), 0);
    assert_true(r->out.is_too_long);
    assert_true(r->out.out.n <= 1000);
    assert_int_equal(r->out.exit_code, -1);
}

TEST_WITH(time_is_limited_and_a_stop_is_obeyed, child_setup, child_teardown)
{
    struct child_rig *r = *state;
    assert_int_equal(run_shell(r, "sleep 1000", 100, 1), 0);
    assert_true(r->out.is_late);
    atomic_store(&r->is_stopping, true);
    assert_int_equal(run_shell(r, "sleep 1000", 100, 3600000), 0);
    assert_true(r->out.is_late);
}

/* Runs a shell command whose output goes to a file; returns the length of the file. */
static off_t run_to_file(struct child_rig *r, const char *command, size_t out_max,
                         const atomic_bool *is_cancelled)
{
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    struct err e = {0};
    char name[] = "/tmp/nb-unit-out-XXXXXX";
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC), out = mkstemp(name);
    assert_true(out > 0 && unlink(name) == 0);
    const struct media_job job = {.spec = {.argv = argv},
                                  .in = in,
                                  .out = out,
                                  .out_max = out_max,
                                  .timeout_ms = 3600000,
                                  .is_stopping = &r->is_stopping,
                                  .is_cancelled = is_cancelled};
    assert_int_equal(media_child_run(&r->a, &job, &r->out, &e), 0);
    off_t n = lseek(out, 0, SEEK_END);
    close(in);
    close(out);
    return n;
}

TEST_WITH(output_may_go_to_a_file_with_the_same_limit, child_setup, child_teardown)
{
    struct child_rig *r = *state;
    assert_int_equal(run_to_file(r, "head -c 100000 /dev/zero", 100000, NULL), 100000);
    assert_int_equal(r->out.nout, 100000);
    assert_true(r->out.out.n == 0 && !r->out.is_too_long);
    assert_true(run_to_file(r, "cat /dev/zero", 100000, NULL) < 200000);
    assert_true(r->out.is_too_long && r->out.nout <= 100000);
}

TEST_WITH(a_call_that_is_cancelled_ends_its_program, child_setup, child_teardown)
{
    struct child_rig *r = *state;
    static atomic_bool is_cancelled = true;
    assert_int_equal(run_to_file(r, "sleep 1000", 100, &is_cancelled), 0);
    assert_true(r->out.is_late);
    assert_int_equal(r->out.exit_code, -1);
}

TEST_WITH(a_program_that_is_not_there_is_an_error, child_setup, child_teardown)
{
    struct child_rig *r = *state;
    const char *const argv[] = {"/nonexistent/nb", NULL};
    struct err e = {0};
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const struct media_job job = {.spec = {.argv = argv},
                                  .in = fd,
                                  .out_max = 1,
                                  .timeout_ms = 1000,
                                  .is_stopping = &r->is_stopping};
    assert_true(media_child_run(&r->a, &job, &r->out, &e) < 0);
    assert_non_null(strstr(e.msg, "/nonexistent/nb"));
    close(fd);
}
