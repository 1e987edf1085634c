/* memory_watch.c - measures memory and processes of all children of the set, every few seconds.
 *
 * One pass over /proc serves all bundles. Each pass also measures the data directory of one bundle,
 * in turn, because one directory takes up to a second. */
#include <assert.h>

#include "bundle/confine/process_usage.h"
#include "bundle/supervise/bundle_impl.h"

#define LOOK_MS 3000
#define MIB     (1024 * 1024)

struct sample {
    int pid;
    bool is_wrapped; /* in bubblewrap: /tmp and similar directories are its own */
    int64_t memory_max;
    struct process_usage usage;
    const char *data_dir; /* to be measured in this pass; or NULL */
    struct disk_usage disk;
};

struct memory_watch {
    struct bundles *set;
    struct timer timer;
    struct job job;
    bool is_looking, is_stopped;
    struct sample samples[BUNDLES_MAX + 1];
    size_t n;
    size_t turn;        /* the bundle whose directory is measured */
    struct arena arena; /* owns that path */
};

static void memory_work(struct job *j)
{
    struct memory_watch *w = CONTAINER_OF(j, struct memory_watch, job);
    struct process_table t = {0};
    if (process_table_read(&t) < 0)
        w->n = 0;
    for (size_t i = 0; i < w->n; i++)
        w->samples[i].usage = process_usage(&t, w->samples[i].pid, w->samples[i].is_wrapped,
                                            w->samples[i].memory_max);
    process_table_done(&t);
    for (size_t i = 0; i < w->n; i++) {
        if (w->samples[i].data_dir)
            w->samples[i].disk = disk_usage(w->samples[i].data_dir);
    }
}

void memory_explain(const struct bundle_entry *e, char ret[ERR_MAX])
{
    snprintf(ret, ERR_MAX,
             "it used more than its limit of %lld MB of memory (\"memoryMb\" in its entry)",
             (long long)(bundle_memory_max(e) / MIB));
}

static int pid_of(const struct bundle *b)
{
    return b->is_ready && b->connections && bundle_is_child(b)
               ? mcp_pid(connections_main(b->connections))
               : 0;
}

static void explain_processes(const struct process_usage *u, char ret[ERR_MAX])
{
    bool is_many = u->processes > PROCESS_COUNT_MAX;
    snprintf(ret, ERR_MAX, "it had %u %s; %d are allowed", is_many ? u->processes : u->tasks,
             is_many ? "processes" : "threads", is_many ? PROCESS_COUNT_MAX : PROCESS_TASKS_MAX);
}

/* The commands of the bash bundle have their own limits (bash_watch.c): a command that exceeds a
 * limit must not end the commands of others. */
static void judge(struct bundle *b, const struct process_usage *u)
{
    char reason[ERR_MAX] = "";
    b->rss_bytes = u->memory_bytes;
    if (b->entry.kind == BUNDLE_BUILT_IN)
        return;
    if (u->processes > PROCESS_COUNT_MAX || u->tasks > PROCESS_TASKS_MAX)
        explain_processes(u, reason);
    else if (u->memory_bytes > bundle_memory_max(&b->entry))
        memory_explain(&b->entry, reason);
    if (reason[0])
        supervise_kill(b, reason);
}

static bool is_over_disk(const struct bundle *b, const struct disk_usage *u)
{
    return u->bytes > bundle_disk_max(&b->entry) || u->files > DISK_FILES_MAX;
}

/* A server stays stopped until a person has deleted files: restarted, it would continue to write.
 * Commands of bash continue without the right to write, so that people can delete files. */
static void judge_disk(struct bundle *b, const struct disk_usage *u)
{
    char reason[ERR_MAX];
    bool is_bash = b->entry.kind == BUNDLE_BUILT_IN;
    if (is_bash)
        b->is_disk_full = is_over_disk(b, u);
    if (is_bash || !is_over_disk(b, u))
        return;
    snprintf(
        reason, sizeof(reason),
        "its data directory holds %lld MB in %lld files; %lld MB (\"diskMb\" in its entry) and "
        "%d files are allowed. Delete some of them, then start it again",
        (long long)(u->bytes / MIB), (long long)u->files,
        (long long)(bundle_disk_max(&b->entry) / MIB), DISK_FILES_MAX);
    supervise_stop(b, reason);
}

static void take_sample(struct memory_watch *w, const struct sample *s)
{
    for (size_t i = 0; i < w->set->n; i++) {
        if (pid_of(w->set->items[i]) == s->pid)
            judge(w->set->items[i], &s->usage);
        if (pid_of(w->set->items[i]) == s->pid && s->data_dir)
            judge_disk(w->set->items[i], &s->disk);
    }
}

static void on_memory_done(struct job *j)
{
    struct memory_watch *w = CONTAINER_OF(j, struct memory_watch, job);
    w->is_looking = false;
    if (w->is_stopped) {
        defer_start(w->set->conf.loop, &w->set->sweep);
        return;
    }
    for (size_t i = 0; i < w->n; i++)
        take_sample(w, &w->samples[i]);
    if (w->n > 0)
        timer_start(&w->timer, LOOK_MS);
}

static void choose_directory(struct memory_watch *w)
{
    arena_reset(&w->arena);
    if (w->n == 0)
        return;
    struct sample *s = &w->samples[w->turn++ % w->n];
    for (size_t i = 0; i < w->set->n; i++) {
        const struct bundle *b = w->set->items[i];
        if (pid_of(b) == s->pid)
            s->data_dir = bundle_data_dir(&w->arena, &b->entry, w->set->conf.data_dir);
    }
}

static void memory_look(void *ctx)
{
    struct memory_watch *w = ctx;
    w->n = 0;
    for (size_t i = 0; i < w->set->n; i++) {
        int pid = pid_of(w->set->items[i]);
        if (pid > 0)
            w->samples[w->n++] = (struct sample){
                .pid = pid,
                .memory_max = bundle_memory_max(&w->set->items[i]->entry),
                .is_wrapped = str_starts(w->set->items[i]->facts.sandbox, STR("bubblewrap")),
            };
    }
    choose_directory(w);
    if (w->n == 0)
        return; /* the next bundle that runs starts it again */
    assert(!w->is_looking && !w->is_stopped);
    w->is_looking = true;
    pool_run(w->set->conf.pool, &w->job, memory_work, on_memory_done);
}

struct memory_watch *memory_watch_new(struct bundles *s)
{
    struct memory_watch *w = xcalloc(1, sizeof(*w));
    w->set = s;
    arena_init(&w->arena);
    timer_init(&w->timer, s->conf.loop, memory_look, w);
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
    arena_done(&w->arena);
    free(w);
}
