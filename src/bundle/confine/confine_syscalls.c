/* confine_syscalls.c - the system calls that a bundle may not make.
 *
 * One list, RULES, serves both mechanisms; libseccomp translates it. It names what is refused
 * rather than what is allowed, because bundles are written in any language. Rows marked ALWAYS hold
 * under bubblewrap and under Landlock. Rows marked LANDLOCK replace what bubblewrap's namespaces
 * do: without namespaces a bundle sees the processes, sockets and files of the whole machine. */
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bundle/confine/confine.h"

/* System calls of kernels newer than the headers. Their numbers are the same on every
 * architecture. */
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
#ifndef __NR_listns
#define __NR_listns 470
#endif
#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif

#define IOPRIO_OF_USER 3          /* IOPRIO_WHO_USER */
#define SET_GENERATION 0x40087602 /* FS_IOC_SETVERSION */
#define LOW_HALF       0xffffffff /* the kernel reads flags and requests as 32 bits */

enum mechanism { ALWAYS, LANDLOCK, LANDLOCK_BEFORE_3 };
enum condition { ANY_ARGUMENTS, MASKED_EQUAL, NOT_ZERO, GREATER };

struct rule {
    int nr;
    enum mechanism mechanism;
    int code; /* the error that the caller sees */
    enum condition condition;
    unsigned argument;
    uint64_t mask, value;
};

#define REFUSE(name, mechanism)                                                                    \
    {                                                                                              \
        __NR_##name, mechanism, EPERM, ANY_ARGUMENTS, 0, 0, 0                                      \
    }
#define ABSENT(name, mechanism)                                                                    \
    {                                                                                              \
        __NR_##name, mechanism, ENOSYS, ANY_ARGUMENTS, 0, 0, 0                                     \
    }
#define REFUSE_IF(name, mechanism, argument, mask, value, code)                                    \
    {                                                                                              \
        __NR_##name, mechanism, code, MASKED_EQUAL, argument, mask, value                          \
    }
#define REFUSE_OTHERS(name, mechanism, argument)                                                   \
    {                                                                                              \
        __NR_##name, mechanism, EPERM, NOT_ZERO, argument, 0, 0                                    \
    }
#define REFUSE_CLONE(flag)               REFUSE_IF(clone, ALWAYS, 0, flag, flag, EPERM)
#define REFUSE_IOCTL(request, mechanism) REFUSE_IF(ioctl, mechanism, 1, LOW_HALF, request, EPERM)

