#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle/confine/confine.h"
#include "sandbox_rig.h"

static void needs_both(void)
{
    if (confine_landlock_abi() == 0 || !confine_has_seccomp())
        skip();
}

/* As bubblewrap does it. */
static int put_on_filter(void)
{
    struct sock_filter at[1024];
    int fd = -1;
    if (confine_bwrap_filter(&fd, NULL) < 0)
        return -1;
    ssize_t n = read(fd, at, sizeof at);
    close(fd);
    struct sock_fprog prog = {(unsigned short)((size_t)n / sizeof at[0]), at};
    if (n <= 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* Each attempt runs in a process of its own: there is no way back. Returns its errno. spec: NULL
 * = with the filter for bubblewrap. */
static int attempt(const struct confine_spec *spec, int (*fn)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct err e = {0};
        if ((spec ? confine_self(&rig.arena, spec, &e) : put_on_filter()) < 0)
            _exit(255);
        errno = 0;
        _exit(fn() < 0 ? errno : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 255);
    return WEXITSTATUS(status);
}

static const struct confine_spec CLOSED = {0}, ONLINE = {.network = true};

static int open_inet(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static int open_unix(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int open_pair(void)
{
    int fds[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}

static int open_packet(void)
{
    return socket(AF_PACKET, SOCK_RAW, 0);
}

static int limit_parent(void)
{
    struct rlimit l = {1, 1};
    return prlimit(getppid(), RLIMIT_NOFILE, &l, NULL);
}

static int limit_self(void)
{
    struct rlimit l = {64, 64};
    return setrlimit(RLIMIT_NOFILE, &l);
}

static int new_namespace(void)
{
    return unshare(CLONE_NEWUSER);
}

static int clone_namespace(void)
{
    return (int)syscall(__NR_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
}

static int clone_new_way(void)
{
    return (int)syscall(__NR_clone3, NULL, 0);
}

static int open_vsock(void)
{
    return socket(AF_VSOCK, SOCK_STREAM, 0);
}

static int open_crypto(void)
{
    return socket(AF_ALG, SOCK_SEQPACKET, 0);
}

static int use_keyring(void)
{
    return (int)syscall(__NR_keyctl, 0, -3, 1);
}

static int use_ring(void)
{
    return (int)syscall(__NR_io_uring_setup, 1, NULL);
}

static int watch_faults(void)
{
    return (int)syscall(__NR_userfaultfd, O_CLOEXEC);
}

static int change_mode(void)
{
    return chmod(at("home/notes/list"), 0777);
}

static int read_notes(void)
{
    return open(at("home/notes/list"), O_RDONLY | O_CLOEXEC);
}

static int write_notes(void)
{
    return open(at("home/notes/list"), O_WRONLY | O_CLOEXEC);
}

static int empty_notes(void)
{
    return open(at("home/notes/list"), O_RDONLY | O_TRUNC | O_CLOEXEC);
}

static int read_key(void)
{
    return open(at("home/.ssh/id"), O_RDONLY | O_CLOEXEC);
}

/* The argument is not read: the filter refuses, or the file system does not know the request. */
static int request_of_dir(unsigned long request)
{
    int fd = open(at("home/notes"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = ioctl(fd, request, NULL);
    int code = errno;
    close(fd);
    errno = code;
    return rc;
}

static int make_subvolume(void)
{
    return request_of_dir(BTRFS_IOC_SUBVOL_CREATE);
}

static int encrypt_dir(void)
{
    return request_of_dir(FS_IOC_SET_ENCRYPTION_POLICY);
}

static int set_flags(void)
{
    return request_of_dir(FS_IOC_SETFLAGS);
}

TEST_WITH(sockets, rig_open, rig_close)
{
    needs_both();
    assert_int_equal(attempt(&CLOSED, open_inet), EACCES);
    assert_int_equal(attempt(&CLOSED, open_unix), EACCES);
    assert_int_equal(attempt(&CLOSED, open_pair), 0);
    assert_int_equal(attempt(&ONLINE, open_inet), 0);
    assert_int_equal(attempt(&ONLINE, open_unix), EACCES);
    assert_int_equal(attempt(&ONLINE, open_packet), EACCES);
}

TEST_WITH(other_processes_and_namespaces, rig_open, rig_close)
{
    needs_both();
    assert_int_equal(attempt(&CLOSED, limit_parent), EPERM);
    assert_int_equal(attempt(&CLOSED, limit_self), 0);
    assert_int_equal(attempt(&CLOSED, new_namespace), EPERM);
}

/* Where bubblewrap decides on files and addresses, the rest is refused as without it. */
TEST_WITH(with_bubblewrap, rig_open, rig_close)
{
    if (!confine_has_seccomp())
        skip();
    static const struct {
        int (*fn)(void);
        int code;
    } CASES[] = {
        {new_namespace, EPERM}, {clone_namespace, EPERM}, {clone_new_way, ENOSYS},
        {use_keyring, EPERM},   {use_ring, EPERM},        {watch_faults, EPERM},
        {limit_parent, EPERM},  {limit_self, 0},          {open_packet, EACCES},
        {open_vsock, EACCES},   {open_crypto, EACCES},    {open_inet, 0},
        {open_unix, 0},         {open_pair, 0},           {change_mode, 0},
        {read_notes, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_int_equal(attempt(NULL, CASES[i].fn), CASES[i].code);
}

TEST_WITH(files, rig_open, rig_close)
{
    needs_both();
    struct confine_spec s = {0};
    assert_int_equal(attempt(&s, read_notes), EACCES);
    path_list_add(&rig.arena, &s.read, str_from(at("home")));
    path_list_add(&rig.arena, &s.hide, str_from(at("home/.ssh")));
    assert_int_equal(attempt(&s, read_notes), 0);
    assert_int_equal(attempt(&s, write_notes), EACCES);
    assert_int_equal(attempt(&s, empty_notes), EACCES);
    assert_int_equal(attempt(&s, change_mode), EPERM);
    assert_int_equal(attempt(&s, make_subvolume), EPERM);
    assert_int_equal(attempt(&s, encrypt_dir), EPERM);
    assert_int_equal(attempt(&s, set_flags), EPERM);
    assert_int_equal(attempt(&s, read_key), EACCES);
    path_list_add(&rig.arena, &s.write, str_from(at("home/notes")));
    assert_int_equal(attempt(&s, write_notes), 0);
    path_list_add(&rig.arena, &s.own_read, str_from(at("home/.ssh")));
    assert_int_equal(attempt(&s, read_key), 0);
}
