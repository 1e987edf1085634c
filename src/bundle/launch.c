#include "bundle/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_decode.h"
#include "bundle/process_tree.h"

enum { EXIT_NO_SANDBOX = 125, EXIT_NOT_STARTED = 127 };

/* ---- the specification ---- */

struct decoded {
    bool wrapped, confine, network;
    const char *cgroup;
    struct json_strs read, write, hide, own_read, own_write;
};

#define FIELD(name, type, member)                                                                  \
    {                                                                                              \
        name, type, offsetof(struct decoded, member), 0, NULL, 0                                   \
    }

static struct path_list paths_of(struct arena *a, const struct json_strs *s)
{
    struct path_list l = {0};
    for (size_t i = 0; i < s->len; i++)
        path_list_add(a, &l, s->items[i]);
    return l;
}

int launch_spec_decode(struct arena *a, str json, struct launch_spec *ret, struct err *e)
{
    static const struct json_field FIELDS[] = {
        FIELD("wrapped", JF_BOOL, wrapped),    FIELD("cgroup", JF_CSTR, cgroup),
        FIELD("confine", JF_BOOL, confine),    FIELD("network", JF_BOOL, network),
        FIELD("read", JF_STRS, read),          FIELD("write", JF_STRS, write),
        FIELD("hide", JF_STRS, hide),          FIELD("ownRead", JF_STRS, own_read),
        FIELD("ownWrite", JF_STRS, own_write), {0},
    };
    struct decoded d = {0};
    struct json *doc;
    int rc = json_parse(a, json, JSON_COPY, &doc, e);
    if (rc == 0)
        rc = json_decode(a, doc, FIELDS, &d, "", NULL, NULL, e);
    if (rc < 0)
        return rc;
    *ret = (struct launch_spec){
        .is_wrapped = d.wrapped,
        .is_confined = d.confine,
        .cgroup = d.cgroup,
        .confine = {paths_of(a, &d.read), paths_of(a, &d.write), paths_of(a, &d.hide),
                    paths_of(a, &d.own_read), paths_of(a, &d.own_write), d.network},
    };
    return 0;
}

/* ---- the end of everything ---- */

static void kill_child(void *ctx, const struct process *p, unsigned depth)
{
    /* Children cannot be mistaken: their ids stay taken until we reap them. Grandchildren
     * become children as soon as their parents are dead. */
    if (depth == 1)
        (void)kill(p->pid, SIGKILL);
}

#define PATIENCE_MAX_MS 64

static void end_descendants(void)
{
    for (int patience_ms = 1;;) {
        struct process_table t;
        if (process_table_read(&t) < 0)
            return;
        process_tree_walk(&t, getpid(), kill_child, NULL);
        process_table_done(&t);
        pid_t pid;
        int reaped = 0;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            reaped++;
        if (pid < 0 && errno == ECHILD)
            return;
        if (reaped == 0) /* one that cannot even be killed now is waited for */
            (void)poll(NULL, 0, patience_ms);
        patience_ms = reaped > 0                      ? 1
                      : patience_ms < PATIENCE_MAX_MS ? 2 * patience_ms
                                                      : patience_ms;
    }
}

static _Noreturn void end_like(int status)
{
    if (WIFSIGNALED(status)) {
        int sig = WTERMSIG(status);
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, sig);
        (void)signal(sig, SIG_DFL);
        (void)kill(getpid(), sig);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        _exit(128 + sig);
    }
    _exit(WEXITSTATUS(status));
}

/* ---- what both do ---- */

static void release_stdio(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < 3; i++)
        (void)dup2(fd, i);
    if (fd > 2)
        close(fd);
}

/* True when `pid` has ended. Others that have are adopted orphans. */
static bool reap(pid_t pid, int *ret_status)
{
    bool is_over = false;
    int status;
    pid_t got;
    while ((got = waitpid(-1, &status, WNOHANG)) > 0) {
        if (got != pid)
            continue;
        is_over = true;
        *ret_status = status;
    }
    return is_over;
}

/* A request to end comes as one of these; both wait for them instead of being interrupted. */
static void watched_signals(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGCHLD);
    sigaddset(ret, SIGTERM);
    sigaddset(ret, SIGINT);
    sigaddset(ret, SIGHUP);
}

/* ---- the server ---- */

static void join_cgroup(const char *path)
{
    char file[4096];
    snprintf(file, sizeof(file), "%s/cgroup.procs", path);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) < 0)
        dprintf(STDERR_FILENO, "nb: its memory is not limited by the kernel: %s: %s\n", file,
                err_reason(-errno));
    if (fd >= 0)
        close(fd);
}

