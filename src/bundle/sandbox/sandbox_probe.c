#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bundle/confine/confine.h"
#include "bundle/network/network_space.h"
#include "bundle/sandbox/pid_space.h"
#include "bundle/sandbox/sandbox.h"
#include "os/file.h"

#define TRIAL_MS       5000
#define TRIAL_ARGS_MAX 64
#define GATES_FD       (STDERR_FILENO + 1) /* in the child */

extern char **environ;

/* ---- the trial ---- */

static bool find_bwrap(char ret[PATH_MAX])
{
    str rest = str_from(getenv("PATH")), dir;
    while (str_split(&rest, ':', &dir)) {
        struct stat st;
        if (dir.n == 0 || dir.p[0] != '/')
            continue;
        int n = snprintf(ret, PATH_MAX, "%.*s/bwrap", STR_ARG(dir));
        if (n < PATH_MAX && stat(ret, &st) == 0 && S_ISREG(st.st_mode) && access(ret, X_OK) == 0)
            return true;
    }
    return false;
}

/* The options of every plan, then those of the trial. */
static void trial_args(const struct sandbox_offer *o, bool no_userns, const char *const *rest,
                       const char *argv[TRIAL_ARGS_MAX])
{
    const char *const *const PARTS[] = {sandbox_bwrap_user(no_userns), SANDBOX_BWRAP_ALWAYS, rest};
    size_t n = 0;
    argv[n++] = o->bwrap;
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++)
        for (const char *const *p = PARTS[i]; *p; p++) {
            assert(n + 1 < TRIAL_ARGS_MAX);
            argv[n++] = *p;
        }
    argv[n] = NULL;
}

/* Uses every kind of namespace and mount that a plan may use; what fails here would fail there. */
static int spawn_trial(const struct sandbox_offer *o, bool no_userns, int err_fd, pid_t *ret)
{
    static const char *const TRIAL[] = {"--unshare-net",
                                        "--ro-bind",
                                        "/usr",
                                        "/usr",
                                        "--ro-bind-try",
                                        "/lib",
                                        "/lib",
                                        "--ro-bind-try",
                                        "/lib64",
                                        "/lib64",
                                        "--remount-ro",
                                        "/",
                                        "--",
                                        "/usr/bin/true",
                                        NULL};
    const char *argv[TRIAL_ARGS_MAX];
    trial_args(o, no_userns, TRIAL, argv);
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, err_fd, 2);
    int rc = posix_spawn(ret, o->bwrap, &fa, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    return -rc;
}

/* Reads its output until it ends, or until the time limit. */
static size_t read_until_end(int fd, uint64_t end, char *p, size_t max)
{
    size_t n = 0;
    for (;;) {
        uint64_t now = clock_mono_ms();
        struct pollfd pfd = {fd, POLLIN, 0};
        if (now >= end || poll(&pfd, 1, (int)(end - now)) <= 0)
            return n;
        char scrap[256];
        ssize_t got = n < max ? read(fd, p + n, max - n) : read(fd, scrap, sizeof(scrap));
        if (got <= 0)
            return n;
        n += n < max ? (size_t)got : 0;
    }
}

