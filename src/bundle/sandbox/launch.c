#include "bundle/sandbox/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json/json_decode.h"
#include "bundle/confine/process_usage.h"
#include "bundle/network/network_proxy.h"
#include "bundle/network/network_space.h"
#include "bundle/sandbox/pid_space.h"
#include "os/file.h"

enum { EXIT_NO_SANDBOX = 125, EXIT_NOT_STARTED = 127 };

/* ---- the specification ---- */

struct decoded {
    bool confine, network, pid_space;
    const char *cgroup;
    int64_t memory_bytes, cpu_seconds;
    struct json_strs argv, wrap, reach, read, program_files, write, hide, own_read, own_write;
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

static char **strings_of(struct arena *a, const struct json_strs *s)
{
    char **ret = arena_array(a, s->len + 1, sizeof(*ret));
    for (size_t i = 0; i < s->len; i++)
        ret[i] = arena_cstr(a, s->items[i]);
    return ret;
}

static char **split_env(struct arena *a, str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == 0;
    char **ret = arena_array(a, n + 2, sizeof(*ret));
    str one;
    for (n = 0; str_split(&text, 0, &one);) {
        if (one.n > 0)
            ret[n++] = arena_cstr(a, one);
    }
    return ret;
}

int launch_spec_decode(struct arena *a, str text, struct launch_spec *ret, struct err *e)
{
    static const struct json_field FIELDS[] = {
        FIELD("argv", JF_STRS, argv),
        FIELD("wrap", JF_STRS, wrap),
        FIELD("cgroup", JF_CSTR, cgroup),
        FIELD("memoryBytes", JF_INT, memory_bytes),
        FIELD("cpuSeconds", JF_INT, cpu_seconds),
        FIELD("pidSpace", JF_BOOL, pid_space),
        FIELD("confine", JF_BOOL, confine),
        FIELD("network", JF_BOOL, network),
        FIELD("programFiles", JF_STRS, program_files),
        FIELD("reach", JF_STRS, reach),
        FIELD("read", JF_STRS, read),
        FIELD("write", JF_STRS, write),
        FIELD("hide", JF_STRS, hide),
        FIELD("ownRead", JF_STRS, own_read),
        FIELD("ownWrite", JF_STRS, own_write),
        {0},
    };
    struct decoded d = {0};
    struct json *doc;
    str json = STR_NONE;
    (void)str_split(&text, 0, &json);
    int rc = json_parse(a, json, JSON_COPY, &doc, e);
    if (rc == 0)
        rc = json_decode(a, doc, FIELDS, &d, "", NULL, NULL, e);
    if (rc < 0)
        return rc;
    if (d.argv.len == 0)
        return err_set(e, -EINVAL, "argv: the command is empty");
    struct network_rules *network = d.reach.len > 0 ? ARENA_NEW(a, struct network_rules) : NULL;
    rc = network ? network_rules_make(a, &d.reach, network, e) : 0;
    if (rc < 0)
        return rc;
    *ret = (struct launch_spec){
        .argv = strings_of(a, &d.argv),
        .env = split_env(a, text),
        .wrap = d.wrap.len > 0 ? strings_of(a, &d.wrap) : NULL,
        .has_pid_space = d.pid_space && d.wrap.len > 0,
        .is_confined = d.confine,
        .cgroup = d.cgroup,
        .memory_bytes = d.memory_bytes,
        .cpu_seconds = d.cpu_seconds,
        .confine = {.read = paths_of(a, &d.read),
                    .program_files = paths_of(a, &d.program_files),
                    .write = paths_of(a, &d.write),
                    .hide = paths_of(a, &d.hide),
                    .own_read = paths_of(a, &d.own_read),
                    .own_write = paths_of(a, &d.own_write),
                    .network = d.network},
        .network = network,
    };
    return 0;
}

int launch_spec_read(struct arena *a, int fd, struct launch_spec *ret, struct err *e)
{
    struct buf text;
    char chunk[16384];
    ssize_t n;
    buf_init(&text, LAUNCH_SPEC_MAX);
    while ((n = read(fd, chunk, sizeof(chunk))) > 0)
        (void)buf_add_str(&text, (str){chunk, (size_t)n});
    int rc = n < 0 ? err_set(e, -errno, "cannot read descriptor %d: %s", fd, err_reason(-errno))
             : buf_failed(&text) ? err_set(e, -E2BIG, "the specification is too long")
                                 : launch_spec_decode(a, buf_str(&text), ret, e);
    buf_done(&text);
    close(fd);
    return rc;
}

/* ---- the end of everything ---- */

#define PATIENCE_MAX_MS 64

static void end_descendants(void)
{
    for (int patience_ms = 1;;) {
        struct process_table t;
        pid_t pid;
        int reaped = 0;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            reaped++;
        if ((pid < 0 && errno == ECHILD) || process_table_read(&t) < 0)
            return;
        process_tree_kill(&t, getpid(), 1);
        process_table_done(&t);
        if (reaped == 0) /* a process that cannot be killed yet is waited for */
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

/* ---- shared by both processes ---- */

static void release_stdio(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < 3; i++)
        (void)dup2(fd, i);
    if (fd > 2)
        close(fd);
}

/* True when `pid` has ended. Other ended processes are adopted orphans. */
static bool reap_server(pid_t pid, int *ret_status)
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

/* A request to end arrives as one of these signals; both processes wait for them instead of being
 * interrupted. */
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
    int rc = file_put(file, "0");
    if (rc < 0)
        dprintf(STDERR_FILENO, "nb: the kernel does not limit the bundle: %s: %s\n", file,
                err_reason(rc));
}

/* ---- bubblewrap's options ---- */

/* The options are in a file: other users of the machine can read command lines, and variables hold
 * secrets. */
static void add_option(struct buf *out, const char *text)
{
    (void)buf_add(out, text, strlen(text) + 1);
}

/* bubblewrap applies the filter after its own work, which needs calls that the filter refuses. */
static int add_filter(struct arena *a, struct buf *out, struct err *e)
{
    int fd = -1;
    int rc = confine_bwrap_filter(&fd, e);
    if (rc < 0)
        return rc;
    (void)fcntl(fd, F_SETFD, 0);
    add_option(out, "--seccomp");
    add_option(out, arena_printf(a, "%d", fd).p);
    return 0;
}

static void add_variables(struct arena *a, struct buf *out, char *const *env)
{
    for (; *env; env++) {
        str value = str_from(*env), name;
        if (!str_split(&value, '=', &name) || name.n == 0)
            continue;
        add_option(out, "--setenv");
        add_option(out, arena_cstr(a, name));
        add_option(out, arena_cstr(a, value));
    }
}

static int write_options(const struct buf *options, struct err *e)
{
    int fd = buf_failed(options) ? -1 : memfd_create("options", 0);
    str text = buf_str(options);
    if (fd < 0 || write(fd, text.p, text.n) != (ssize_t)text.n || lseek(fd, 0, SEEK_SET) < 0)
        return err_set(e, -EIO, "cannot pass bubblewrap its options");
    return fd;
}

/* bubblewrap's environment is empty until it has entered the namespaces; --setenv takes effect
 * inside. */
static int wrap(struct arena *a, const struct launch_spec *spec, char *const **ret, struct err *e)
{
    struct buf options;
    buf_init(&options, LAUNCH_SPEC_MAX);
    int rc = confine_has_seccomp() ? add_filter(a, &options, e) : 0;
    char *const *wanted = spec->has_pid_space ? pid_space_options(a, spec->wrap) : spec->wrap;
    if (!wanted)
        rc = err_set(e, -EINVAL, "wrap: --unshare-user is missing");
    for (char *const *p = wanted ? wanted + 1 : NULL; p && *p; p++)
        add_option(&options, *p);
    add_variables(a, &options, spec->env);
    int fd = rc < 0 ? rc : write_options(&options, e);
    buf_done(&options);
    if (fd < 0)
        return fd;
    size_t n = 0;
    while (spec->argv[n])
        n++;
    char **argv = arena_array(a, n + 5, sizeof(*argv));
    argv[0] = spec->wrap[0];
    argv[1] = arena_cstr(a, STR("--args"));
    argv[2] = arena_cstr(a, arena_printf(a, "%d", fd));
    argv[3] = arena_cstr(a, STR("--"));
    memcpy(argv + 4, spec->argv, n * sizeof(*argv));
    *ret = argv;
    return 0;
}

#define OPEN_FILES_MAX 4096
#define OOM_SCORE      "500" /* of 1000 */

/* The kernel counts processes and threads of the account, including those of other programs, so the
 * limit is set above the present number. It stops a flood of processes; nb's watch ends the rest.
 * The kernel does not enforce it for root. */
static void limit_self(void)
{
    struct rlimit files = {OPEN_FILES_MAX, OPEN_FILES_MAX}, processes;
    unsigned long total = process_tasks_now();
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (total == 0 || getrlimit(RLIMIT_NPROC, &processes) < 0)
        return;
    rlim_t most = total + PROCESS_TASKS_MAX;
    if (processes.rlim_max == RLIM_INFINITY || processes.rlim_max > most)
        processes.rlim_cur = processes.rlim_max = most;
    (void)setrlimit(RLIMIT_NPROC, &processes);
}

static void limit_one(int what, int64_t most)
{
    struct rlimit limit = {(rlim_t)most, (rlim_t)most};
    (void)setrlimit(what, &limit);
}

/* Only when nothing is left to do but execve: bubblewrap's options are in a file as well. */
static void limit_writes(const struct launch_spec *spec)
{
    if (spec->no_writes || spec->cpu_seconds > 0)
        limit_one(RLIMIT_FSIZE, 0);
    if (spec->cpu_seconds <= 0)
        return;
    limit_one(RLIMIT_CPU, spec->cpu_seconds);
    limit_one(RLIMIT_CORE, 0);
    if (spec->memory_bytes > 0)
        limit_one(RLIMIT_AS, spec->memory_bytes);
}

/* The caller dies with its parent. */
static _Noreturn void become_server(struct arena *a, const struct launch_spec *spec, int gates)
{
    char *const NOTHING[] = {NULL}, *const *argv = spec->argv;
    struct err e = {0};
    sigset_t none;
    setsid();
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (spec->cgroup)
        join_cgroup(spec->cgroup);
    limit_self();
    /* when the machine runs out of memory, servers are killed before nb */
    (void)file_put("/proc/self/oom_score_adj", OOM_SCORE);
    int rc = spec->network ? network_space_enter(spec->network, gates, &e) : 0;
    if (rc == 0)
        rc = spec->wrap          ? wrap(a, spec, &argv, &e)
             : spec->is_confined ? confine_self(a, &spec->confine, &e)
                                 : 0;
    if (rc < 0) {
        dprintf(STDERR_FILENO, "nb: no sandbox: %s\n", e.msg);
        _exit(EXIT_NO_SANDBOX);
    }
    limit_writes(spec);
    (void)signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(argv[0], argv, spec->wrap ? NOTHING : spec->env);
    dprintf(STDERR_FILENO, "nb: cannot start %s: %s\n", argv[0], err_reason(-errno));
    _exit(EXIT_NOT_STARTED);
}

/* ---- the inner process ---- */

/* bubblewrap does not forward the signal, and its end kills the processes inside. */
static void term_inside(void *ctx, const struct process *p, unsigned depth)
{
    if (depth >= 2)
        (void)kill(p->pid, SIGTERM);
}

static void ask_to_end(const struct launch_spec *spec, pid_t server)
{
    struct process_table t;
    if (!spec->wrap) {
        (void)kill(-server, SIGTERM);
    } else if (process_table_read(&t) == 0) {
        process_tree_walk(&t, getpid(), term_inside, NULL);
        process_table_done(&t);
    }
}

static _Noreturn void keep_server(struct arena *a, const struct launch_spec *spec, int outer)
{
    sigset_t watched;
    pid_t self = getpid();
    setsid();
    watched_signals(&watched);
    int signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    int gates = spec->network ? network_proxy_start(a, spec->network) : -1;
    bool can_start = signals >= 0 && (!spec->network || gates >= 0);
    pid_t server = !can_start || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ? -1 : fork();
    if (server == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != self)
            _exit(EXIT_NOT_STARTED);
        become_server(a, spec, gates);
    }
    if (server < 0) {
        dprintf(STDERR_FILENO, "nb: cannot start %s: %s\n", spec->argv[0], err_reason(-errno));
        _exit(EXIT_NOT_STARTED);
    }
    file_close(gates);
    release_stdio();
    for (;;) {
        struct pollfd fds[] = {{outer, 0, 0}, {signals, POLLIN, 0}};
        struct signalfd_siginfo info;
        int status;
        (void)poll(fds, 2, -1);
        /* the outer process has ended: nb has ended, or wants this process to end */
        if (fds[0].revents) {
            end_descendants();
            _exit(EXIT_FAILURE);
        }
        while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
            if (info.ssi_signo != SIGCHLD)
                ask_to_end(spec, server);
        }
        if (reap_server(server, &status)) {
            end_descendants();
            end_like(status);
        }
    }
}

