#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bundle/confine/confine.h"
#include "bundle/sandbox/network_probe.h"
#include "bundle/sandbox/sandbox.h"

#define TRIAL_MS       5000
#define TRIAL_ARGS_MAX 64

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

/* Uses every kind of namespace and mount that a plan may use; what fails here would fail there. */
static int spawn_trial(const char *bwrap, bool no_userns, int err_fd, pid_t *ret)
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
                                        "/usr/bin/true"};
    const char *argv[TRIAL_ARGS_MAX] = {bwrap};
    size_t n = 1;
    for (const char *const *p = sandbox_bwrap_user(no_userns); *p; p++)
        argv[n++] = *p;
    for (const char *const *p = SANDBOX_BWRAP_ALWAYS; *p; p++)
        argv[n++] = *p;
    assert(n + ARRAY_LEN(TRIAL) < TRIAL_ARGS_MAX);
    memcpy(argv + n, TRIAL, sizeof TRIAL);
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, err_fd, 2);
    int rc = posix_spawn(ret, bwrap, &fa, NULL, (char *const *)argv, environ);
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
    int rc = spawn_trial(o->bwrap, no_userns, fds[1], &pid);
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

void sandbox_look(struct sandbox_offer *ret)
{
    *ret = (struct sandbox_offer){.landlock_abi = confine_landlock_abi()};
    if (find_working_bwrap(ret))
        ret->kind = SANDBOX_BUBBLEWRAP;
    else if (ret->landlock_abi > 0 && confine_has_seccomp())
        ret->kind = SANDBOX_LANDLOCK;
    network_look(ret);
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
