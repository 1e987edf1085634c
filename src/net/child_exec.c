/* child_exec.c - fork and exec. uv_spawn and posix_spawn cannot set a parent-death signal.
 *
 * Between fork and exec other threads may hold any lock, so the child makes system calls
 * only; everything that needs memory is prepared before. The parent-death signal is tied to
 * the thread that forks: that must be the loop thread, which lives as long as nb, or a pool thread
 * that waits for the child. */
#include "net/child_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* The child's report when it cannot execute the program. */
struct failure {
    enum { FAILED_SETUP, FAILED_CHDIR, FAILED_EXEC } step;
    int code; /* errno */
};

struct plan {
    const struct child_spec *spec;
    const char *program;
    pid_t parent;
    int in, out, err; /* the child's ends */
    int message;      /* a file with spec->message, or -1 */
    int report;       /* closes on exec; carries a struct failure otherwise */
};

/* ---- in the child: system calls only ---- */

static _Noreturn void fail(const struct plan *p, int step)
{
    struct failure f = {step, errno};
    ssize_t n = write(p->report, &f, sizeof(f));
    (void)n;
    _exit(127);
}

static void default_signals(void)
{
    struct sigaction act = {.sa_handler = SIG_DFL};
    for (int sig = 1; sig < NSIG; sig++)
        (void)sigaction(sig, &act, NULL); /* fails for SIGKILL, SIGSTOP and libc's own */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Our ends may themselves be 0, 1 or 2 when nb was started with those closed. */
static void place_descriptors(struct plan *p)
{
    int *ends[] = {&p->in, &p->out, &p->err, &p->message, &p->report};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (*ends[i] < 0)
            continue;
        int moved = fcntl(*ends[i], F_DUPFD_CLOEXEC, CHILD_MESSAGE_FD + 1);
        if (moved < 0)
            fail(p, FAILED_SETUP);
        *ends[i] = moved;
    }
    for (int i = 0; i < 3; i++) {
        if (dup2(*ends[i], i) < 0)
            fail(p, FAILED_SETUP);
    }
}

/* After all other descriptors are marked to be closed. */
static void place_message(struct plan *p)
{
    if (p->message >= 0 && dup2(p->message, CHILD_MESSAGE_FD) < 0)
        fail(p, FAILED_SETUP);
}

static _Noreturn void become(struct plan *p)
{
    static const char *const EMPTY[] = {NULL};
    /* A session of its own is a process group of its own, and has no terminal to read from. */
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        fail(p, FAILED_SETUP);
    if (getppid() != p->parent)
        _exit(127); /* nb died before the signal was armed */
    default_signals();
    place_descriptors(p);
    /* For descriptors of libraries that forget O_CLOEXEC. Kernels before 5.11 refuse this flag;
     * then only O_CLOEXEC on our own descriptors protects. */
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    place_message(p);
    if (p->spec->cwd && chdir(p->spec->cwd) < 0)
        fail(p, FAILED_CHDIR);
    execve(p->program, (char *const *)p->spec->argv,
           (char *const *)(p->spec->env ? p->spec->env : EMPTY));
    fail(p, FAILED_EXEC);
}

/* ---- in the parent ---- */

static str path_variable(const char *const *env)
{
    for (; env && *env; env++) {
        if (str_starts(str_from(*env), STR("PATH=")))
            return str_skip(str_from(*env), sizeof("PATH=") - 1);
    }
    return STR(DEFAULT_PATH);
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Names without a slash are looked up in the child's PATH, absolute entries only: a relative
 * one would mean something else in another directory. */
static int find_program(struct arena *a, const struct child_spec *spec, const char **ret,
                        struct err *e)
{
    str name = str_from(spec->argv[0]);
    *ret = spec->argv[0];
    if (name.n == 0)
        return err_set(e, -ENOENT, "cannot start a program without a name");
    if (str_find_char(name, '/') >= 0)
        return 0;
    str path = path_variable(spec->env), rest = path, dir;
    while (str_split(&rest, ':', &dir)) {
        if (dir.n == 0 || dir.p[0] != '/')
            continue;
        *ret = arena_printf(a, "%.*s/%.*s", STR_ARG(dir), STR_ARG(name)).p;
        if (is_program(*ret))
            return 0;
    }
    return err_set(e, -ENOENT, "cannot start %s: no such program in PATH (%.*s)", spec->argv[0],
                   STR_ARG(path));
}

static void close_pair(int fds[2])
{
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

enum { IN, OUT, ERR, REPORT, PIPES };

static int open_pipes(int pipes[PIPES][2])
{
    for (int i = 0; i < PIPES; i++)
        pipes[i][0] = pipes[i][1] = -1;
    for (int i = 0; i < PIPES; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) < 0) {
            int rc = -errno;
            for (int j = 0; j < i; j++)
                close_pair(pipes[j]);
            return rc;
        }
    }
    return 0;
}

