#include "bundle/bash/bash_run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "bundle/confine/cgroup.h"
#include "bundle/confine/path_list.h"
#include "bundle/confine/process_usage.h"
#include "bundle/sandbox/launch.h"

#define READ_BYTES (64u * 1024)
#define GRACE_MS   2000 /* between SIGTERM and SIGKILL */
#define DRAIN_MS   200  /* output may arrive so long after the shell has ended */
#define ENV_MAX    4096

extern char **environ;

/* ---- starting ---- */

static bool is_replaced(str pair, const struct json *env)
{
    ptrdiff_t eq = str_find_char(pair, '=');
    return eq > 0 && json_get_str(env, str_slice(pair, 0, (size_t)eq));
}

static char **make_env(struct arena *a, char *const *base, const struct json *env)
{
    size_t n = 0, max = (env ? env->len : 0) + 1;
    for (char *const *p = base; *p; p++)
        max++;
    char **ret = arena_array(a, max, sizeof(*ret));
    for (char *const *p = base; *p; p++) {
        if (!is_replaced(str_from(*p), env))
            ret[n++] = *p;
    }
    for (size_t i = 0; env && i < env->len; i++) {
        const struct json_member *m = &env->members[i];
        ret[n++] = (char *)arena_printf(a, "%.*s=%.*s", STR_ARG(m->key), STR_ARG(m->value.s)).p;
    }
    return ret;
}

/* The directory where a command of the sandbox starts, and to which relative directories refer. */
static const char *sandbox_cwd(const struct launch_spec *spec)
{
    const char *cwd = NULL;
    for (char *const *p = spec->wrap; p && *p && p[1]; p++)
        cwd = strcmp(*p, "--chdir") == 0 ? p[1] : cwd;
    return cwd ? cwd : ".";
}

/* bubblewrap refuses a second --chdir. */
static char *const *with_directory(struct arena *a, char *const *wrap, const char *cwd)
{
    size_t n = 0;
    while (wrap[n])
        n++;
    char **ret = arena_array(a, n + 3, sizeof(*ret));
    memcpy(ret, wrap, n * sizeof(*ret));
    for (size_t i = 0; i + 1 < n; i++) {
        if (strcmp(wrap[i], "--chdir") == 0) {
            ret[i + 1] = arena_cstr(a, str_from(cwd));
            return ret;
        }
    }
    ret[n] = arena_cstr(a, STR("--chdir"));
    ret[n + 1] = arena_cstr(a, str_from(cwd));
    return ret;
}

/* The specification of the command: the same rules, another command line and other variables. */
static struct launch_spec spec_of(struct arena *a, const struct bash_want *w, char **argv,
                                  char **env, const char *cwd, const char *cgroup)
{
    struct launch_spec spec = *w->sandbox;
    spec.argv = argv;
    spec.env = env;
    spec.cgroup = cgroup;
    spec.no_writes = w->disk_full_mb > 0;
    if (spec.wrap && cwd)
        spec.wrap = with_directory(a, spec.wrap, cwd);
    return spec;
}

/* In the child. False with errno: a descriptor or the directory cannot be used. */
static bool take_stdio(const char *cwd, int out, int err)
{
    int null = open("/dev/null", O_RDONLY);
    setsid();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2 &&
           (!cwd || chdir(cwd) == 0);
}

static _Noreturn void report_failure(int report)
{
    int code = errno;
    ssize_t n = write(report, &code, sizeof(code));
    (void)n;
    _exit(127);
}

/* Becomes the launcher of the command: it ends together with everything that the command
 * started. */
static _Noreturn void become_launcher(struct arena *a, const struct launch_spec *spec,
                                      const char *cwd, int out, int err, int report)
{
    if (!take_stdio(spec->wrap ? NULL : cwd, out, err))
        report_failure(report);
    (void)close_range(3, ~0U, 0);
    _exit(launch_run(a, spec));
}