static bool try_bwrap(struct sandbox_offer *o, bool no_userns, uint64_t end)
{
    int fds[2], status = -1;
    pid_t pid;
    char output[256];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return false;
    int rc = spawn_trial(o, no_userns, fds[1], &pid);
    close(fds[1]);
    if (rc == 0) {
        size_t n = read_until_end(fds[0], end, output, sizeof(output));
        (void)kill(pid, SIGKILL); /* it has ended, unless it took too long */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        str line = str_trim((str){output, n});
        if (line.n == 0)
            line = STR("it failed without an error message");
        snprintf(o->why_not, sizeof(o->why_not), "%.255s does not work here: %.*s", o->bwrap,
                 STR_ARG(line));
    } else {
        snprintf(o->why_not, sizeof(o->why_not), "%.255s: %s", o->bwrap, err_reason(rc));
    }
    close(fds[0]);
    return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool find_working_bwrap(struct sandbox_offer *o)
{
    uint64_t end = clock_mono_ms() + TRIAL_MS;
    if (!find_bwrap(o->bwrap)) {
        snprintf(o->why_not, sizeof(o->why_not), "bubblewrap (bwrap) is not installed");
        return false;
    }
    o->no_userns = try_bwrap(o, true, end);
    return o->no_userns || try_bwrap(o, false, end);
}

/* ---- namespaces that nb makes: a network with its gates, and processes; bubblewrap inside ---- */

struct trial {
    bool has_network, has_pids;
    const char *argv[TRIAL_ARGS_MAX]; /* empty: only the namespaces are tried */
    char *const *pid_options;         /* the same for a PID namespace */
    int out[2], gates[2], alive[2];
};

/* In the forked child of a process with threads. The child keeps none of nb's descriptors: its work
 * takes a while, and until it ends a lock or socket that nb closes would stay in use. */
static void leave_nb(const struct trial *t)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(t->out[1], STDERR_FILENO);
    if (t->has_network && t->gates[0] != GATES_FD && dup3(t->gates[0], GATES_FD, O_CLOEXEC) < 0)
        _exit(1);
    (void)close_range(GATES_FD + t->has_network, ~0U, 0);
}

static _Noreturn void attempt(struct trial *t)
{
    static const char *const NO_ENV[] = {NULL};
    struct network_rules rules = {.is_public = true};
    struct err e = {0};
    int rc = t->has_pids ? pid_space_enter(t->alive, &e) : 0;
    leave_nb(t);
    if (rc == 0 && t->has_network)
        rc = network_space_enter(&rules, GATES_FD, &e);
    if (rc < 0) {
        dprintf(STDERR_FILENO, "%s", e.msg);
        _exit(1);
    }
    char *const *argv = t->has_pids ? t->pid_options : (char *const *)t->argv;
    if (argv[0])
        execve(argv[0], argv, (char *const *)NO_ENV);
    _exit(argv[0] ? 1 : 0);
}

static bool probe_finish(pid_t pid, int fd, char *why, size_t max)
{
    char output[200];
    int status = -1;
    size_t n = read_until_end(fd, clock_mono_ms() + TRIAL_MS, output, sizeof(output));
    if (waitpid(pid, &status, WNOHANG) == 0) {
        (void)poll(NULL, 0, 20); /* its output is complete, but its exit may take a moment */
        if (waitpid(pid, &status, WNOHANG) == 0) {
            (void)kill(pid, SIGKILL);
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        }
    }
    str line = str_trim((str){output, n});
    snprintf(why, max, "%.*s",
             STR_ARG(line.n > 0 ? line : STR("the test of the network sandbox failed")));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The program of the trial fails if it can find the first process of its namespace. */
static void choose_args(struct arena *a, const struct sandbox_offer *o, struct trial *t)
{
    static const char *const TRIAL[] = {
        "--ro-bind", "/usr",   "/usr", "--ro-bind-try", "/lib", "/lib", "--ro-bind-try",
        "/lib64",    "/lib64", "--",   "/usr/bin/test", "!",    "-e",   "/proc/1",
        NULL};
    static const char *const PLAIN[] = {"--ro-bind", "/usr", "/usr",          "--ro-bind-try",
                                        "/lib",      "/lib", "--ro-bind-try", "/lib64",
                                        "/lib64",    "--",   "/usr/bin/true", NULL};
    if (o->kind == SANDBOX_BUBBLEWRAP)
        trial_args(o, o->no_userns, t->has_pids ? TRIAL : PLAIN, t->argv);
    if (t->has_pids)
        t->pid_options = pid_space_options(a, (char *const *)t->argv);
}

static bool try_spaces(const struct sandbox_offer *o, bool has_network, bool has_pids, char *why,
                       size_t max)
{
    struct trial t = {has_network, has_pids, .out = {-1, -1}, .gates = {-1, -1}, .alive = {-1, -1}};
    struct arena a;
    bool is_ok = false;
    arena_init(&a);
    choose_args(&a, o, &t);
    snprintf(why, max, "the test of the network sandbox could not be started");
    pid_t pid = -1;
    if (pipe2(t.out, O_CLOEXEC) == 0 &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, t.gates) == 0)
        pid = has_pids ? pid_space_fork(t.alive) : fork();
    if (pid == 0)
        attempt(&t);
    file_close(t.out[1]);
    if (pid > 0)
        is_ok = probe_finish(pid, t.out[0], why, max);
    file_close(t.out[0]);
    file_close(t.gates[0]);
    file_close(t.gates[1]);
    file_close(pid > 0 ? t.alive[1] : -1);
    arena_done(&a);
    return is_ok;
}

