/* process_tree.h - processes and their descendants, from one pass over /proc.
 *
 * Blocks for a millisecond or two: for pool threads and for the launcher. A process in the table
 * may have ended when the table is used; callers must handle that. */
#pragma once

#include "base/str.h"

#define PROCESS_TABLE_MAX 100000

struct process {
    int pid, parent;
    unsigned threads;
    int64_t rss_bytes;
    int64_t started; /* ticks since boot: with the id it names one process */
};

struct process_table {
    struct process *at; /* sorted by parent */
    size_t n;
};

int process_table_read(struct process_table *ret); /* 0 or -errno */
void process_table_done(struct process_table *t);  /* accepts a zeroed struct */

typedef void (*process_fn)(void *ctx, const struct process *p, unsigned depth);

/* Calls fn for every descendant of root, nearest first; children have depth 1. */
void process_tree_walk(const struct process_table *t, int root, process_fn fn, void *ctx);

/* Sends SIGKILL to every descendant of at least this depth that still is one. Processes that were
 * started meanwhile are not in the table: repeat until none is left. */
void process_tree_kill(const struct process_table *t, int root, unsigned min_depth);

unsigned long process_tasks_now(void); /* threads of the whole machine; 0 = unknown */
