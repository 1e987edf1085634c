/* confine.c - the Landlock half.
 *
 * Constants of newer kernels are defined here: the headers of a stable distribution do not have
 * them, but the kernels of its users may. */
#include "bundle/confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bundle/confine/program_files.h"
#include "os/dir.h"

#define FS_REFER       (1ULL << 13) /* ABI 2 */
#define FS_TRUNCATE    (1ULL << 14) /* ABI 3 */
#define FS_IOCTL_DEV   (1ULL << 15) /* ABI 5 */
#define NET_TCP        3ULL         /* ABI 4: bind and connect */
#define SCOPE_ABSTRACT (1ULL << 0)  /* ABI 6 */
#define SCOPE_SIGNAL   (1ULL << 1)

#define FS_READ                                                                                    \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* Rights that apply to a file that is not a directory. */
#define FS_OF_FILE                                                                                 \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |   \
     FS_TRUNCATE | FS_IOCTL_DEV)

struct ruleset_attr { /* struct landlock_ruleset_attr of newer kernels */
    uint64_t fs, net, scoped;
};

struct confinement {
    struct arena *arena;
    const struct confine_spec *spec;
    int ruleset;
    uint64_t all; /* the rights that this kernel can refuse */
};

int confine_landlock_abi(void)
{
    long abi = syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi > 0 ? (int)abi : 0;
}

static uint64_t known_rights(int abi)
{
    uint64_t all = (1ULL << 13) - 1; /* ABI 1 */
    if (abi >= 2)
        all |= FS_REFER;
    if (abi >= 3)
        all |= FS_TRUNCATE;
    if (abi >= 5)
        all |= FS_IOCTL_DEV;
    return all;
}

static int make_ruleset(struct confinement *c, int abi)
{
    struct ruleset_attr attr = {.fs = known_rights(abi)};
    size_t size = abi < 4 ? 8 : abi < 6 ? 16 : 24;
    c->all = attr.fs;
    if (abi >= 4 && !c->spec->network)
        attr.net = NET_TCP;
    if (abi >= 6)
        attr.scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL;
    c->ruleset = (int)syscall(__NR_landlock_create_ruleset, &attr, size, 0);
    return c->ruleset < 0 ? -errno : 0;
}

static void allow(struct confinement *c, const char *path, uint64_t rights)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rights &= FS_OF_FILE;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights & c->all, .parent_fd = fd};
    (void)syscall(__NR_landlock_add_rule, c->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
}

/* ---- a directory without its hidden paths ---- */

static bool is_hidden(const struct confinement *c, str path)
{
    for (size_t i = 0; i < c->spec->hide.n; i++) {
        if (str_eq(str_from(c->spec->hide.at[i]), path))
            return true;
    }
    return false;
}

static bool has_hidden(const struct confinement *c, str dir)
{
    for (size_t i = 0; i < c->spec->hide.n; i++) {
        if (path_is_below(str_from(c->spec->hide.at[i]), dir))
            return true;
    }
    return false;
}

/* Landlock rules can only add rights: a hidden path is excluded by naming everything beside it. The
 * walk is as deep as the hidden paths, not deeper. */
static void allow_visible(struct confinement *c, str path, uint64_t rights, bool is_named)
{
    if (!is_named && is_hidden(c, path))
        return;
    struct dir d = has_hidden(c, path) ? dir_open(path.p) : (struct dir){0};
    if (!d.handle) {
        allow(c, path.p, rights);
        return;
    }
    allow(c, path.p, LANDLOCK_ACCESS_FS_READ_DIR); /* names are not secret here */
    while (dir_next(&d))
        allow_visible(c, arena_printf(c->arena, "%.*s/%s", STR_ARG(path), d.name), rights, false);
}

static void allow_all(struct confinement *c, const char *const *paths, uint64_t rights)
{
    for (; *paths; paths++)
        allow(c, *paths, rights);
}

/* is_own: the bundle's own directories may be inside a hidden one. */
static void allow_list(struct confinement *c, const struct path_list *l, uint64_t rights,
                       bool is_own)
{
    for (size_t i = 0; i < l->n; i++)
        allow_visible(c, str_from(l->at[i]), rights, is_own);
}

static void allow_spec(struct confinement *c)
{
    static const char *const DEVICES[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                          "/dev/random", "/dev/urandom", NULL};
    static const char *const PROC[] = {
        "/proc/self",    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
        "/proc/loadavg", "/proc/uptime",  "/proc/version", "/proc/filesystems",
        "/proc/vmstat",  "/proc/cgroups", "/proc/sys/vm",  "/proc/sys/kernel",
        "/proc/sys/fs",  "/proc/devices", "/proc/swaps",   NULL};
    allow_all(c, SANDBOX_SYSTEM_DIRS, FS_READ);
    allow_all(c, SANDBOX_SYSTEM_FILES, FS_READ);
    allow_all(c, DEVICES, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
    /* Not all of /proc, because it contains command lines of other processes. The server can read
     * the directory of its first process; the processes that it starts cannot read theirs. */
    allow_all(c, PROC, FS_READ);
    allow_list(c, &c->spec->read, FS_READ, false);
    allow_list(c, &c->spec->program_files, FS_READ, false);
    allow_list(c, &c->spec->write, c->all, false);
    allow_list(c, &c->spec->own_read, FS_READ, true);
    allow_list(c, &c->spec->own_write, c->all, true);
}

/* Root's capabilities bypass Landlock: with CAP_PERFMON any process's environment can be read. A
 * process without capabilities keeps none. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && geteuid() == 0)
            return -errno; /* root would regain it after exec */
    }
    return syscall(__NR_capset, &head, none) < 0 ? -errno : 0;
}

int confine_self(struct arena *a, const struct confine_spec *spec, struct err *e)
{
    struct confinement c = {.arena = a, .spec = spec};
    int abi = confine_landlock_abi();
    if (abi == 0)
        return err_set(e, -ENOSYS, "this kernel does not support Landlock");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set(e, -errno, "cannot drop privileges: %s", err_reason(-errno));
    int rc = drop_capabilities();
    if (rc < 0)
        return err_set(e, rc, "cannot drop privileges: %s", err_reason(rc));
    rc = make_ruleset(&c, abi);
    if (rc < 0)
        return err_set(e, rc, "cannot limit files: %s", err_reason(rc));
    allow_spec(&c);
    rc = syscall(__NR_landlock_restrict_self, c.ruleset, 0) < 0 ? -errno : 0;
    close(c.ruleset);
    if (rc < 0)
        return err_set(e, rc, "cannot limit files: %s", err_reason(rc));
    return confine_syscalls(spec->network, abi, e);
}
