#include "bundle/confine/process_usage.h"

#include <linux/magic.h>
#include <sys/statfs.h>

#include "os/file.h"

#define FILE_BYTES 4096

struct sum {
    struct process_usage usage;
    bool is_exact;
    int inside; /* a process of the server itself, or 0 */
};

/* The sum of two lines "Name:   123 kB" of a file in /proc/PID; -1 = unreadable. */
static int64_t read_kilobytes(int pid, const char *file, str first, str second)
{
    char path[64], text[FILE_BYTES];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
    str rest = file_head(path, text, sizeof(text)), line, name;
    int64_t sum = rest.n > 0 ? 0 : -1, kb;
    while (str_split(&rest, '\n', &line)) {
        if (!str_split(&line, ':', &name) || !(str_eq(name, first) || str_eq(name, second)))
            continue;
        str value = str_trim(line), number;
        if (str_split(&value, ' ', &number) && parse_i64(number, &kb) == 0)
            sum += kb * 1024;
    }
    return sum;
}

static int64_t memory_of(const struct process *p, bool is_exact)
{
    int64_t exact =
        is_exact ? read_kilobytes(p->pid, "smaps_rollup", STR("Pss_Anon"), STR("Pss_Shmem")) : -1;
    if (exact >= 0)
        return exact;
    int64_t own = read_kilobytes(p->pid, "status", STR("RssAnon"), STR("RssShmem"));
    return own >= 0 ? own : p->rss_bytes;
}

static void count_process(void *ctx, const struct process *p, unsigned depth)
{
    struct sum *s = ctx;
    if (depth <= PROCESS_LAUNCHER_DEPTH)
        return;
    s->usage.processes++;
    s->usage.tasks += p->threads;
    s->inside = p->pid; /* the last one is the deepest */
}

static void add_memory(void *ctx, const struct process *p, unsigned depth)
{
    struct sum *s = ctx;
    if (depth > PROCESS_LAUNCHER_DEPTH)
        s->usage.memory_bytes += memory_of(p, s->is_exact);
}

/* Size of the files in the sandbox's tmpfs mounts. */
static int64_t tmpfs_bytes(int pid)
{
    static const char *const DIRS[] = {"tmp", "var/tmp", "dev/shm", "run"};
    int64_t sum = 0;
    struct statfs own, st;
    bool has_own = statfs("/tmp", &own) == 0;
    for (size_t i = 0; pid > 0 && i < ARRAY_LEN(DIRS); i++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/root/%s", pid, DIRS[i]);
        if (statfs(path, &st) < 0 || st.f_type != TMPFS_MAGIC)
            continue;
        bool is_machines = has_own && memcmp(&own.f_fsid, &st.f_fsid, sizeof(st.f_fsid)) == 0;
        if (!is_machines)
            sum += (int64_t)(st.f_blocks - st.f_bfree) * st.f_bsize;
    }
    return sum;
}

struct process_usage process_usage(const struct process_table *t, int launcher, bool is_wrapped,
                                   int64_t memory_max)
{
    struct sum s = {0};
    process_tree_walk(t, launcher, count_process, &s);
    if (s.usage.processes > PROCESS_COUNT_MAX)
        return s.usage;
    int64_t files = is_wrapped ? tmpfs_bytes(s.inside) : 0;
    s.usage.memory_bytes = files;
    process_tree_walk(t, launcher, add_memory, &s);
    if (memory_max > 0 && s.usage.memory_bytes > memory_max) {
        s.usage.memory_bytes = files;
        s.is_exact = true;
        process_tree_walk(t, launcher, add_memory, &s);
    }
    return s.usage;
}