static const struct rule RULES[] = {
    /* other processes */
    REFUSE(ptrace, ALWAYS),
    REFUSE(process_vm_readv, ALWAYS),
    REFUSE(process_vm_writev, ALWAYS),
    REFUSE(pidfd_getfd, ALWAYS),
    REFUSE(process_madvise, ALWAYS),
    REFUSE(process_mrelease, ALWAYS),
    REFUSE(kcmp, ALWAYS),
    REFUSE_OTHERS(prlimit64, ALWAYS, 0),
    REFUSE_OTHERS(migrate_pages, ALWAYS, 0),
    REFUSE_OTHERS(move_pages, ALWAYS, 0),

    /* typing into a terminal that another program reads */
    REFUSE_IOCTL(TIOCSTI, ALWAYS),
    REFUSE_IOCTL(TIOCLINUX, ALWAYS),

    /* another view of the file system */
    REFUSE(mount, ALWAYS),
    REFUSE(umount2, ALWAYS),
    REFUSE(pivot_root, ALWAYS),
    REFUSE(chroot, ALWAYS),
    REFUSE(open_tree, ALWAYS),
    REFUSE(open_tree_attr, ALWAYS),
    REFUSE(move_mount, ALWAYS),
    REFUSE(fsopen, ALWAYS),
    REFUSE(fsconfig, ALWAYS),
    REFUSE(fsmount, ALWAYS),
    REFUSE(fspick, ALWAYS),
    REFUSE(mount_setattr, ALWAYS),
    REFUSE(name_to_handle_at, ALWAYS),
    REFUSE(open_by_handle_at, ALWAYS),
    REFUSE(fanotify_init, ALWAYS),
    REFUSE(quotactl, ALWAYS),
    REFUSE(quotactl_fd, ALWAYS),
#ifdef __NR_lookup_dcookie
    REFUSE(lookup_dcookie, ALWAYS),
#endif
    REFUSE(swapon, ALWAYS),
    REFUSE(swapoff, ALWAYS),
    REFUSE(acct, ALWAYS),

    /* new namespaces; a filter cannot read clone3's flags, and libraries fall back to clone */
    REFUSE(setns, ALWAYS),
    REFUSE(unshare, ALWAYS),
    ABSENT(clone3, ALWAYS),
    ABSENT(listns, ALWAYS),
    REFUSE_CLONE(CLONE_NEWUSER),
    REFUSE_CLONE(CLONE_NEWNS),
    REFUSE_CLONE(CLONE_NEWPID),
    REFUSE_CLONE(CLONE_NEWNET),
    REFUSE_CLONE(CLONE_NEWIPC),
    REFUSE_CLONE(CLONE_NEWUTS),
    REFUSE_CLONE(CLONE_NEWCGROUP),

    /* the kernel itself */
    REFUSE(kexec_load, ALWAYS),
    REFUSE(init_module, ALWAYS),
    REFUSE(finit_module, ALWAYS),
    REFUSE(delete_module, ALWAYS),
    REFUSE(bpf, ALWAYS),
    REFUSE(perf_event_open, ALWAYS),
    REFUSE(userfaultfd, ALWAYS),
    REFUSE(reboot, ALWAYS),
    REFUSE(syslog, ALWAYS),
    REFUSE(settimeofday, ALWAYS),
    REFUSE(clock_settime, ALWAYS),
    REFUSE(clock_adjtime, ALWAYS),
    REFUSE(adjtimex, ALWAYS),
    REFUSE(sethostname, ALWAYS),
    REFUSE(setdomainname, ALWAYS),
    REFUSE(vhangup, ALWAYS),
#ifdef __NR_kexec_file_load
    REFUSE(kexec_file_load, ALWAYS),
#endif
#ifdef __NR_iopl
    REFUSE(iopl, ALWAYS),
    REFUSE(ioperm, ALWAYS),
#endif
#ifdef __NR_modify_ldt
    REFUSE(modify_ldt, ALWAYS),
    REFUSE(uselib, ALWAYS),
    REFUSE(_sysctl, ALWAYS),
#endif

    /* memory that nb cannot measure */
    ABSENT(memfd_secret, ALWAYS),

    /* keys of the user, and I/O that filters cannot see */
    REFUSE(keyctl, ALWAYS),
    REFUSE(add_key, ALWAYS),
    REFUSE(request_key, ALWAYS),
    REFUSE(io_uring_setup, ALWAYS),
    REFUSE(io_uring_enter, ALWAYS),
    REFUSE(io_uring_register, ALWAYS),

    /* Landlock does not cover modes, owners, attributes and flags, not even of a file that was
     * opened for reading. Times stay allowed because many programs set them (docs/bundles.md). */
    REFUSE(fchmod, LANDLOCK),
    REFUSE(fchmodat, LANDLOCK),
    REFUSE(fchmodat2, LANDLOCK),
    REFUSE(fchown, LANDLOCK),
    REFUSE(fchownat, LANDLOCK),
    REFUSE(setxattr, LANDLOCK),
    REFUSE(lsetxattr, LANDLOCK),
    REFUSE(fsetxattr, LANDLOCK),
    REFUSE(setxattrat, LANDLOCK),
    REFUSE(removexattr, LANDLOCK),
    REFUSE(lremovexattr, LANDLOCK),
    REFUSE(fremovexattr, LANDLOCK),
    REFUSE(removexattrat, LANDLOCK),
    REFUSE(file_setattr, LANDLOCK),
#ifdef __NR_chmod
    REFUSE(chmod, LANDLOCK),
    REFUSE(chown, LANDLOCK),
    REFUSE(lchown, LANDLOCK),
#endif
    REFUSE_IOCTL(FS_IOC_SETFLAGS, LANDLOCK),
    REFUSE_IOCTL(FS_IOC_FSSETXATTR, LANDLOCK),
    REFUSE_IOCTL(SET_GENERATION, LANDLOCK),
    REFUSE_IOCTL(FS_IOC_ENABLE_VERITY, LANDLOCK),

    /* Nor does it cover requests that change a directory which was opened for reading: subvolumes
     * and snapshots of Btrfs, encryption of a file system and its keys. */
    REFUSE_IOCTL(BTRFS_IOC_SUBVOL_CREATE, LANDLOCK),
    REFUSE_IOCTL(BTRFS_IOC_SUBVOL_CREATE_V2, LANDLOCK),
    REFUSE_IOCTL(BTRFS_IOC_SUBVOL_SETFLAGS, LANDLOCK),
    REFUSE_IOCTL(BTRFS_IOC_SNAP_CREATE, LANDLOCK),
    REFUSE_IOCTL(BTRFS_IOC_SNAP_CREATE_V2, LANDLOCK),
    REFUSE_IOCTL(BTRFS_IOC_SNAP_DESTROY, LANDLOCK),
    REFUSE_IOCTL(BTRFS_IOC_SNAP_DESTROY_V2, LANDLOCK),
    REFUSE_IOCTL(BTRFS_IOC_SET_RECEIVED_SUBVOL, LANDLOCK),
    REFUSE_IOCTL(FS_IOC_SET_ENCRYPTION_POLICY, LANDLOCK),
    REFUSE_IOCTL(FS_IOC_ADD_ENCRYPTION_KEY, LANDLOCK),
    REFUSE_IOCTL(FS_IOC_REMOVE_ENCRYPTION_KEY, LANDLOCK),

    /* memory and queues that all programs of the user share */
    REFUSE(shmget, LANDLOCK),
    REFUSE(shmat, LANDLOCK),
    REFUSE(shmctl, LANDLOCK),
    REFUSE(msgget, LANDLOCK),
    REFUSE(msgsnd, LANDLOCK),
    REFUSE(msgrcv, LANDLOCK),
    REFUSE(msgctl, LANDLOCK),
    REFUSE(semget, LANDLOCK),
    REFUSE(semop, LANDLOCK),
    REFUSE(semtimedop, LANDLOCK),
    REFUSE(semctl, LANDLOCK),
    REFUSE(mq_open, LANDLOCK),
    REFUSE(mq_unlink, LANDLOCK),

    /* O_TRUNC with O_RDONLY empties a file; a filter cannot read openat2's flags */
    {__NR_truncate, LANDLOCK_BEFORE_3, EACCES, ANY_ARGUMENTS, 0, 0, 0},
    ABSENT(openat2, LANDLOCK),
    REFUSE_IF(openat, LANDLOCK, 2, O_TRUNC | O_ACCMODE, O_TRUNC | O_RDONLY, EACCES),
#ifdef __NR_open
    REFUSE_IF(open, LANDLOCK, 1, O_TRUNC | O_ACCMODE, O_TRUNC | O_RDONLY, EACCES),
#endif

    /* the priority of processes other than the caller (0), which include nb */
    REFUSE_OTHERS(sched_setaffinity, LANDLOCK, 0),
    REFUSE_OTHERS(sched_setscheduler, LANDLOCK, 0),
    REFUSE_OTHERS(sched_setparam, LANDLOCK, 0),
    REFUSE_OTHERS(sched_setattr, LANDLOCK, 0),
    REFUSE_IF(setpriority, LANDLOCK, 0, LOW_HALF, PRIO_USER, EPERM),
    REFUSE_OTHERS(setpriority, LANDLOCK, 1),
    REFUSE_IF(ioprio_set, LANDLOCK, 0, LOW_HALF, IOPRIO_OF_USER, EPERM),
    REFUSE_OTHERS(ioprio_set, LANDLOCK, 1),

    /* one end of a datagram pair can send to every socket that has a path */
    REFUSE_IF(socketpair, LANDLOCK, 1, 0xf, SOCK_DGRAM, EACCES),
    REFUSE_IF(socketpair, LANDLOCK, 1, 0xf, SOCK_RAW, EACCES),
};