/* ---- the only process, where bubblewrap is the first of a namespace ---- */

static _Noreturn void become_first(struct arena *a, const struct launch_spec *spec, int alive[2],
                                   int gates)
{
    struct err e = {0};
    if (pid_space_enter(alive, &e) < 0) {
        dprintf(STDERR_FILENO, "nb: no sandbox: %s\n", e.msg);
        _exit(EXIT_NO_SANDBOX);
    }
    become_server(a, spec, gates);
}

static int keep_space(struct arena *a, const struct launch_spec *spec, const sigset_t *watched)
{
    int alive[2], status = 0;
    int gates = spec->network ? network_proxy_start(a, spec->network) : -1;
    pid_t first = spec->network && gates < 0 ? gates : pid_space_fork(alive);
    if (first == 0)
        become_first(a, spec, alive, gates);
    if (first < 0) {
        dprintf(STDERR_FILENO, "nb: no sandbox: cannot make a PID namespace: %s\n",
                err_reason(first));
        return EXIT_NO_SANDBOX;
    }
    file_close(gates);
    release_stdio();
    while (!reap_server(first, &status)) {
        int sig = sigwaitinfo(watched, NULL);
        if (sig > 0 && sig != SIGCHLD)
            ask_to_end(spec, first);
    }
    end_descendants(); /* of the network */
    end_like(status);
}

/* ---- the outer process ---- */

int launch_run(struct arena *a, const struct launch_spec *spec)
{
    sigset_t watched;
    int life[2], status = 0;
    struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)prctl(PR_SET_DUMPABLE, 0); /* it holds the server's secrets */
    watched_signals(&watched);
    sigprocmask(SIG_BLOCK, &watched, NULL);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return EXIT_NOT_STARTED;
    if (spec->has_pid_space)
        return keep_space(a, spec, &watched);
    if (pipe2(life, O_CLOEXEC) < 0)
        return EXIT_NOT_STARTED;
    pid_t inner = fork();
    if (inner < 0)
        return EXIT_NOT_STARTED;
    close(life[inner == 0 ? 1 : 0]);
    if (inner == 0)
        keep_server(a, spec, life[0]);
    release_stdio();
    while (!reap_server(inner, &status)) {
        int sig = sigwaitinfo(&watched, NULL);
        if (sig > 0 && sig != SIGCHLD)
            (void)kill(inner, SIGTERM);
    }
    end_descendants();
    end_like(status);
}
