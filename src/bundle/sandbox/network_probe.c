#include "bundle/sandbox/network_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bundle/network/network_space.h"

#define TRIAL_MS       5000
#define TRIAL_ARGS_MAX 64
#define GATES_FD       (STDERR_FILENO + 1) /* in the child */

/* Namespaces inside the namespace, as in every plan. */
static void bwrap_args(const struct sandbox_offer *o, const char *argv[TRIAL_ARGS_MAX])
{
    static const char *const REST[] = {"--ro-bind", "/usr", "/usr",          "--ro-bind-try",
                                       "/lib",      "/lib", "--ro-bind-try", "/lib64",
                                       "/lib64",    "--",   "/usr/bin/true"};
    size_t n = 0;
    argv[n++] = o->bwrap;
    for (const char *const *p = sandbox_bwrap_user(o->no_userns); *p; p++)
        argv[n++] = *p;
    for (const char *const *p = SANDBOX_BWRAP_ALWAYS; *p && n + ARRAY_LEN(REST) < TRIAL_ARGS_MAX;
         p++)
        argv[n++] = *p;
    for (size_t i = 0; i < ARRAY_LEN(REST); i++)
        argv[n++] = REST[i];
    argv[n] = NULL;
}

/* In the forked child of a process with threads. The child keeps none of nb's descriptors: its work
 * takes a while, and until it ends a lock or socket that nb closes would stay in use. */
static _Noreturn void attempt(const char *const *argv, int gates, int out)
{
    struct err e = {0};
    struct network_rules rules = {.is_public = true};
    static const char *const NO_ENV[] = {NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(out, STDERR_FILENO);
    if (gates != GATES_FD && dup3(gates, GATES_FD, O_CLOEXEC) < 0)
        _exit(1);
    (void)close_range(GATES_FD + 1, ~0U, 0);
    if (network_space_enter(&rules, GATES_FD, &e) < 0) {
        dprintf(STDERR_FILENO, "%s", e.msg);
        _exit(1);
    }
    if (argv[0])
        execve(argv[0], (char *const *)argv, (char *const *)NO_ENV);
    _exit(argv[0] ? 1 : 0);
}

static size_t read_until_end(int fd, char *p, size_t max)
{
    uint64_t end = clock_mono_ms() + TRIAL_MS;
    size_t n = 0;
    for (;;) {
        uint64_t now = clock_mono_ms();
        struct pollfd pfd = {fd, POLLIN, 0};
        if (now >= end || n == max || poll(&pfd, 1, (int)(end - now)) <= 0)
            return n;
        ssize_t got = read(fd, p + n, max - n);
        if (got <= 0)
            return n;
        n += (size_t)got;
    }
}

static bool probe_finish(pid_t pid, int fd, char *why, size_t max)
{
    char output[200];
    int status = -1;
    size_t n = read_until_end(fd, output, sizeof(output));
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

void network_look(struct sandbox_offer *o)
{
    const char *argv[TRIAL_ARGS_MAX] = {NULL};
    int out[2] = {-1, -1}, gates[2] = {-1, -1};
    if (o->kind == SANDBOX_NONE)
        return;
    if (o->kind == SANDBOX_BUBBLEWRAP)
        bwrap_args(o, argv);
    snprintf(o->why_no_network, sizeof(o->why_no_network),
             "the test of the network sandbox could not be started");
    pid_t pid = -1;
    if (pipe2(out, O_CLOEXEC) == 0 &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gates) == 0)
        pid = fork();
    if (pid == 0)
        attempt(argv, gates[0], out[1]);
    close(out[1]);
    out[1] = -1;
    if (pid > 0)
        o->has_network = probe_finish(pid, out[0], o->why_no_network, sizeof(o->why_no_network));
    for (size_t i = 0; i < 2; i++) {
        if (out[i] >= 0)
            close(out[i]);
        if (gates[i] >= 0)
            close(gates[i]);
    }
}