static bool rule_applies(const struct rule *r, bool is_landlock, int landlock_abi)
{
    switch (r->mechanism) {
    case ALWAYS:
        return true;
    case LANDLOCK:
        return is_landlock;
    case LANDLOCK_BEFORE_3:
        return is_landlock && landlock_abi < 3;
    }
    return false;
}

static int add_rule(scmp_filter_ctx filter, const struct rule *r)
{
    static const enum scmp_compare COMPARE[] = {
        [MASKED_EQUAL] = SCMP_CMP_MASKED_EQ, [NOT_ZERO] = SCMP_CMP_NE, [GREATER] = SCMP_CMP_GT};
    uint32_t action = SCMP_ACT_ERRNO((uint16_t)r->code);
    if (r->condition == ANY_ARGUMENTS)
        return seccomp_rule_add_array(filter, action, r->nr, 0, NULL);
    bool is_masked = r->condition == MASKED_EQUAL;
    struct scmp_arg_cmp compare = {r->argument, COMPARE[r->condition],
                                   is_masked ? r->mask : r->value, is_masked ? r->value : 0};
    return seccomp_rule_add_array(filter, action, r->nr, 1, &compare);
}

/* A socket of an address family that is not in the list is refused, because some families reach
 * beyond every namespace. seccomp cannot test "is not in a list", so there is a rule for each gap
 * in the sorted list, then one for everything above the last family. */
