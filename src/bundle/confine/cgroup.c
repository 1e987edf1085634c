#include "bundle/confine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "os/dir.h"
#include "os/file.h"

#define OWN_LEAF   "nb"
#define LEAF       "command"
#define OWN_WEIGHT "500" /* each server has 100, so nb can answer while they compute */
#define FILE_BYTES 4096
#define LEFT_AGE_S 60

const struct cgroup_place CGROUP_SYSTEM = {"/proc/self/cgroup", "/sys/fs/cgroup"};

static int cgroup_write(struct arena *a, str dir, const char *name, const char *text)
{
    return file_put(arena_printf(a, "%.*s/%s", STR_ARG(dir), name).p, text);
}

static bool has_file(const char *path, const char *file)
{
    char name[FILE_BYTES];
    snprintf(name, sizeof(name), "%s/%s", path, file);
    return access(name, F_OK) == 0;
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

/* A line is "ID:CONTROLLERS:/PATH"; in v2 "0::/PATH". Returns an empty string without such a
 * line. */
static str own_path(struct arena *a, const struct cgroup_place *place, str controller)
{
    char buf[FILE_BYTES];
    str rest = file_head(place->self, buf, sizeof(buf)), line, id, names;
    while (str_split(&rest, '\n', &line)) {
        bool is_it = str_split(&line, ':', &id) && str_split(&line, ':', &names) &&
                     str_eq(names, controller) && str_starts(line, STR("/"));
        if (is_it)
            return arena_printf(a, "%s%s%.*s%.*s", place->mount, names.n > 0 ? "/" : "",
                                STR_ARG(names), STR_ARG(line));
    }
    return STR_NONE;
}

/* systemd marks delegated cgroups; nb must not divide any other. */
static bool is_delegated(str dir)
{
    char mark[2] = {0};
    return dir.n > 0 && getxattr(dir.p, "user.delegate", mark, sizeof(mark)) == 1 && mark[0] == '1';
}

/* The controllers that nb uses. Each is enabled separately: a controller that was not delegated
 * must not prevent the others. */
static const char *const CONTROLLERS[] = {"memory", "pids", "cpu"};

static str offered(struct arena *a, str dir)
{
    char buf[FILE_BYTES], all[64] = "";
    str path = arena_printf(a, "%.*s/cgroup.controllers", STR_ARG(dir));
    str text = file_head(path.p, buf, sizeof(buf));
    for (size_t i = 0; i < ARRAY_LEN(CONTROLLERS); i++) {
        size_t n = strlen(all);
        if (has_word(text, str_from(CONTROLLERS[i])))
            snprintf(all + n, sizeof(all) - n, "%s%s", n > 0 ? " " : "", CONTROLLERS[i]);
    }
    return arena_str(a, str_from(all));
}

/* The cgroup to divide: that of nb, or its parent if nb has already moved into the leaf. */
static str find_root(struct arena *a, const struct cgroup_place *place)
{
    str own = own_path(a, place, STR_NONE);
    if (str_ends(own, STR("/" OWN_LEAF))) {
        str above = arena_str(a, str_slice(own, 0, own.n - (sizeof("/" OWN_LEAF) - 1)));
        if (is_delegated(above) && offered(a, above).n > 0)
            return above;
    }
    return is_delegated(own) && offered(a, own).n > 0 ? own : STR_NONE;
}

/* The pids controller of v1: empty unless it exists and nb may use it. */
static str find_v1(struct arena *a, const struct cgroup_place *place)
{
    str own = own_path(a, place, STR("pids"));
    if (own.n == 0 || geteuid() != 0 || access(own.p, W_OK) < 0)
        return STR_NONE;
    return access(arena_printf(a, "%.*s/cgroup.procs", STR_ARG(own)).p, W_OK) < 0 ? STR_NONE : own;
}

str cgroup_controllers(struct arena *a, const struct cgroup_place *place)
{
    str root = find_root(a, place);
    if (root.n > 0)
        return offered(a, root);
    return find_v1(a, place).n > 0 ? STR("pids") : STR_NONE;
}

/* Enables the controllers for the children of a cgroup. */
static int pass_on(struct arena *a, str dir)
{
    int rc = -ENOENT;
    for (size_t i = 0; i < ARRAY_LEN(CONTROLLERS); i++) {
        str text = arena_printf(a, "+%s", CONTROLLERS[i]);
        if (has_word(offered(a, dir), str_from(CONTROLLERS[i])) &&
            cgroup_write(a, dir, "cgroup.subtree_control", text.p) == 0)
            rc = 0;
    }
    return rc;
}

static int divide(struct arena *a, str root)
{
    str leaf = arena_printf(a, "%.*s/" OWN_LEAF, STR_ARG(root));
    if (mkdir(leaf.p, 0755) < 0 && errno != EEXIST)
        return -errno;
    int rc = cgroup_write(a, leaf, "cgroup.procs", "0");
    rc = rc < 0 ? rc : pass_on(a, root);
    (void)cgroup_write(a, leaf, "cpu.weight", OWN_WEIGHT); /* absent without the cpu controller */
    return rc;
}

static str make_dir(struct arena *a, str parent, str name)
{
    uint32_t unique;
    random_bytes(&unique, sizeof(unique));
    str path = arena_printf(a, "%.*s/%.*s-%08x", STR_ARG(parent), STR_ARG(name), unique);
    return mkdir(path.p, 0755) < 0 ? STR_NONE : path;
}

static int write_limit(struct arena *a, str path, const char *file, int64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", (long long)value);
    return value > 0 ? cgroup_write(a, path, file, text) : 0;
}

/* A limit whose controller is missing is skipped; if no limit remains, no cgroup is created. */
static const char *with_limits(struct arena *a, str path, const struct cgroup_limits *limits)
{
    if (path.n == 0)
        return NULL;
    int memory = write_limit(a, path, "memory.max", limits->memory_bytes);
    int tasks = write_limit(a, path, "pids.max", limits->tasks);
    if (memory < 0 && tasks < 0) {
        (void)rmdir(path.p);
        return NULL;
    }
    (void)cgroup_write(a, path, "memory.swap.max", "0"); /* absent without swap */
    (void)cgroup_write(a, path, "memory.oom.group", "1");
    return path.p;
}

/* A leaf can be removed only after its last process has ended, which may take a moment. A new leaf
 * may still wait for its first process. */
static void sweep_leaves(const char *dir_path, str prefix, str except, int min_age_s)
{
    struct stat st;
    DIR_EACH (d, dir_path) {
        str name = str_from(d.name);
        if (str_starts(name, prefix) && !(except.n > 0 && str_starts(name, except)) &&
            fstatat(dir_fd(&d), d.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            time(NULL) - st.st_mtime >= min_age_s)
            (void)unlinkat(dir_fd(&d), d.name, AT_REMOVEDIR);
    }
}

static str make_below_root(struct arena *a, const struct cgroup_place *place, str name)
{
    str root = find_root(a, place);
    if (root.n > 0 && divide(a, root) < 0)
        return STR_NONE;
    root = root.n > 0 ? root : find_v1(a, place);
    if (root.n == 0)
        return STR_NONE;
    /* Leaves of servers that were killed. The group of the bash bundle is empty between
     * commands. */
    sweep_leaves(root.p, STR("bundle-"), STR("bundle-bash-"), LEFT_AGE_S);
    return make_dir(a, root, arena_printf(a, "bundle-%.*s", STR_ARG(name)));
}

const char *cgroup_make(struct arena *a, const struct cgroup_place *place, str name,
                        const struct cgroup_limits *limits)
{
    return with_limits(a, make_below_root(a, place, name), limits);
}

const char *cgroup_make_group(struct arena *a, const struct cgroup_place *place, str name)
{
    str path = make_below_root(a, place, name);
    bool is_v2 = path.n > 0 && has_file(path.p, "cgroup.subtree_control");
    if (is_v2 && pass_on(a, path) < 0) {
        (void)rmdir(path.p);
        return NULL;
    }
    return path.n > 0 ? path.p : NULL;
}

const char *cgroup_make_leaf(struct arena *a, str group, const struct cgroup_limits *limits)
{
    return with_limits(a, make_dir(a, group, STR(LEAF)), limits);
}

/* The number after a word in an events file; 0 when the word is missing. */
static int64_t event_count(const char *path, const char *file, str word)
{
    char buf[FILE_BYTES], name[FILE_BYTES];
    int64_t n = 0;
    snprintf(name, sizeof(name), "%s/%s", path, file);
    str rest = file_head(name, buf, sizeof(buf)), line, key;
    while (str_split(&rest, '\n', &line)) {
        if (str_split(&line, ' ', &key) && str_eq(key, word) && parse_i64(line, &n) < 0)
            n = 0;
    }
    return n;
}

bool cgroup_ran_out(const char *path)
{
    return event_count(path, "memory.events", STR("oom_kill")) > 0;
}

bool cgroup_was_full(const char *path)
{
    return event_count(path, "pids.events", STR("max")) > 0;
}

bool cgroup_has_memory(const char *path)
{
    return has_file(path, "memory.max");
}

void cgroup_kill(const char *path)
{
    char name[FILE_BYTES];
    snprintf(name, sizeof(name), "%s/cgroup.kill", path);
    (void)file_put(name, "1"); /* Linux 5.14 */
}

void cgroup_sweep(const char *group, int min_age_s)
{
    sweep_leaves(group, STR(LEAF "-"), STR_NONE, min_age_s);
}

void cgroup_remove(const char *path)
{
    if (rmdir(path) == 0)
        return;
    cgroup_sweep(path, 0);
    (void)rmdir(path);
}
