#include "bundle/sandbox/pid_space.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bundle/confine/user_map.h"

/* Root does not need a user namespace, and in a container may be allowed only one of the two. */
pid_t pid_space_fork(int alive[2])
{
    const unsigned long space = CLONE_NEWPID | CLONE_NEWNS | SIGCHLD;
    if (pipe2(alive, O_CLOEXEC) < 0)
        return -errno;
    long pid = geteuid() == 0 ? syscall(SYS_clone, space, NULL, NULL, NULL, NULL) : -1;
    if (pid < 0) {
        uid_t uid = geteuid();
        gid_t gid = getegid();
        pid = syscall(SYS_clone, space | CLONE_NEWUSER, NULL, NULL, NULL, NULL);
        if (pid == 0 && user_map_self(uid, gid) < 0)
            _exit(1);
    }
    int code = errno;
    if (pid != 0) {
        close(alive[0]);
        alive[0] = -1;
    }
    if (pid < 0)
        close(alive[1]);
    return pid < 0 ? (pid_t)-code : (pid_t)pid;
}

/* The id of the parent is 0 in here, so the pipe tells whether it lives. */
static int die_with_parent(int alive[2])
{
    struct pollfd end = {alive[0], POLLIN, 0};
    close(alive[1]);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -errno;
    return poll(&end, 1, 0) > 0 ? -ESRCH : 0;
}

int pid_space_enter(int alive[2], struct err *e)
{
    int rc = die_with_parent(alive);
    if (rc < 0)
        return err_set(e, rc, "the launcher has ended");
    /* not to the machine's own mounts */
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=ptraceable") < 0)
        return err_set(e, -errno, "cannot mount /proc: %s", err_reason(-errno));
    return 0;
}

/* The parts of /proc that bubblewrap protects as well. */
static const char *const PROC_BINDS[] = {
    "--bind",    "/proc",         "/proc",         "--ro-bind-try",       "/proc/sys",
    "/proc/sys", "--ro-bind-try", "/proc/irq",     "/proc/irq",           "--ro-bind-try",
    "/proc/bus", "/proc/bus",     "--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger",
};

char *const *pid_space_options(struct arena *a, char *const *wrap)
{
    size_t n = 0, out = 0;
    bool has_user = false;
    while (wrap[n])
        n++;
    char **ret = arena_array(a, n + ARRAY_LEN(PROC_BINDS) + 1, sizeof(*ret));
    for (size_t i = 0; i < n; i++) {
        has_user = has_user || strcmp(wrap[i], "--unshare-user") == 0;
        if (strcmp(wrap[i], "--unshare-pid") == 0)
            continue;
        if (strcmp(wrap[i], "--proc") != 0) {
            ret[out++] = wrap[i];
            continue;
        }
        for (size_t k = 0; k < ARRAY_LEN(PROC_BINDS); k++)
            ret[out++] = (char *)PROC_BINDS[k];
        i += wrap[i + 1] != NULL; /* the directory */
    }
    ret[out] = NULL;
    return has_user ? ret : NULL;
}