static int limit_sockets(scmp_filter_ctx filter, const uint32_t *families, size_t n)
{
    struct rule r = {.nr = __NR_socket, .code = EACCES};
    if (n == 0)
        return add_rule(filter, &r);
    r.condition = MASKED_EQUAL;
    r.mask = LOW_HALF;
    int rc = 0;
    uint32_t family = 0;
    for (size_t i = 0; i < n; i++, family++)
        for (; family < families[i] && rc == 0; family++) {
            r.value = family;
            rc = add_rule(filter, &r);
        }
    r.condition = GREATER;
    r.value = families[n - 1];
    return rc == 0 ? add_rule(filter, &r) : rc;
}

/* Under Landlock a bundle may not create AF_UNIX sockets: nb.sock would treat it as nb's owner.
 * Under bubblewrap the namespaces decide which sockets it can reach. */
static int add_rules(scmp_filter_ctx filter, bool is_landlock, bool network, int landlock_abi)
{
    static const uint32_t FAMILIES[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    /* System calls of other architectures (32 bits, x32) fail with ENOSYS. */
    int rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    for (size_t i = 0; i < ARRAY_LEN(RULES) && rc == 0; i++)
        if (rule_applies(&RULES[i], is_landlock, landlock_abi))
            rc = add_rule(filter, &RULES[i]);
    if (rc < 0)
        return rc;
    if (!is_landlock)
        return limit_sockets(filter, FAMILIES, ARRAY_LEN(FAMILIES));
    return limit_sockets(filter, FAMILIES + 1, network ? ARRAY_LEN(FAMILIES) - 1 : 0);
}

bool confine_has_seccomp(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static int refused(int rc, struct err *e)
{
    return err_set(e, rc, "cannot limit system calls: %s", err_reason(rc));
}

int confine_syscalls(bool network, int landlock_abi, struct err *e)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int rc = filter ? add_rules(filter, true, network, landlock_abi) : -ENOMEM;
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc == 0 ? 0 : refused(rc, e);
}

static int write_filter(scmp_filter_ctx filter, int *ret_fd)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = seccomp_export_bpf(filter, fd);
    if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
        rc = -errno;
    if (rc < 0)
        close(fd);
    else
        *ret_fd = fd;
    return rc;
}

int confine_bwrap_filter(int *ret_fd, struct err *e)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int rc = filter ? add_rules(filter, false, true, 0) : -ENOMEM;
    if (rc == 0)
        rc = write_filter(filter, ret_fd);
    seccomp_release(filter);
    return rc == 0 ? 0 : refused(rc, e);
}