static _Noreturn void become_shell(const char *const *argv, char *const *env, const char *cwd,
                                   int out, int err, int report)
{
    sigset_t none;
    sigemptyset(&none);
    (void)signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (take_stdio(cwd, out, err)) {
        (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        execve("/bin/bash", (char *const *)argv, env);
        execve("/bin/sh", (char *const *)argv, env);
    }
    report_failure(report);
}

/* The pipes of one start: two for output, one that closes when the shell runs. */
enum { OUT, ERR, REPORT, PIPES };

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The kernel's limits for this command, where available. */
static void make_cgroup(struct bash_run *r, const struct bash_want *w)
{
    struct arena a;
    if (!w->sandbox || !w->sandbox->cgroup)
        return;
    arena_init(&a);
    struct cgroup_limits limits = {w->sandbox->memory_bytes, PROCESS_TASKS_MAX};
    const char *path = cgroup_make_leaf(&a, str_from(w->sandbox->cgroup), &limits);
    r->cgroup = path ? str_dup(str_from(path)) : NULL;
    arena_done(&a);
}

static void drop_cgroup(struct bash_run *r)
{
    if (r->cgroup) {
        cgroup_kill(r->cgroup);
        cgroup_remove(r->cgroup);
    }
    free(r->cgroup);
    r->cgroup = NULL;
}

static int open_pipes(int p[PIPES][2])
{
    for (int i = 0; i < PIPES; i++)
        p[i][0] = p[i][1] = -1;
    for (int i = 0; i < PIPES; i++) {
        if (pipe2(p[i], O_CLOEXEC) < 0)
            return -errno;
    }
    (void)fcntl(p[OUT][0], F_SETFL, O_NONBLOCK);
    (void)fcntl(p[ERR][0], F_SETFL, O_NONBLOCK);
    return 0;
}

static int await_exec(int report)
{
    int code = 0;
    ssize_t n;
    do
        n = read(report, &code, sizeof(code));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(code) ? -code : 0;
}

static void run_reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* NULL = the current directory of the process. */
static const char *directory_of(struct arena *a, const struct bash_want *w)
{
    str base = w->directory;
    if (base.n == 0 && w->sandbox && w->sandbox->wrap)
        base = str_from(sandbox_cwd(w->sandbox));
    if (w->cwd.n == 0)
        return w->directory.n > 0 ? arena_cstr(a, w->directory) : NULL;
    return base.n > 0 ? path_clean(a, w->cwd, base, STR("/")).p : arena_cstr(a, w->cwd);
}

/* All memory is allocated before the fork. */
static int spawn(struct bash_run *r, const struct bash_want *w, int p[PIPES][2])
{
    struct arena a;
    arena_init(&a);
    const char *const argv[] = {"bash", "-c", arena_cstr(&a, w->command), NULL};
    char **env = make_env(&a, w->sandbox ? w->sandbox->env : environ, w->env);
    const char *cwd = directory_of(&a, w);
    struct launch_spec spec = {0};
    if (w->sandbox) {
        const char *shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
        char **inside = arena_array(&a, 4, sizeof(*inside));
        inside[0] = arena_cstr(&a, str_from(shell));
        inside[1] = arena_cstr(&a, STR("-c"));
        inside[2] = arena_cstr(&a, w->command);
        spec = spec_of(&a, w, inside, env, cwd, r->cgroup);
    }
    r->pid = fork();
    if (r->pid == 0 && w->sandbox)
        become_launcher(&a, &spec, cwd, p[OUT][1], p[ERR][1], p[REPORT][1]);
    if (r->pid == 0)
        become_shell(argv, env, cwd, p[OUT][1], p[ERR][1], p[REPORT][1]);
    int rc = r->pid < 0 ? -errno : 0;
    arena_done(&a);
    if (rc < 0)
        return rc;
    close_fd(&p[REPORT][1]);
    rc = await_exec(p[REPORT][0]);
    r->pidfd = rc < 0 ? -1 : pidfd_open(r->pid, 0);
    if (rc == 0 && r->pidfd < 0)
        rc = -errno;
    if (rc < 0) {
        (void)kill(-r->pid, SIGKILL);
        run_reap(r->pid);
    }
    return rc;
}

int bash_run_start(struct bash_run *r, const struct bash_want *w, struct err *e)
{
    int p[PIPES][2];
    *r = (struct bash_run){.pidfd = -1,
                           .out = {.fd = -1},
                           .err = {.fd = -1},
                           .is_sandboxed = w->sandbox != NULL,
                           .disk_full_mb = w->sandbox ? w->disk_full_mb : 0,
                           .memory_bytes = w->sandbox ? w->sandbox->memory_bytes : 0};
    make_cgroup(r, w);
    int rc = open_pipes(p);
    if (rc == 0)
        rc = spawn(r, w, p);
    if (rc < 0)
        drop_cgroup(r);
    if (rc == 0) {
        r->out.fd = p[OUT][0];
        r->err.fd = p[ERR][0];
        p[OUT][0] = p[ERR][0] = -1;
        buf_init(&r->out.bytes, BASH_OUTPUT_MAX);
        buf_init(&r->err.bytes, BASH_OUTPUT_MAX);
        r->began_ms = clock_mono_ms();
        r->due_ms = r->began_ms + (uint64_t)w->timeout_ms;
    }
    for (int i = 0; i < PIPES; i++) {
        close_fd(&p[i][0]);
        close_fd(&p[i][1]);
    }
    if (rc < 0 && w->cwd.n > 0)
        return err_set(e, rc, "cannot run the command in %.*s: %s", STR_ARG(w->cwd),
                       err_reason(rc));
    return rc < 0 ? err_set(e, rc, "cannot start a shell: %s", err_reason(rc)) : 0;
}

/* ---- going on ---- */

void bash_run_polls(const struct bash_run *r, struct pollfd ret[BASH_RUN_POLLS])
{
    ret[0] = (struct pollfd){r->out.fd, POLLIN, 0};
    ret[1] = (struct pollfd){r->err.fd, POLLIN, 0};
    ret[2] = (struct pollfd){r->has_exited ? -1 : r->pidfd, POLLIN, 0};
}

/* Output beyond the limit is read and dropped: a full pipe would block the command. */
static void stream_take(struct bash_stream *s, str bytes)
{
    size_t room = s->bytes.max - s->bytes.n;
    str kept = str_slice(bytes, 0, room);
    (void)buf_add_str(&s->bytes, kept);
    s->dropped += bytes.n - kept.n;
}

static void read_stream(struct bash_stream *s)
{
    char chunk[READ_BYTES];
    if (s->fd < 0)
        return;
    ssize_t n = read(s->fd, chunk, sizeof(chunk));
    if (n > 0)
        stream_take(s, (str){chunk, (size_t)n});
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_fd(&s->fd);
}

static void notice_exit(struct bash_run *r, uint64_t now_ms)
{
    siginfo_t info = {0};
    if (r->has_exited || waitid(P_PIDFD, (id_t)r->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid == 0)
        return;
    r->has_exited = true;
    r->ended_ms = now_ms;
    r->due_ms = now_ms + DRAIN_MS;
    r->exit_code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    if (r->is_timed_out)
        r->exit_code = BASH_EXIT_TIMEOUT;
    if (r->cgroup && r->limit == BASH_LIMIT_NONE && r->exit_code != 0)
        r->limit = cgroup_ran_out(r->cgroup)    ? BASH_LIMIT_MEMORY
                   : cgroup_was_full(r->cgroup) ? BASH_LIMIT_PROCESSES
                                                : BASH_LIMIT_NONE;
}

static void run_end(struct bash_run *r)
{
    assert(r->pid > 0 && !r->is_over); /* kill(-0) would signal our own process group */
    /* The zombie keeps its process id reserved, so the group cannot belong to another process. */
    (void)kill(-r->pid, SIGKILL);
    run_reap(r->pid);
    close_fd(&r->pidfd);
    close_fd(&r->out.fd);
    close_fd(&r->err.fd);
    drop_cgroup(r);
    r->is_over = true;
}

void bash_run_end_over(struct bash_run *r, enum bash_limit limit)
{
    if (r->has_exited || r->limit != BASH_LIMIT_NONE)
        return;
    r->limit = limit;
    (void)kill(-r->pid, SIGKILL);
}

void bash_run_explain_limit(const struct bash_run *r, char *ret, size_t size)
{
    ret[0] = '\0';
    if (r->limit == BASH_LIMIT_MEMORY)
        snprintf(ret, size,
                 "The command was stopped: it used more than %lld MB of memory, the limit of one "
                 "command (\"memoryMb\" in the entry of this bundle).",
                 (long long)(r->memory_bytes / (1024 * 1024)));
    else if (r->limit == BASH_LIMIT_PROCESSES)
        snprintf(ret, size,
                 "The command was stopped: it had more than %d processes or %d threads, the limit "
                 "of one command.",
                 PROCESS_COUNT_MAX, PROCESS_TASKS_MAX);
    else if (r->disk_full_mb > 0)
        snprintf(ret, size,
                 "The data directory holds more than %lld MB (\"diskMb\" in the entry of this "
                 "bundle) or too many files: commands can delete files but not write any until "
                 "there is space.",
                 (long long)r->disk_full_mb);
}

static void notice_time(struct bash_run *r, uint64_t now_ms)
{
    if (now_ms < r->due_ms || r->has_exited)
        return;
    (void)kill(-r->pid, r->is_timed_out ? SIGKILL : SIGTERM);
    r->is_timed_out = true;
    r->due_ms = now_ms + GRACE_MS;
}

void bash_run_step(struct bash_run *r, uint64_t now_ms)
{
    assert(!r->is_over);
    read_stream(&r->out);
    read_stream(&r->err);
    notice_exit(r, now_ms);
    notice_time(r, now_ms);
    bool is_drained = r->out.fd < 0 && r->err.fd < 0;
    if (r->has_exited && (is_drained || now_ms >= r->due_ms))
        run_end(r);
}

void bash_run_done(struct bash_run *r)
{
    if (r->pid > 0 && !r->is_over)
        run_end(r);
    buf_done(&r->out.bytes);
    buf_done(&r->err.bytes);
}
