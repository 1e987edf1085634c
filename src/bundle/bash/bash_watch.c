#include "base/clock.h"
#include "bundle/bash/bash_run.h"
#include "bundle/confine/cgroup.h"
#include "bundle/confine/process_usage.h"

/* Memory can be filled at about 2 GB a second: a longer pause would let a command harm others. */
#define LOOK_MS 200
#define REST_MIN                                                                                   \
    20 /* times the time of a look: on a machine with many processes a look is slow                \
        */

/* A flood of processes doubles within milliseconds, and slows down every measurement. The number of
 * tasks on the whole machine is known without one. */
#define FLOOD_MS    25
#define FLOOD_TASKS 256 /* more than at the last measurement */

bool bash_watch_needs(const struct bash_run *r)
{
    return r->is_sandboxed && !r->has_exited && r->limit == BASH_LIMIT_NONE;
}

static void judge(const struct bash_watch *w, struct bash_run *r, const struct process_table *t)
{
    struct process_usage u = process_usage(t, r->pid, w->is_wrapped, w->memory_bytes);
    bool is_many = u.processes > PROCESS_COUNT_MAX || u.tasks > PROCESS_TASKS_MAX;
    bool is_large = w->memory_bytes > 0 && u.memory_bytes > w->memory_bytes;
    if (!is_many && !is_large)
        return;
    bash_run_end_over(r, is_many ? BASH_LIMIT_PROCESSES : BASH_LIMIT_MEMORY);
    /* Immediately, because a flood grows. The launcher stays: it ends processes that this
     * measurement has missed. */
    process_tree_kill(t, r->pid, PROCESS_LAUNCHER_DEPTH + 1);
}

/* The kernel has refused to create a process: the command would only retry. */
static void end_full(struct bash_run **runs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (runs[i]->cgroup && cgroup_was_full(runs[i]->cgroup))
            bash_run_end_over(runs[i], BASH_LIMIT_PROCESSES);
    }
}

/* The kernel limits all of them: no measurement is needed. */
static bool are_limited(struct bash_run **runs, size_t n)
{
    bool ret = true;
    for (size_t i = 0; i < n; i++)
        ret = ret && runs[i]->cgroup && cgroup_has_memory(runs[i]->cgroup);
    return ret;
}

static void watch_look(struct bash_watch *w, struct bash_run **runs, size_t n, uint64_t now_ms)
{
    struct process_table t = {0};
    w->tasks = process_tasks_now();
    end_full(runs, n);
    if (!are_limited(runs, n) && process_table_read(&t) == 0) {
        for (size_t i = 0; i < n; i++)
            judge(w, runs[i], &t);
    }
    process_table_done(&t);
    uint64_t after_ms = clock_mono_ms(), rest_ms = REST_MIN * (after_ms - now_ms);
    w->look_ms = after_ms + (rest_ms > LOOK_MS ? rest_ms : LOOK_MS);
}

void bash_watch_step(struct bash_watch *w, struct bash_run **runs, size_t n, uint64_t now_ms)
{
    if (n == 0) {
        w->due_ms = 0;
        return;
    }
    if (w->due_ms == 0) { /* the first command: most commands end before the first measurement */
        w->tasks = process_tasks_now();
        w->due_ms = now_ms + FLOOD_MS;
        w->look_ms = now_ms + LOOK_MS;
    }
    if (now_ms < w->due_ms)
        return;
    if (now_ms >= w->look_ms || process_tasks_now() > w->tasks + FLOOD_TASKS)
        watch_look(w, runs, n, now_ms);
    w->due_ms = clock_mono_ms() + FLOOD_MS;
}
