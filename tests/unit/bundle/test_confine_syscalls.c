/* The filter as a program: what it answers to the system calls of this architecture, read without a
 * kernel. It also runs where a filter cannot be loaded (make arm64). */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bundle/confine/confine.h"
#include "support/unit.h"

#define PROGRAM_MAX 1024
#define X32_BIT     0x40000000

/* Not in the headers of every kernel. */
#define NR_MEMFD_SECRET   447
#define NR_OPEN_TREE_ATTR 467
#define NR_LISTNS         470

static struct sock_filter program[PROGRAM_MAX];
static size_t program_n;

static void read_filter(void)
{
    int fd = -1;
    assert_int_equal(confine_bwrap_filter(&fd, NULL), 0);
    ssize_t n = read(fd, program, sizeof program);
    close(fd);
    assert_in_range(n, sizeof program[0], sizeof program - 1);
    program_n = (size_t)n / sizeof program[0];
}

static bool jumps(const struct sock_filter *f, uint32_t a)
{
    switch (BPF_OP(f->code)) {
    case BPF_JEQ:
        return a == f->k;
    case BPF_JGT:
        return a > f->k;
    case BPF_JGE:
        return a >= f->k;
    case BPF_JSET:
        return (a & f->k) != 0;
    }
    fail_msg("jump 0x%x", f->code);
    return false;
}

/* The part of classic BPF that libseccomp writes. */
static uint32_t run(const struct seccomp_data *d)
{
    uint32_t a = 0;
    for (size_t at = 0; at < program_n; at++) {
        const struct sock_filter *f = &program[at];
        if (f->code == (BPF_RET | BPF_K))
            return f->k;
        if (f->code == (BPF_LD | BPF_W | BPF_ABS)) {
            assert_in_range(f->k, 0, sizeof *d - sizeof a);
            memcpy(&a, (const char *)d + f->k, sizeof a);
        } else if (f->code == (BPF_ALU | BPF_AND | BPF_K))
            a &= f->k;
        else if (f->code == (BPF_JMP | BPF_JA))
            at += f->k;
        else if (BPF_CLASS(f->code) == BPF_JMP)
            at += jumps(f, a) ? f->jt : f->jf;
        else
            fail_msg("instruction 0x%x", f->code);
    }
    fail_msg("the program does not end");
    return 0;
}

static int answer_of(uint32_t arch, int nr, uint64_t first, uint64_t second)
{
    struct seccomp_data d = {.nr = nr, .arch = arch, .args = {first, second}};
    uint32_t r = run(&d);
    if (r == SECCOMP_RET_ALLOW)
        return 0;
    assert_int_equal(r & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
    return (int)(r & SECCOMP_RET_DATA);
}

static int answer(int nr, uint64_t first)
{
    return answer_of(seccomp_arch_native(), nr, first, 0);
}

TEST(calls_that_reach_beyond_the_sandbox_are_refused_by_their_numbers)
{
    static const int REFUSED[] = {
        __NR_ptrace,          __NR_process_vm_readv, __NR_kcmp,
        __NR_mount,           __NR_umount2,          __NR_pivot_root,
        __NR_chroot,          __NR_open_tree,        __NR_move_mount,
        __NR_fsopen,          __NR_mount_setattr,    __NR_open_by_handle_at,
        __NR_setns,           __NR_unshare,          __NR_kexec_load,
        __NR_init_module,     __NR_finit_module,     __NR_bpf,
        __NR_perf_event_open, __NR_userfaultfd,      __NR_reboot,
        __NR_syslog,          __NR_clock_settime,    __NR_sethostname,
        __NR_keyctl,          __NR_add_key,          __NR_request_key,
        __NR_io_uring_setup,  __NR_io_uring_enter,   __NR_io_uring_register,
        __NR_process_madvise, __NR_process_mrelease, __NR_pidfd_getfd,
        __NR_quotactl,        __NR_quotactl_fd,      __NR_fanotify_init,
        __NR_clock_adjtime,   __NR_adjtimex,         __NR_fsconfig,
        __NR_fsmount,         __NR_fspick,           NR_OPEN_TREE_ATTR,
#ifdef __x86_64__
        __NR_modify_ldt,      __NR_uselib,           __NR__sysctl,
#endif
    };
    static const int OF_OTHERS[] = {__NR_prlimit64, __NR_migrate_pages, __NR_move_pages};
    read_filter();
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++)
        assert_int_equal(answer(REFUSED[i], 0), EPERM);
    for (size_t i = 0; i < ARRAY_LEN(OF_OTHERS); i++) {
        assert_int_equal(answer(OF_OTHERS[i], 0), 0);
        assert_int_equal(answer(OF_OTHERS[i], 1), EPERM);
    }
}

