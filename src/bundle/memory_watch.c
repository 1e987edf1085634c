/* memory_watch.c - the memory of all children of the set, every few seconds.
 *
 * One look at /proc serves all bundles. What a bundle uses is what all its processes hold,
 * the launcher's two left out. */
#include <assert.h>

#include "bundle/bundle_impl.h"
#include "bundle/process_tree.h"

#define LOOK_MS        3000
#define MIB            (1024 * 1024)
#define LAUNCHER_DEPTH 1 /* the inner process of the launcher; the outer one is the root */

struct sample {
    int pid;
    int64_t rss_bytes;
};

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
    if (depth > LAUNCHER_DEPTH)
        s->rss_bytes += p->rss_bytes;
}

static void work(struct job *j)
{
    struct memory_watch *w = CONTAINER_OF(j, struct memory_watch, job);
    struct process_table t = {0};
    if (process_table_read(&t) < 0)
        w->n = 0;
    for (size_t i = 0; i < w->n; i++)
        process_tree_walk(&t, w->samples[i].pid, add_process, &w->samples[i]);
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

static void judge(struct bundle *b, int64_t rss_bytes)
{
    char reason[ERR_MAX];
    b->rss_bytes = rss_bytes;
    if (rss_bytes <= bundle_memory_max(&b->entry))
        return;
    memory_explain(&b->entry, reason);
    supervise_kill(b, reason);
}

static void take(struct memory_watch *w, const struct sample *s)
{
    for (size_t i = 0; i < w->set->n; i++) {
        if (pid_of(w->set->items[i]) == s->pid)
            judge(w->set->items[i], s->rss_bytes);
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
            w->samples[w->n++] = (struct sample){.pid = pid};
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
