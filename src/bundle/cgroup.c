#include "bundle/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/random.h"

#define OWN_LEAF   "nb"
#define FILE_BYTES 4096

const struct cgroup_place CGROUP_SYSTEM = {"/proc/self/cgroup", "/sys/fs/cgroup"};

static str read_file(const char *path, char buf[FILE_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, FILE_BYTES);
    if (fd >= 0)
        close(fd);
    return (str){buf, n > 0 ? (size_t)n : 0};
}

static int write_file(struct arena *a, str dir, const char *name, const char *text)
{
    int fd = open(arena_printf(a, "%.*s/%s", STR_ARG(dir), name).p, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, strlen(text));
    int rc = n < 0 ? -errno : 0;
    close(fd);
    return rc;
}

static bool has_word(str text, str word)
{
    str rest = text, part;
    while (str_split(&rest, ' ', &part)) {
        if (str_eq(str_trim(part), word))
            return true;
    }
    return false;
}

/* The line "0::/path" is the place in v2. */
static str own_path(struct arena *a, const struct cgroup_place *place)
{
    char buf[FILE_BYTES];
    str rest = read_file(place->self, buf), line;
    while (str_split(&rest, '\n', &line)) {
        if (str_starts(line, STR("0::/")))
            return arena_printf(a, "%s%.*s", place->mount, STR_ARG(str_skip(line, 3)));
    }
    return STR_NONE;
}

/* systemd marks what it gives away; nothing else is ours to divide. */
static bool is_delegated(str dir)
{
    char mark[2] = {0};
    return dir.n > 0 && getxattr(dir.p, "user.delegate", mark, sizeof(mark)) == 1 && mark[0] == '1';
}

static bool offers_memory(struct arena *a, str dir)
{
    char buf[FILE_BYTES];
    str path = arena_printf(a, "%.*s/cgroup.controllers", STR_ARG(dir));
    return has_word(read_file(path.p, buf), STR("memory"));
}

/* The cgroup to divide: where we are, or above it if we have moved into the leaf already. */
static str find_root(struct arena *a, const struct cgroup_place *place)
{
    str own = own_path(a, place);
    if (str_ends(own, STR("/" OWN_LEAF))) {
        str above = arena_str(a, str_slice(own, 0, own.n - (sizeof("/" OWN_LEAF) - 1)));
        if (is_delegated(above) && offers_memory(a, above))
            return above;
    }
    return is_delegated(own) && offers_memory(a, own) ? own : STR_NONE;
}

static int divide(struct arena *a, str root)
{
    str leaf = arena_printf(a, "%.*s/" OWN_LEAF, STR_ARG(root));
    if (mkdir(leaf.p, 0755) < 0 && errno != EEXIST)
        return -errno;
    int rc = write_file(a, leaf, "cgroup.procs", "0");
    return rc < 0 ? rc : write_file(a, root, "cgroup.subtree_control", "+memory");
}

const char *cgroup_make(struct arena *a, const struct cgroup_place *place, str name,
                        int64_t memory_max_bytes)
{
    char max[32];
    uint32_t unique;
    str root = find_root(a, place);
    if (root.n == 0 || divide(a, root) < 0)
        return NULL;
    random_bytes(&unique, sizeof(unique));
    str path = arena_printf(a, "%.*s/bundle-%.*s-%08x", STR_ARG(root), STR_ARG(name), unique);
    if (mkdir(path.p, 0755) < 0)
        return NULL;
    snprintf(max, sizeof(max), "%lld", (long long)memory_max_bytes);
    if (write_file(a, path, "memory.max", max) < 0) {
        (void)rmdir(path.p);
        return NULL;
    }
    (void)write_file(a, path, "memory.swap.max", "0"); /* absent where there is no swap */
    (void)write_file(a, path, "memory.oom.group", "1");
    return path.p;
}

bool cgroup_ran_out(const char *path)
{
    char buf[FILE_BYTES], file[FILE_BYTES];
    snprintf(file, sizeof(file), "%s/memory.events", path);
    str rest = read_file(file, buf), line;
    while (str_split(&rest, '\n', &line)) {
        if (str_starts(line, STR("oom_kill ")))
            return !str_eq(line, STR("oom_kill 0"));
    }
    return false;
}

void cgroup_remove(const char *path)
{
    (void)rmdir(path);
}
