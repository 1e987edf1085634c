#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle/sandbox/launch.h"
#include "bundle/sandbox/pid_space.h"
#include "bundle/sandbox/sandbox.h"
#include "support/descendants.h"
#include "support/unit.h"

static struct sandbox_offer offer;

static int look_once(void **state)
{
    if (!offer.bwrap[0])
        sandbox_look(&offer);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return 0;
}

/* Runs a script in bubblewrap, as the first program of a namespace, below a launcher. */
static pid_t launch(const char *script)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct arena a;
    struct launch_spec spec;
    arena_init(&a);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    str text = arena_printf(
        &a,
        "{\"argv\":[\"/bin/"
        "sh\",\"-c\",\"%s\"],\"pidSpace\":true,\"wrap\":[\"%s\",\"--unshare-user\","
        "\"--disable-userns\",\"--unshare-pid\",\"--unshare-net\",\"--die-with-parent\","
        "\"--new-session\",\"--cap-drop\",\"ALL\",\"--proc\",\"/proc\",\"--dev\",\"/dev\","
        "\"--ro-bind\",\"/usr\",\"/usr\",\"--ro-bind-try\",\"/lib\",\"/lib\",\"--ro-bind-try\","
        "\"/lib64\",\"/lib64\",\"--ro-bind-try\",\"/bin\",\"/bin\",\"--tmpfs\",\"/tmp\"]}%cPATH=/"
        "usr/"
        "bin:/bin",
        script, offer.bwrap, 0);
    if (launch_spec_decode(&a, text, &spec, NULL) < 0)
        _exit(99);
    _exit(launch_run(&a, &spec));
}

static int code_of(const char *script)
{
    int status;
    pid_t pid = launch(script);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void need_it(void)
{
    if (!offer.has_pid_space)
        skip();
}

TEST_WITH(the_launcher_bubblewrap_and_the_program_are_three_processes, look_once, NULL)
{
    need_it();
    pid_t pid = launch("exec sleep 1000");
    await_descendants(3);
    kill(pid, SIGKILL);
    await_descendants(0);
}

TEST_WITH(its_code_is_that_of_the_program, look_once, NULL)
{
    need_it();
    assert_int_equal(code_of("exit 42"), 42);
    assert_int_equal(code_of("kill -11 $$"), 128 + SIGSEGV);
}

TEST_WITH(all_processes_end_with_the_program, look_once, NULL)
{
    need_it();
    assert_int_equal(code_of("setsid sleep 1000 & (setsid sh -c 'sleep 1000 &') & exit 0"), 0);
    assert_int_equal(descendants(), 0);
}

TEST_WITH(all_processes_end_with_the_launcher, look_once, NULL)
{
    need_it();
    pid_t pid = launch("setsid sleep 1000 & sleep 1000; exit 1");
    await_descendants(5);
    kill(pid, SIGKILL);
    await_descendants(0);
}

/* At any moment of the start, too. */
TEST_WITH(a_launcher_that_is_killed_early_leaves_nothing, look_once, NULL)
{
    need_it();
    for (int i = 0; i < 60; i++) {
        pid_t pid = launch("sleep 1000");
        usleep((unsigned)(i * 300));
        kill(pid, SIGKILL);
    }
    await_descendants(0);
}

TEST_WITH(a_request_to_end_reaches_the_program, look_once, NULL)
{
    need_it();
    int status;
    pid_t pid = launch("trap 'exit 5' TERM; sleep 1000 & while :; do wait; done");
    await_descendants(4); /* the trap is set */
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

TEST_WITH(orphans_are_reaped, look_once, NULL)
{
    need_it();
    /* sleep ends as an orphan; a zombie would still be in /proc */
    assert_int_equal(code_of("(sleep 0.1 & echo $! >/tmp/id); i=0; "
                             "while [ -e /proc/$(cat /tmp/id) ]; do i=$((i+1)); "
                             "[ $i -gt 600 ] && exit 1; sleep 0.1; done; exit 0"),
                     0);
}

/* bubblewrap has the machine's files around it: it must not be a way to them. */
TEST_WITH(the_program_cannot_reach_the_first_process, look_once, NULL)
{
    need_it();
    assert_int_equal(code_of("[ -e /proc/1 ] && exit 1; cat /proc/1/mountinfo && exit 2; "
                             "ls /proc/1/root/ && exit 3; cat /proc/1/environ && exit 4; "
                             "ls /proc/1/fd && exit 5; kill -9 1; kill -0 $$ || exit 6; exit 7"),
                     7);
    assert_int_equal(code_of("[ $(ls /proc | grep -c '^[0-9]') -le 4 ] || exit 1; "
                             "[ -e /etc/passwd ] && exit 2; echo 1 >/proc/sys/kernel/core_pattern "
                             "&& exit 3; echo h >/proc/sysrq-trigger && exit 4; unshare -U true && "
                             "exit 5; exit 7"),
                     7);
}

TEST(options_for_a_namespace_of_its_own_are_left_out)
{
    struct arena a;
    arena_init(&a);
    const char *wrap[] = {"bwrap", "--unshare-user", "--unshare-pid", "--proc",
                          "/proc", "--dev",          "/dev",          NULL};
    char *const *v = pid_space_options(&a, (char *const *)wrap);
    assert_string_equal(v[0], "bwrap");
    assert_string_equal(v[1], "--unshare-user");
    assert_string_equal(v[2], "--bind");
    assert_string_equal(v[3], "/proc");
    for (; *v; v++)
        assert_true(strcmp(*v, "--unshare-pid") != 0 && strcmp(*v, "--proc") != 0);
    assert_string_equal(v[-1], "/dev");
    wrap[1] = "--unshare-user-try";
    assert_null(pid_space_options(&a, (char *const *)wrap));
    arena_done(&a);
}
