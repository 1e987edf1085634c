/* confine_syscalls.c - the seccomp filter.
 *
 * A list of what is refused, not of what is allowed: servers are written in any language, and
 * files are Landlock's or bubblewrap's business. The program is classic BPF, so short that a
 * library to write it would be longer. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bundle/confine.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

/* Of kernels that are newer than the headers. The numbers are the same on every machine. */
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat    463
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469
#endif

#define SOCK_KIND      0xf        /* of a type; flags are above */
#define IOPRIO_OF_USER 3          /* IOPRIO_WHO_USER */
#define SET_GENERATION 0x40087602 /* FS_IOC_SETVERSION */

/* Other numbers of the same calls (x32): not for us. */
#define X32_BIT 0x40000000

#define FILTER_MAX 512

static const int REFUSED[] = {
    /* other processes */
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_pidfd_getfd,
    __NR_kcmp,
    /* another view of the file system */
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_setns,
    __NR_unshare,
    __NR_open_tree,
    __NR_open_tree_attr,
    __NR_move_mount,
    __NR_fsopen,
    __NR_fsconfig,
    __NR_fsmount,
    __NR_fspick,
    __NR_mount_setattr,
    __NR_name_to_handle_at,
    __NR_open_by_handle_at,
    __NR_fanotify_init,
    __NR_quotactl,
    __NR_swapon,
    __NR_swapoff,
    __NR_acct,
    /* the kernel itself */
    __NR_kexec_load,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_bpf,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_reboot,
    __NR_syslog,
    __NR_settimeofday,
    __NR_clock_settime,
    __NR_sethostname,
    __NR_setdomainname,
    __NR_vhangup,
#ifdef __NR_kexec_file_load
    __NR_kexec_file_load,
#endif
#ifdef __NR_iopl
    __NR_iopl,
    __NR_ioperm,
#endif
    /* keys, and a way round this filter */
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    __NR_io_uring_setup,
    __NR_io_uring_enter,
    __NR_io_uring_register,
};

/* Landlock lets these pass: modes, owners and attributes of any file, also of one that was opened
 * for reading. Times stay: too many programs set them, and the documentation says so. Memory and
 * queues that have a key or a name are no files, and common to all programs of the user. */
static const int REFUSED_WITH_LANDLOCK[] = {
    __NR_fchmod,     __NR_fchown,       __NR_fsetxattr,     __NR_fremovexattr, __NR_fchmodat,
    __NR_fchmodat2,  __NR_fchownat,     __NR_setxattr,      __NR_lsetxattr,    __NR_removexattr,
    __NR_setxattrat, __NR_lremovexattr, __NR_removexattrat, __NR_file_setattr, __NR_shmget,
    __NR_shmat,      __NR_shmctl,       __NR_msgget,        __NR_msgsnd,       __NR_msgrcv,
    __NR_msgctl,     __NR_semget,       __NR_semop,         __NR_semtimedop,   __NR_semctl,
    __NR_mq_open,    __NR_mq_unlink,
#ifdef __NR_chmod
    __NR_chmod,      __NR_chown,        __NR_lchown,
#endif
};

struct program {
    struct sock_filter at[FILTER_MAX];
    unsigned short n;
};

static void emit(struct program *p, unsigned short code, uint8_t yes, uint8_t no, uint32_t k)
{
    if (p->n < FILTER_MAX)
        p->at[p->n++] = (struct sock_filter){code, yes, no, k};
}

static void load(struct program *p, size_t offset)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void give(struct program *p, uint32_t action)
{
    emit(p, BPF_RET | BPF_K, 0, 0, action);
}

static uint32_t errno_action(int code)
{
    return SECCOMP_RET_ERRNO | (uint32_t)code;
}

static void refuse(struct program *p, int nr, int code)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)nr);
    give(p, errno_action(code));
}

/* The low half of an argument; flags and families fit into it. */
static size_t argument(unsigned i)
{
    return offsetof(struct seccomp_data, args) + 8 * i;
}

/* A call with (argument & mask) == value is refused. Ends with the call's number loaded again. */
static void refuse_masked(struct program *p, int nr, unsigned arg, uint32_t mask, uint32_t value,
                          int code)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 5, (uint32_t)nr);
    load(p, argument(arg));
    emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    give(p, errno_action(code));
    load(p, offsetof(struct seccomp_data, nr));
}

/* For oneself (0) and not for others, nb among them. arg: the number of the process. */
static void refuse_for_others(struct program *p, int nr, unsigned arg)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)nr);
    load(p, argument(arg));
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
    give(p, errno_action(EPERM));
    load(p, offsetof(struct seccomp_data, nr));
}

/* Where all processes of the user can be seen, a server could slow nb down. */
static void refuse_scheduling_others(struct program *p)
{
    static const int BY_PROCESS[] = {__NR_sched_setaffinity, __NR_sched_setscheduler,
                                     __NR_sched_setparam, __NR_sched_setattr};
    for (size_t i = 0; i < ARRAY_LEN(BY_PROCESS); i++)
        refuse_for_others(p, BY_PROCESS[i], 0);
    refuse_masked(p, __NR_setpriority, 0, UINT32_MAX, PRIO_USER, EPERM);
    refuse_for_others(p, __NR_setpriority, 1);
    refuse_masked(p, __NR_ioprio_set, 0, UINT32_MAX, IOPRIO_OF_USER, EPERM);
    refuse_for_others(p, __NR_ioprio_set, 1);
}