/* bubblewrap puts the filter on after its own work, which needs what the filter refuses. */
static int add_filter(struct arena *a, char *const **argv, struct err *e)
{
    int fd = -1;
    int rc = confine_bwrap_filter(&fd, e);
    if (rc < 0)
        return rc;
    (void)fcntl(fd, F_SETFD, 0);
    size_t n = 0;
    while ((*argv)[n])
        n++;
    char **ret = arena_array(a, n + 3, sizeof(*ret));
    ret[0] = (*argv)[0];
    ret[1] = arena_cstr(a, STR("--seccomp"));
    ret[2] = arena_cstr(a, arena_printf(a, "%d", fd));
    memcpy(ret + 3, *argv + 1, n * sizeof(*ret)); /* with the NULL */
    *argv = ret;
    return 0;
}

static int confine(struct arena *a, const struct launch_spec *spec, char *const **argv,
                   struct err *e)
{
    if (spec->is_confined)
        return confine_self(a, &spec->confine, e);
    return spec->is_wrapped && confine_has_seccomp() ? add_filter(a, argv, e) : 0;
}

static _Noreturn void become_server(struct arena *a, const struct launch_spec *spec,
                                    char *const *argv, pid_t parent)
{
    struct err e = {0};
    sigset_t none;
    setsid();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(EXIT_NOT_STARTED);
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (spec->cgroup)
        join_cgroup(spec->cgroup);
    if (confine(a, spec, &argv, &e) < 0) {
        dprintf(STDERR_FILENO, "nb: no sandbox: %s\n", e.msg);
        _exit(EXIT_NO_SANDBOX);
    }
    (void)signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(argv[0], argv);
    dprintf(STDERR_FILENO, "nb: cannot start %s: %s\n", argv[0], err_reason(-errno));
    _exit(EXIT_NOT_STARTED);
}

/* ---- the inner process ---- */

/* bubblewrap itself would not pass the signal on, and its end kills what is inside. */
static void term_inside(void *ctx, const struct process *p, unsigned depth)
{
    if (depth >= 2)
        (void)kill(p->pid, SIGTERM);
}

static void ask_to_end(const struct launch_spec *spec, pid_t server)
{
    struct process_table t;
    if (!spec->is_wrapped) {
        (void)kill(-server, SIGTERM);
    } else if (process_table_read(&t) == 0) {
        process_tree_walk(&t, getpid(), term_inside, NULL);
        process_table_done(&t);
    }
}

static _Noreturn void keep(struct arena *a, const struct launch_spec *spec, char *const *argv,
                           int outer)
{
    sigset_t watched;
    pid_t self = getpid();
    setsid();
    watched_signals(&watched);
    int signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    pid_t server = signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ? -1 : fork();
    if (server == 0)
        become_server(a, spec, argv, self);
    if (server < 0) {
        dprintf(STDERR_FILENO, "nb: cannot start %s: %s\n", argv[0], err_reason(-errno));
        _exit(EXIT_NOT_STARTED);
    }
    release_stdio();
    for (;;) {
        struct pollfd fds[] = {{outer, 0, 0}, {signals, POLLIN, 0}};
        struct signalfd_siginfo info;
        int status;
        (void)poll(fds, 2, -1);
        if (fds[0].revents) { /* the outer one is gone: so is nb, or it wants us gone */
            end_descendants();
            _exit(EXIT_FAILURE);
        }
        while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
            if (info.ssi_signo != SIGCHLD)
                ask_to_end(spec, server);
        }
        if (reap(server, &status)) {
            end_descendants();
            end_like(status);
        }
    }
}

/* ---- the outer process ---- */

int launch_run(struct arena *a, const struct launch_spec *spec, char *const *argv)
{
    sigset_t watched;
    int life[2], status = 0;
    struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    watched_signals(&watched);
    sigprocmask(SIG_BLOCK, &watched, NULL);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || pipe2(life, O_CLOEXEC) < 0)
        return EXIT_NOT_STARTED;
    pid_t inner = fork();
    if (inner < 0)
        return EXIT_NOT_STARTED;
    close(life[inner == 0 ? 1 : 0]);
    if (inner == 0)
        keep(a, spec, argv, life[0]);
    release_stdio();
    while (!reap(inner, &status)) {
        int sig = sigwaitinfo(&watched, NULL);
        if (sig > 0 && sig != SIGCHLD)
            (void)kill(inner, SIGTERM);
    }
    end_descendants();
    end_like(status);
}
