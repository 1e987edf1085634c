#include "net/first_process.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static void reap_orphans(pid_t worker)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == worker)
            _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
}

static _Noreturn void reap_for_ever(pid_t worker, const sigset_t *signals)
{
    for (;;) {
        siginfo_t info;
        int sig = sigwaitinfo(signals, &info);
        if (sig == SIGCHLD)
            reap_orphans(worker);
        else if (sig > 0 && info.si_code <= 0) /* a terminal tells the worker itself */
            (void)kill(worker, sig);
    }
}

void first_process_step_back(void)
{
    sigset_t all, before;
    if (getpid() != 1)
        return;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t worker = fork();
    if (worker > 0)
        reap_for_ever(worker, &all);
    sigprocmask(SIG_SETMASK, &before, NULL); /* the worker; or no process could be had */
}