/* Tests whether servers can have namespaces of both kinds: usually one trial answers for both. Sets
 * has_pid_space, and has_network or else why_no_network. */
static void spaces_look(struct sandbox_offer *o)
{
    bool may_pids = o->kind == SANDBOX_BUBBLEWRAP && o->no_userns;
    char *why = o->why_no_network, unused[8];
    size_t max = sizeof(o->why_no_network);
    if (o->kind == SANDBOX_NONE)
        return;
    o->has_network = o->has_pid_space = may_pids && try_spaces(o, true, true, why, max);
    if (!o->has_network)
        o->has_network = try_spaces(o, true, false, why, max);
    if (may_pids && !o->has_pid_space)
        o->has_pid_space = try_spaces(o, false, true, unused, sizeof(unused));
}

void sandbox_look(struct sandbox_offer *ret)
{
    *ret = (struct sandbox_offer){.landlock_abi = confine_landlock_abi()};
    if (find_working_bwrap(ret))
        ret->kind = SANDBOX_BUBBLEWRAP;
    else if (ret->landlock_abi > 0 && confine_has_seccomp())
        ret->kind = SANDBOX_LANDLOCK;
    spaces_look(ret);
}

/* ---- once for all ---- */

struct sandbox_probe {
    struct job job;
    struct pool *pool;
    struct sandbox_offer offer;
    struct list_node waiters;
    enum { UNASKED, LOOKING, KNOWN } state;
};

static void probe_work(struct job *j)
{
    sandbox_look(&CONTAINER_OF(j, struct sandbox_probe, job)->offer);
}

static void on_probe_done(struct job *j)
{
    struct sandbox_probe *p = CONTAINER_OF(j, struct sandbox_probe, job);
    assert(p->state == LOOKING);
    p->state = KNOWN;
    struct list_node *n;
    while ((n = list_pop(&p->waiters)) != NULL) {
        struct sandbox_waiter *w = LIST_ENTRY(n, struct sandbox_waiter, node);
        w->fn(w->ctx, &p->offer);
    }
}

struct sandbox_probe *sandbox_probe_new(struct pool *pool)
{
    struct sandbox_probe *p = xcalloc(1, sizeof(*p));
    p->pool = pool;
    p->job = (struct job){.work = probe_work, .done = on_probe_done};
    list_init(&p->waiters);
    return p;
}

void sandbox_probe_free(struct sandbox_probe *p)
{
    assert(sandbox_probe_idle(p));
    free(p);
}

void sandbox_probe_ask(struct sandbox_probe *p, struct sandbox_waiter *w)
{
    if (p->state == KNOWN) {
        list_init(&w->node);
        w->fn(w->ctx, &p->offer);
        return;
    }
    list_push(&p->waiters, &w->node);
    if (p->state == UNASKED)
        pool_submit(p->pool, &p->job);
    p->state = LOOKING;
}

void sandbox_probe_forget(struct sandbox_waiter *w)
{
    list_del(&w->node);
}

bool sandbox_probe_idle(const struct sandbox_probe *p)
{
    return p->state != LOOKING;
}
