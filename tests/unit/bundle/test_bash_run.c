#include <errno.h>

#include "base/clock.h"
#include "bundle/bash/bash_run.h"
#include "support/unit.h"

static struct bash_run run;

static int start(const char *command, int64_t timeout_ms)
{
    struct bash_want w = {.command = str_from(command), .timeout_ms = timeout_ms};
    return bash_run_start(&run, &w, NULL);
}

static void finish(void)
{
    while (!run.is_over) {
        struct pollfd fds[BASH_RUN_POLLS];
        uint64_t now = clock_mono_ms();
        bash_run_polls(&run, fds);
        (void)poll(fds, BASH_RUN_POLLS, run.due_ms > now ? (int)(run.due_ms - now) : 0);
        bash_run_step(&run, clock_mono_ms());
    }
}

TEST(output_and_code)
{
    assert_int_equal(start("printf a; printf b >&2; exit 9", 10000), 0);
    finish();
    assert_int_equal(run.exit_code, 9);
    assert_true(str_eq(buf_str(&run.out.bytes), STR("a")));
    assert_true(str_eq(buf_str(&run.err.bytes), STR("b")));
    bash_run_done(&run);
}

TEST(a_timeout_kills_the_whole_group)
{
    uint64_t began = clock_mono_ms();
    assert_int_equal(start("sleep 100 & sleep 100", 100), 0);
    finish();
    assert_int_equal(run.exit_code, BASH_EXIT_TIMEOUT);
    assert_in_range(clock_mono_ms() - began, 100, 90000);
    bash_run_done(&run);
}

TEST(output_has_a_ceiling)
{
    assert_int_equal(start("head -c 11000000 /dev/zero", 30000), 0);
    finish();
    assert_int_equal(run.out.bytes.n, BASH_OUTPUT_MAX);
    assert_int_equal(run.out.dropped, 11000000 - BASH_OUTPUT_MAX);
    bash_run_done(&run);
}

TEST(a_directory_that_is_not_there)
{
    struct bash_want w = {.command = STR("true"), .cwd = STR("/no/such"), .timeout_ms = 1000};
    struct err e = {0};
    assert_int_equal(bash_run_start(&run, &w, &e), -ENOENT);
    assert_non_null(strstr(e.msg, "/no/such"));
    bash_run_done(&run);
}

TEST(given_up_in_the_middle)
{
    assert_int_equal(start("sleep 100", 100000), 0);
    bash_run_step(&run, clock_mono_ms());
    bash_run_done(&run);
    assert_true(run.is_over);
}
