/* memory_watch.c - measures memory, processes and disk of all children of the set, while they
 * change.
 *
 *   busy     a call was sent, or a server has sent something: a measurement every LOOK_MS
 *   settling no call is open: until CALM_LOOKS measurements in a row have found no change
 *   resting  every MACHINE_MS the numbers of the whole machine (machine_usage.h): a bundle cannot
 *            pass a limit without changing them by the smallest distance to a limit. If they have
 *            changed by half of that, everything is measured again; otherwise after REST_MS: a
 *            different program may have freed what a bundle took
 *
 * So a server that grows while nobody uses it is found after MACHINE_MS, or after REST_MS if the
 * sum of the machine did not grow. A kernel that limits memory itself (cgroup.h) does not wait for
 * this.
 *
 * One pass over /proc serves all bundles. While they are busy each pass also measures the data
 * directory of one bundle, in turn, because one directory takes up to a second; a pass that may be
 * the last for a while measures all of them. */
#include <assert.h>

#include "base/clock.h"
#include "bundle/confine/machine_usage.h"
#include "bundle/confine/process_usage.h"
#include "bundle/supervise/bundle_impl.h"

#define LOOK_MS       3000
#define MACHINE_MS    60000
#define REST_MS       (30 * 60000)
#define CALM_LOOKS    2
#define CALM_SHARE    64   /* of its limit: a smaller difference is not a change */
#define MACHINE_TASKS 128  /* more on the whole machine: measure */
#define DISKS_MS      5000 /* of one pass */
#define MIB           (1024 * 1024)

struct sample {
    int pid;
    bool is_wrapped; /* in bubblewrap: /tmp and similar directories are its own */
    int64_t memory_max;
    struct process_usage usage;
    const char *data_dir; /* to be measured in this pass; or NULL */
    bool has_disk;        /* it was measured */
    struct disk_usage disk;
};

struct memory_watch {
    struct bundles *set;
    struct timer timer;
    struct job job;
    bool is_looking, is_stopped;
    bool is_used;           /* since the last measurement began */
    unsigned calm;          /* measurements in a row without a change */
    uint64_t rest_ms;       /* resting: the time of the next measurement */
    struct sample *samples; /* heap; most workspaces have few bundles, or none */
    size_t n, cap;
    size_t turn;                    /* the bundle whose directory is measured */
    struct arena arena;             /* owns the paths */
    struct machine_usage machine;   /* at the last measurement */
    int64_t memory_room, disk_room; /* the smallest distance to a limit, then */
};

/* ---- pool thread ---- */

static void measure_disks(struct memory_watch *w)
{
    uint64_t end = clock_mono_ms() + DISKS_MS;
    for (size_t i = 0; i < w->n && clock_mono_ms() < end; i++) {
        struct sample *s = &w->samples[(w->turn + i) % w->n]; /* not always the same ones */
        if (!s->data_dir)
            continue;
        s->disk = disk_usage(s->data_dir);
        s->has_disk = true;
    }
}

static void memory_work(struct job *j)
{
    struct memory_watch *w = CONTAINER_OF(j, struct memory_watch, job);
    struct process_table t = {0};
    w->machine = machine_usage(w->set->conf.data_dir);
    if (process_table_read(&t) < 0)
        w->n = 0;
    for (size_t i = 0; i < w->n; i++)
        w->samples[i].usage = process_usage(&t, w->samples[i].pid, w->samples[i].is_wrapped,
                                            w->samples[i].memory_max);
    process_table_done(&t);
    measure_disks(w);
}

/* ---- limits ---- */

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

static struct bundle *bundle_of(const struct memory_watch *w, int pid)
{
    for (size_t i = 0; i < w->set->n; i++) {
        if (pid_of(w->set->items[i]) == pid)
            return w->set->items[i];
    }
    return NULL;
}

/* ---- how much can change unnoticed ---- */

static bool is_different_now(const struct bundle *b, const struct sample *s)
{
    int64_t was = b->rss_bytes, now = s->usage.memory_bytes;
    return was < 0 || llabs(now - was) > s->memory_max / CALM_SHARE || bundle_calls_sent(b) > 0;
}

static void least(int64_t *room, int64_t max, int64_t used)
{
    if (max - used < *room)
        *room = max - used;
}

static void note_room(struct memory_watch *w, const struct bundle *b, const struct sample *s)
{
    if (b->entry.kind != BUNDLE_BUILT_IN)
        least(&w->memory_room, s->memory_max, s->usage.memory_bytes);
    if (s->has_disk)
        least(&w->disk_room, bundle_disk_max(&b->entry), s->disk.bytes);
}

