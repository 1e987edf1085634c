#include "bundle/confine/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "os/dir.h"
#include "os/file.h"

#define STAT_BYTES_MAX 1024
/* Fields of /proc/PID/stat counted from the state, which follows the name in parentheses. */
#define FIELD_PARENT  1
#define FIELD_THREADS 17
#define FIELD_STARTED 19
#define FIELD_RSS     21

/* The name may contain spaces and parentheses: fields start after the last ')'. */
static int parse_stat(str text, struct process *ret)
{
    ptrdiff_t end = str_rfind_char(text, ')');
    if (end < 0)
        return -EINVAL;
    str rest = str_trim(str_skip(text, (size_t)end + 1)), field;
    for (int i = 0; i <= FIELD_RSS && str_split(&rest, ' ', &field); i++) {
        int64_t v = 0;
        if (i != FIELD_PARENT && i != FIELD_THREADS && i != FIELD_STARTED && i != FIELD_RSS)
            continue;
        if (parse_i64(field, &v) < 0)
            return -EINVAL;
        if (i == FIELD_PARENT)
            ret->parent = (int)v;
        else if (i == FIELD_THREADS)
            ret->threads = (unsigned)v;
        else if (i == FIELD_STARTED)
            ret->started = v;
        else
            ret->rss_bytes = v * sysconf(_SC_PAGESIZE);
    }
    return 0;
}

static int read_process(int proc, const char *name, struct process *ret)
{
    char path[64], text[STAT_BYTES_MAX];
    int64_t pid;
    if (parse_i64(str_from(name), &pid) < 0 || pid <= 0 || pid > INT32_MAX)
        return -EINVAL;
    snprintf(path, sizeof(path), "%d/stat", (int)pid);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, text, sizeof(text));
    close(fd);
    if (n <= 0)
        return -ESRCH;
    *ret = (struct process){.pid = (int)pid};
    return parse_stat((str){text, (size_t)n}, ret);
}

static int by_parent(const void *x, const void *y)
{
    const struct process *a = x, *b = y;
    return a->parent != b->parent ? (a->parent > b->parent) - (a->parent < b->parent)
                                  : (a->pid > b->pid) - (a->pid < b->pid);
}

int process_table_read(struct process_table *ret)
{
    struct dir d = dir_open("/proc");
    struct process_table t = {0};
    size_t cap = 0;
    if (d.error < 0)
        return d.error;
    while (t.n < PROCESS_TABLE_MAX && dir_next(&d)) {
        struct process p;
        if (read_process(dir_fd(&d), d.name, &p) < 0)
            continue;
        GROW(t.at, t.n, cap);
        t.at[t.n++] = p;
    }
    dir_close(&d);
    if (t.n > 0)
        qsort(t.at, t.n, sizeof(*t.at), by_parent);
    *ret = t;
    return 0;
}

void process_table_done(struct process_table *t)
{
    free(t->at);
    *t = (struct process_table){0};
}

/* The index of its first child, or where that would be inserted. */
static size_t first_child(const struct process_table *t, int parent)
{
    size_t from = 0, to = t->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (t->at[mid].parent < parent)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Breadth first: `found` is the queue, and entries before `from` have been visited. */
void process_tree_walk(const struct process_table *t, int root, process_fn fn, void *ctx)
{
    size_t *found = xcalloc(t->n + 1, sizeof(*found)), n = 0, from = 0;
    int parent = root;
    unsigned depth = 1;
    size_t last_of_depth = 0;
    for (;;) {
        size_t i = first_child(t, parent);
        for (; i < t->n && t->at[i].parent == parent && n < t->n; i++) {
            if (t->at[i].pid == root)
                continue;
            found[n++] = i;
            fn(ctx, &t->at[i], depth);
        }
        if (from == last_of_depth) {
            depth++;
            last_of_depth = n;
        }
        if (from == n)
            break;
        parent = t->at[found[from++]].pid;
    }
    free(found);
}

/* ---- ending them ---- */

static bool is_still(const struct process *p)
{
    struct process now;
    char name[16];
    snprintf(name, sizeof(name), "%d", p->pid);
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = proc < 0 ? -errno : read_process(proc, name, &now);
    file_close(proc);
    return rc == 0 && now.started == p->started;
}

/* The id may belong to another process by now, so its identity is checked once it cannot be reused.
 * All are killed in one round, because a flood of processes grows faster than it can be
 * followed. */
static void kill_one(void *ctx, const struct process *p, unsigned depth)
{
    const unsigned *min_depth = ctx;
    int fd = depth < *min_depth ? -1 : pidfd_open(p->pid, 0);
    if (fd < 0)
        return;
    if (is_still(p))
        (void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
    close(fd);
}

void process_tree_kill(const struct process_table *t, int root, unsigned min_depth)
{
    process_tree_walk(t, root, kill_one, &min_depth);
}

unsigned long process_tasks_now(void)
{
    char text[128] = {0};
    (void)file_head("/proc/loadavg", text, sizeof(text) - 1);
    const char *slash = strchr(text, '/'); /* "0.1 0.2 0.3 2/345 6789" */
    return slash ? strtoul(slash + 1, NULL, 10) : 0;
}
