/* confine_pipes.c - the system calls that a process may make which only reads, computes and writes.
 *
 * Unlike the list for bundles (confine_syscalls.c) this one names what is allowed: memory without
 * code in it, descriptors that are open, and the end. Everything else fails with EPERM. */
#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bundle/confine/confine.h"

static const int ALLOWED[] = {
    SCMP_SYS(read),         SCMP_SYS(write),         SCMP_SYS(close),
    SCMP_SYS(munmap),       SCMP_SYS(mremap),        SCMP_SYS(madvise),
    SCMP_SYS(brk),          SCMP_SYS(futex),         SCMP_SYS(exit),
    SCMP_SYS(exit_group),   SCMP_SYS(rt_sigreturn),  SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigaction), SCMP_SYS(sigaltstack),   SCMP_SYS(restart_syscall),
    SCMP_SYS(getpid),       SCMP_SYS(gettid),        SCMP_SYS(sched_yield),
    SCMP_SYS(getrandom),    SCMP_SYS(clock_gettime),
};

static int allow_if(scmp_filter_ctx filter, int nr, struct scmp_arg_cmp compare)
{
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, nr, 1, &compare);
}

static int allow_calls(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    int rc = allow_if(filter, SCMP_SYS(mmap), no_code);
    if (rc == 0)
        rc = allow_if(filter, SCMP_SYS(mprotect), no_code);
    if (rc == 0) /* abort() */
        rc = allow_if(filter, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (uint64_t)getpid()));
    for (size_t i = 0; i < ARRAY_LEN(ALLOWED) && rc == 0; i++)
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, ALLOWED[i], 0, NULL);
    return rc;
}

int confine_to_pipes(struct err *e)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int rc = filter ? allow_calls(filter) : -ENOMEM;
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc == 0 ? 0 : err_set(e, rc, "cannot limit system calls: %s", err_reason(rc));
}