/* Returns true when it is different from the last time. */
static bool take_sample(struct memory_watch *w, const struct sample *s)
{
    struct bundle *b = bundle_of(w, s->pid);
    if (!b)
        return true;
    bool is_different = is_different_now(b, s);
    note_room(w, b, s);
    judge(b, &s->usage);
    if (s->has_disk && bundle_of(w, s->pid) == b)
        judge_disk(b, &s->disk);
    return is_different;
}

/* Since the last measurement, by half of the room that was left. */
static bool has_grown(const struct memory_watch *w, const struct machine_usage *now)
{
    const struct machine_usage *was = &w->machine;
    return now->memory_bytes - was->memory_bytes > w->memory_room / 2 ||
           now->tasks - was->tasks > MACHINE_TASKS ||
           was->disk_free_bytes - now->disk_free_bytes > w->disk_room / 2;
}

/* ---- when ---- */

static uint64_t machine_ms(const struct memory_watch *w)
{
    return w->set->conf.times.machine_ms ? w->set->conf.times.machine_ms : MACHINE_MS;
}

static void memory_look(struct memory_watch *w);

static void memory_tick(void *ctx)
{
    struct memory_watch *w = ctx;
    uint64_t now_ms = clock_mono_ms();
    bool is_resting = w->calm >= CALM_LOOKS && !w->is_used;
    if (is_resting && now_ms < w->rest_ms) {
        struct machine_usage now = machine_usage(w->set->conf.data_dir);
        if (!has_grown(w, &now)) {
            uint64_t left = w->rest_ms - now_ms;
            timer_start(&w->timer, left < machine_ms(w) ? left : machine_ms(w));
            return;
        }
    }
    memory_look(w);
}

static void on_memory_done(struct job *j)
{
    struct memory_watch *w = CONTAINER_OF(j, struct memory_watch, job);
    bool is_different = w->is_used;
    w->is_looking = false;
    if (w->is_stopped) {
        defer_start(w->set->conf.loop, &w->set->sweep);
        return;
    }
    w->memory_room = w->disk_room = INT64_MAX;
    for (size_t i = 0; i < w->n; i++)
        is_different = take_sample(w, &w->samples[i]) || is_different;
    w->calm = is_different ? 0 : w->calm + 1;
    w->rest_ms = clock_mono_ms() + REST_MS;
    if (w->n > 0)
        timer_start(&w->timer, w->calm < CALM_LOOKS ? LOOK_MS : machine_ms(w));
}

static void choose_directories(struct memory_watch *w)
{
    arena_reset(&w->arena);
    for (size_t i = 0; i < w->n; i++) {
        const struct bundle *b = bundle_of(w, w->samples[i].pid);
        bool is_turn = w->calm + 1 >= CALM_LOOKS || i == w->turn % w->n;
        if (b && is_turn)
            w->samples[i].data_dir = bundle_data_dir(&w->arena, &b->entry, w->set->conf.data_dir);
    }
    w->turn++;
}

static void memory_look(struct memory_watch *w)
{
    w->n = 0;
    w->is_used = false;
    for (size_t i = 0; i < w->set->n; i++) {
        int pid = pid_of(w->set->items[i]);
        if (pid <= 0)
            continue;
        GROW(w->samples, w->n, w->cap);
        w->samples[w->n++] = (struct sample){
            .pid = pid,
            .memory_max = bundle_memory_max(&w->set->items[i]->entry),
            .is_wrapped = str_starts(w->set->items[i]->facts.sandbox, STR("bubblewrap")),
        };
    }
    choose_directories(w);
    if (w->n == 0)
        return; /* the next bundle that runs starts it again */
    assert(!w->is_looking && !w->is_stopped);
    w->is_looking = true;
    pool_run(w->set->conf.pool, &w->job, memory_work, on_memory_done);
}

/* ---- beginning and end ---- */

struct memory_watch *memory_watch_new(struct bundles *s)
{
    struct memory_watch *w = xcalloc(1, sizeof(*w));
    w->set = s;
    arena_init(&w->arena);
    timer_init(&w->timer, s->conf.loop, memory_tick, w);
    return w;
}

void memory_watch_used(struct memory_watch *w)
{
    bool was_resting = w->calm >= CALM_LOOKS && !w->is_used;
    w->is_used = true;
    if (!w->is_looking && !w->is_stopped && (was_resting || !timer_active(&w->timer)))
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
    free(w->samples);
    free(w);
}
