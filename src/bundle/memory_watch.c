/* memory_watch.c - the memory of all children of the set, every few seconds.
 *
 * One look at /proc serves all bundles. What a bundle uses is what all its processes hold,
 * the launcher's two left out. */
#include <assert.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include "bundle/bundle_impl.h"
#include "bundle/process_tree.h"

#define LOOK_MS        3000
#define MIB            (1024 * 1024)
#define LAUNCHER_DEPTH 1 /* the inner process of the launcher; the outer one is the root */

struct sample {
    int pid;
    int64_t rss_bytes;
    int inside; /* one process of the server's own, or 0 */
    unsigned processes;
    bool is_wrapped; /* in bubblewrap: /tmp and its like are its own */
};

#define PROCESSES_MAX 512 /* of one bundle */

struct memory_watch {
    struct bundles *set;
    struct timer timer;
    struct job job;
    bool is_looking, is_stopped;
    struct sample samples[BUNDLES_MAX + 1];
    size_t n;
};

static void add_process(void *ctx, const struct process *p, unsigned depth)
{
    struct sample *s = ctx;
    if (depth <= LAUNCHER_DEPTH)
        return;
    s->rss_bytes += p->rss_bytes;
    s->inside = p->pid; /* the last is the deepest */
    s->processes++;
}

/* Files in memory belong to no process. */
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

static void work(struct job *j)
{
    struct memory_watch *w = CONTAINER_OF(j, struct memory_watch, job);
    struct process_table t = {0};
    if (process_table_read(&t) < 0)
        w->n = 0;
    for (size_t i = 0; i < w->n; i++) {
        process_tree_walk(&t, w->samples[i].pid, add_process, &w->samples[i]);
        if (w->samples[i].is_wrapped)
            w->samples[i].rss_bytes += tmpfs_bytes(w->samples[i].inside);
    }
    process_table_done(&t);
}

void memory_explain(const struct bundle_entry *e, char ret[ERR_MAX])
{
    snprintf(ret, ERR_MAX,
             "it used more than its limit of %lld MB of memory (\"memoryMb\" in its entry)",
             (long long)(bundle_memory_max(e) / MIB));
}

static int pid_of(const struct bundle *b)
{
    return b->is_ready && b->lanes && bundle_is_child(b) ? mcp_pid(lanes_main(b->lanes)) : 0;
}

static void judge(struct bundle *b, int64_t rss_bytes, unsigned processes)
{
    char reason[ERR_MAX];
    b->rss_bytes = rss_bytes;
    if (processes > PROCESSES_MAX) {
        snprintf(reason, sizeof(reason), "it had %u processes; %d are allowed", processes,
                 PROCESSES_MAX);
        supervise_kill(b, reason);
        return;
    }
    if (rss_bytes <= bundle_memory_max(&b->entry))
        return;
    memory_explain(&b->entry, reason);
    supervise_kill(b, reason);
}

static void take(struct memory_watch *w, const struct sample *s)
{
    for (size_t i = 0; i < w->set->n; i++) {
        if (pid_of(w->set->items[i]) == s->pid)
            judge(w->set->items[i], s->rss_bytes, s->processes);
    }
}

static void done(struct job *j)
{
    struct memory_watch *w = CONTAINER_OF(j, struct memory_watch, job);
    w->is_looking = false;
    if (w->is_stopped) {
        defer_start(w->set->conf.loop, &w->set->sweep);
        return;
    }
    for (size_t i = 0; i < w->n; i++)
        take(w, &w->samples[i]);
    if (w->n > 0)
        timer_start(&w->timer, LOOK_MS);
}

static void look(void *ctx)
{
    struct memory_watch *w = ctx;
    w->n = 0;
    for (size_t i = 0; i < w->set->n; i++) {
        int pid = pid_of(w->set->items[i]);
        if (pid > 0)
            w->samples[w->n++] = (struct sample){
                .pid = pid,
                .is_wrapped = str_starts(w->set->items[i]->facts.sandbox, STR("bubblewrap")),
            };
    }
    if (w->n == 0)
        return; /* the next bundle that runs starts it again */
    w->is_looking = true;
    w->job = (struct job){.work = work, .done = done};
    pool_submit(w->set->conf.pool, &w->job);
}

struct memory_watch *memory_watch_new(struct bundles *s)
{
    struct memory_watch *w = xcalloc(1, sizeof(*w));
    w->set = s;
    timer_init(&w->timer, s->conf.loop, look, w);
    return w;
}

void memory_watch_start(struct memory_watch *w)
{
    if (!w->is_looking && !w->is_stopped && !timer_active(&w->timer))
        timer_start(&w->timer, LOOK_MS);
}

bool memory_watch_stop(struct memory_watch *w)
{
    w->is_stopped = true;
    timer_stop(&w->timer);
    return !w->is_looking;
}

void memory_watch_free(struct memory_watch *w)
{
    assert(!w->is_looking);
    timer_stop(&w->timer);
    free(w);
}
