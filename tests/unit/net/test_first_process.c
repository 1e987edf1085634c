#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/first_process.h"
#include "support/unit.h"

enum { NO_NAMESPACE = 77 };

/* Runs `work` as nb's would be in a container. Ends with its code. */
static pid_t start(int (*work)(void))
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
        _exit(NO_NAMESPACE);
    pid_t first = fork();
    if (first == 0) {
        first_process_step_back();
        _exit(getpid() == 1 ? 99 : work());
    }
    int status;
    (void)waitpid(first, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
}

static int code_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACE)
        skip();
    return WEXITSTATUS(status);
}

/* The child of a child that has ended becomes the first process's. */
static pid_t make_orphan(void)
{
    pid_t orphan = -1;
    int fds[2];
    if (pipe(fds) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        pid_t own = fork();
        if (own == 0)
            _exit(0);
        (void)!write(fds[1], &own, sizeof own);
        _exit(0);
    }
    (void)!read(fds[0], &orphan, sizeof orphan);
    (void)waitpid(pid, NULL, 0);
    return orphan;
}

static int await_the_end_of_an_orphan(void)
{
    pid_t orphan = make_orphan();
    for (int i = 0; i < 6000 && kill(orphan, 0) == 0; i++) /* as a zombie it is still there */
        (void)poll(NULL, 0, 10);
    return orphan > 1 && kill(orphan, 0) < 0 && errno == ESRCH ? 42 : 1;
}

static int see_the_code_of_a_child(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(5);
    (void)poll(NULL, 0, 50); /* long enough for anybody to take it away */
    return waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5 ? 42 : 1;
}

static int signal_the_first(void)
{
    sigset_t usr;
    int sig = 0;
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr, NULL);
    (void)kill(1, SIGUSR1);
    return sigwait(&usr, &sig) == 0 && sig == SIGUSR1 ? 42 : 1;
}

static int be_killed(void)
{
    (void)raise(SIGKILL);
    return 1;
}

TEST(orphans_are_reaped)
{
    assert_int_equal(code_of(start(await_the_end_of_an_orphan)), 42);
}

TEST(children_of_the_worker_are_left_to_it)
{
    assert_int_equal(code_of(start(see_the_code_of_a_child)), 42);
}

TEST(signals_are_passed_on)
{
    assert_int_equal(code_of(start(signal_the_first)), 42);
}

TEST(the_end_of_the_worker_is_the_end)
{
    assert_int_equal(code_of(start(be_killed)), 128 + SIGKILL);
}

TEST(elsewhere_nothing_happens)
{
    pid_t self = getpid();
    first_process_step_back();
    assert_int_equal(getpid(), self);
}