/* All signals are blocked around the fork, so that no handler of ours runs in the child. */
static pid_t fork_child(struct plan *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        become(p);
    int saved = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return pid;
}

static int explain_failure(const struct plan *p, const struct failure *f, struct err *e)
{
    if (f->step == FAILED_CHDIR)
        return err_set(e, -f->code, "cannot start %s: its directory %s: %s", p->program,
                       p->spec->cwd, err_reason(-f->code));
    if (f->step == FAILED_EXEC && f->code == ENOEXEC)
        return err_set(e, -ENOEXEC,
                       "cannot start %s: not a program for this machine; a script needs a first "
                       "line such as #!/bin/sh",
                       p->program);
    return err_set(e, -f->code, "cannot start %s: %s", p->program, err_reason(-f->code));
}

/* Blocks until the child has executed its program or failed: well under a millisecond. */
static int await_exec(const struct plan *p, int report, struct err *e)
{
    struct failure f;
    ssize_t n;
    do
        n = read(report, &f, sizeof(f));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(f) ? explain_failure(p, &f, e) : 0;
}

/* A file that exists in memory only, so that a program which never reads it does not block nb. */
static int make_message(str text, int *ret)
{
    *ret = -1;
    if (text.n == 0)
        return 0;
    int fd = memfd_create("message", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t done = 0;
    while (done < text.n) {
        ssize_t n = write(fd, text.p + done, text.n - done);
        if (n < 0) {
            int rc = -errno;
            close(fd);
            return rc;
        }
        done += (size_t)n;
    }
    (void)lseek(fd, 0, SEEK_SET);
    *ret = fd;
    return 0;
}

static void reap_child(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int start_program(struct plan *p, int pipes[PIPES][2], struct child_process *ret,
                         struct err *e)
{
    p->parent = getpid();
    p->in = pipes[IN][0];
    p->out = pipes[OUT][1];
    p->err = pipes[ERR][1];
    p->report = pipes[REPORT][1];
    pid_t pid = fork_child(p);
    if (pid < 0)
        return err_set(e, -errno, "cannot start %s: %s", p->program, err_reason(-errno));
    close(pipes[REPORT][1]);
    pipes[REPORT][1] = -1;
    int rc = await_exec(p, pipes[REPORT][0], e);
    int pidfd = rc < 0 ? -1 : pidfd_open(pid, 0);
    if (rc == 0 && pidfd < 0) {
        rc = err_set(e, -errno, "cannot watch %s: %s (Linux 5.4 or newer is needed)", p->program,
                     err_reason(-errno));
        kill(-pid, SIGKILL);
    }
    if (rc < 0) {
        reap_child(pid);
        return rc;
    }
    *ret = (struct child_process){pid, pidfd, pipes[IN][1], pipes[OUT][0], pipes[ERR][0]};
    pipes[IN][1] = pipes[OUT][0] = pipes[ERR][0] = -1;
    return 0;
}

int child_exec(const struct child_spec *spec, struct child_process *ret, struct err *e)
{
    struct plan p = {.spec = spec, .message = -1};
    int pipes[PIPES][2];
    struct arena a;
    arena_init(&a);
    int rc = find_program(&a, spec, &p.program, e);
    if (rc < 0)
        goto out;
    rc = make_message(spec->message, &p.message);
    if (rc == 0)
        rc = open_pipes(pipes);
    if (rc < 0) {
        err_set(e, rc, "cannot start %s: %s", p.program, err_reason(rc));
        goto out;
    }
    rc = start_program(&p, pipes, ret, e);
    for (int i = 0; i < PIPES; i++)
        close_pair(pipes[i]);
out:
    if (p.message >= 0)
        close(p.message);
    arena_done(&a);
    return rc;
}