TEST(calls_that_programs_can_do_without_do_not_exist)
{
    static const int ABSENT[] = {__NR_clone3, NR_MEMFD_SECRET, NR_LISTNS};
    read_filter();
    for (size_t i = 0; i < ARRAY_LEN(ABSENT); i++)
        assert_int_equal(answer(ABSENT[i], 0), ENOSYS);
}

TEST(nothing_can_be_typed_into_a_terminal)
{
    static const uint64_t TYPING[] = {TIOCSTI, TIOCLINUX, TIOCSTI | UINT64_C(1) << 32};
    read_filter();
    for (size_t i = 0; i < ARRAY_LEN(TYPING); i++)
        assert_int_equal(answer_of(seccomp_arch_native(), __NR_ioctl, 0, TYPING[i]), EPERM);
    assert_int_equal(answer_of(seccomp_arch_native(), __NR_ioctl, 0, TIOCGWINSZ), 0);
}

TEST(a_process_may_have_children_but_no_namespaces)
{
    static const uint64_t SPACES[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                      CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
    read_filter();
    assert_int_equal(answer(__NR_clone, SIGCHLD), 0);
    assert_int_equal(answer(__NR_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND), 0);
    for (size_t i = 0; i < ARRAY_LEN(SPACES); i++)
        assert_int_equal(answer(__NR_clone, SPACES[i] | SIGCHLD), EPERM);
}

TEST(what_every_program_needs_is_allowed)
{
    static const int ALLOWED[] = {__NR_read,  __NR_write, __NR_openat, __NR_mmap, __NR_execve,
                                  __NR_futex, __NR_exit,  __NR_fchmod, __NR_ioctl};
    read_filter();
    for (size_t i = 0; i < ARRAY_LEN(ALLOWED); i++)
        assert_int_equal(answer(ALLOWED[i], 0), 0);
}

TEST(only_sockets_of_the_named_families_can_be_made)
{
    static const int FAMILIES[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    read_filter();
    for (size_t i = 0; i < ARRAY_LEN(FAMILIES); i++)
        assert_int_equal(answer(__NR_socket, (uint64_t)FAMILIES[i]), 0);
    for (int family = AF_NETLINK + 1; family < AF_MAX; family++)
        assert_int_equal(answer(__NR_socket, (uint64_t)family), EACCES);
    assert_int_equal(answer(__NR_socket, AF_AX25), EACCES);
}

/* A kernel also takes calls of its 32-bit architecture, with other numbers: none of them exists
 * for a bundle, whatever its number means here. */
TEST(calls_of_other_architectures_do_not_exist)
{
    static const uint32_t ARCHS[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_I386,  AUDIT_ARCH_AARCH64,
                                     AUDIT_ARCH_ARM,    AUDIT_ARCH_ARMEB, 0};
    read_filter();
    for (size_t i = 0; i < ARRAY_LEN(ARCHS); i++)
        for (int nr = 0; nr < 512 && ARCHS[i] != seccomp_arch_native(); nr++)
            assert_int_equal(answer_of(ARCHS[i], nr, 0, 0), ENOSYS);
#ifdef __x86_64__
    assert_int_equal(answer(X32_BIT | __NR_getpid, 0), ENOSYS);
#endif
}