/* Flags of a file need no right to write it; the last makes it immutable. */
static void refuse_file_flags(struct program *p)
{
    static const uint32_t REQUESTS[] = {FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, SET_GENERATION,
                                        FS_IOC_ENABLE_VERITY};
    for (size_t i = 0; i < ARRAY_LEN(REQUESTS); i++)
        refuse_masked(p, __NR_ioctl, 1, UINT32_MAX, REQUESTS[i], EPERM);
}

/* Half of such a pair can send to every socket that has a path. */
static void refuse_datagram_pairs(struct program *p)
{
    refuse_masked(p, __NR_socketpair, 1, SOCK_KIND, SOCK_DGRAM, EACCES);
    refuse_masked(p, __NR_socketpair, 1, SOCK_KIND, SOCK_RAW, EACCES);
}

/* Reading must not empty a file. */
static void refuse_truncating(struct program *p, int landlock_abi)
{
    if (landlock_abi < 3)
        refuse(p, __NR_truncate, EACCES);
    refuse(p, __NR_openat2, ENOSYS); /* its flags cannot be looked at; there is openat */
#ifdef __NR_open
    refuse_masked(p, __NR_open, 1, O_TRUNC | O_ACCMODE, O_TRUNC | O_RDONLY, EACCES);
#endif
    refuse_masked(p, __NR_openat, 2, O_TRUNC | O_ACCMODE, O_TRUNC | O_RDONLY, EACCES);
}

static void refuse_namespaces(struct program *p)
{
    refuse(p, __NR_clone3, ENOSYS); /* its flags cannot be looked at; there is clone */
    static const uint32_t FLAGS[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                     CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
    for (size_t i = 0; i < ARRAY_LEN(FLAGS); i++)
        refuse_masked(p, __NR_clone, 0, FLAGS[i], FLAGS[i], EPERM);
}

/* Of these kinds, n of them, and no others: some reach beyond every namespace. socketpair() is
 * another call and stays, for streams. */
static void limit_sockets(struct program *p, const uint32_t *families, size_t n)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(2 + n + (n > 0)), __NR_socket);
    load(p, argument(0));
    for (size_t i = 0; i < n; i++)
        emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(n - i), 0, families[i]);
    give(p, errno_action(EACCES));
    if (n > 0)
        give(p, SECCOMP_RET_ALLOW);
}

static void write_common(struct program *p)
{
    load(p, offsetof(struct seccomp_data, arch));
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
    give(p, errno_action(ENOSYS));
    load(p, offsetof(struct seccomp_data, nr));
    emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
    give(p, errno_action(ENOSYS));
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++)
        refuse(p, REFUSED[i], EPERM);
    refuse_for_others(p, __NR_prlimit64, 0);
    refuse_namespaces(p);
}

/* Sockets of the machine itself (AF_UNIX by name) are never made: nb's own among them takes
 * whoever connects for its owner. */
static void write_with_landlock(struct program *p, bool network, int landlock_abi)
{
    static const uint32_t FAMILIES[] = {AF_INET, AF_INET6, AF_NETLINK};
    write_common(p);
    for (size_t i = 0; i < ARRAY_LEN(REFUSED_WITH_LANDLOCK); i++)
        refuse(p, REFUSED_WITH_LANDLOCK[i], EPERM);
    refuse_truncating(p, landlock_abi);
    refuse_scheduling_others(p);
    refuse_file_flags(p);
    refuse_datagram_pairs(p);
    limit_sockets(p, FAMILIES, network ? ARRAY_LEN(FAMILIES) : 0);
    give(p, SECCOMP_RET_ALLOW);
}

/* Which files and addresses there are is decided by bubblewrap's namespaces. */
static void write_with_bwrap(struct program *p)
{
    static const uint32_t FAMILIES[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    write_common(p);
    limit_sockets(p, FAMILIES, ARRAY_LEN(FAMILIES));
    give(p, SECCOMP_RET_ALLOW);
}

bool confine_has_seccomp(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return ARCH != 0 && syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static int check_program(const struct program *p, struct err *e)
{
    return ARCH != 0 && p->n < FILTER_MAX
               ? 0
               : err_set(e, -ENOSYS, "cannot limit system calls on this kind of machine");
}

int confine_syscalls(bool network, int landlock_abi, struct err *e)
{
    struct program p = {.n = 0};
    write_with_landlock(&p, network, landlock_abi);
    int rc = check_program(&p, e);
    if (rc < 0)
        return rc;
    struct sock_fprog prog = {p.n, p.at};
    if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
        return err_set(e, -errno, "cannot limit system calls: %s", err_reason(-errno));
    return 0;
}

int confine_bwrap_filter(int *ret_fd, struct err *e)
{
    struct program p = {.n = 0};
    write_with_bwrap(&p);
    int rc = check_program(&p, e);
    if (rc < 0)
        return rc;
    int fd = memfd_create("filter", MFD_CLOEXEC);
    size_t size = p.n * sizeof(p.at[0]);
    if (fd < 0 || write(fd, p.at, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0) {
        rc = err_set(e, -errno, "cannot limit system calls: %s", err_reason(-errno));
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *ret_fd = fd;
    return 0;
}
