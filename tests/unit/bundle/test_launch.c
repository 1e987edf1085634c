#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle/sandbox/launch.h"
#include "support/descendants.h"
#include "support/unit.h"

/* Starts a launcher in a process of its own, as nb does. */
static pid_t launch(const char *more, const char *script)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct arena a;
    struct launch_spec spec;
    arena_init(&a);
    str head =
        arena_printf(&a, "{\"argv\":[\"/bin/sh\",\"-c\",\"%s\"]%s}%cPATH=/usr/bin:/bin%cX=a=b",
                     script, more, 0, 0);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (launch_spec_decode(&a, head, &spec, NULL) < 0)
        _exit(99);
    _exit(launch_run(&a, &spec));
}

static int status_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

TEST(the_code_of_the_server_is_its_own)
{
    int status = status_of(launch("", "exit 42"));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    status = status_of(launch("", "kill -11 $$"));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST(a_tool_has_limits_and_writes_no_files)
{
    const char *script = "[ $(ulimit -t) = 3 ] && [ $(ulimit -v) = 1048576 ] && "
                         "[ $(ulimit -f) = 0 ] && exit 7";
    int status = status_of(launch(",\"cpuSeconds\":3,\"memoryBytes\":1073741824", script));
    assert_int_equal(WEXITSTATUS(status), 7);
    status = status_of(launch(",\"memoryBytes\":1073741824", script)); /* a server */
    assert_int_not_equal(WEXITSTATUS(status), 7);
}

TEST(the_server_has_its_variables_and_no_others)
{
    setenv("OF_NB", "1", 1);
    int status = status_of(launch("", "[ $X = a=b ] && [ -z $OF_NB ] && exit 9"));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

TEST(what_the_server_leaves_behind_ends_with_it)
{
    (void)status_of(launch("", "setsid sleep 1000 & (setsid sh -c 'sleep 1000 &') & exit 0"));
    assert_int_equal(descendants(), 0);
}

TEST(a_killed_launcher_takes_all_along)
{
    pid_t pid = launch("", "setsid sleep 1000 & sleep 1000");
    await_descendants(5); /* outer, inner, shell, two sleeps */
    kill(pid, SIGKILL);
    (void)status_of(pid);
    await_descendants(0);
}

TEST(a_request_to_end_is_passed_on)
{
    pid_t pid = launch("", "trap 'exit 5' TERM; sleep 1000 & while :; do wait; done");
    await_descendants(4); /* outer, inner, shell, sleep: the trap is set */
    kill(pid, SIGTERM);
    int status = status_of(pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

TEST(confinement_holds)
{
    if (confine_landlock_abi() == 0 || !confine_has_seccomp())
        skip();
    int status = status_of(launch(",\"confine\":true", "cat /etc/passwd >/dev/null || exit 1; "
                                                       "ls /root 2>/dev/null && exit 2; "
                                                       "exit 7"));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST(a_bad_specification_is_refused)
{
    struct arena a;
    struct launch_spec spec;
    struct err e = {0};
    arena_init(&a);
    assert_int_equal(launch_spec_decode(&a, STR("{"), &spec, &e), -EINVAL);
    assert_int_equal(launch_spec_decode(&a, STR("{\"read\":\"/x\"}"), &spec, &e), -EINVAL);
    assert_int_equal(launch_spec_decode(&a, STR("{\"argv\":[]}"), &spec, &e), -EINVAL);
    assert_int_equal(
        launch_spec_decode(
            &a, STR("{\"argv\":[\"/x\"],\"read\":[\"/x\"],\"confine\":true}\0A=1\0B=2"), &spec, &e),
        0);
    assert_string_equal(spec.argv[0], "/x");
    assert_string_equal(spec.env[0], "A=1");
    assert_string_equal(spec.env[1], "B=2");
    assert_null(spec.env[2]);
    assert_true(spec.is_confined && spec.confine.read.n == 1 && !spec.confine.network);
    arena_done(&a);
}

int main(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return run_unit_tests("tests", NULL);
}
