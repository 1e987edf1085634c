/* descendants.h - waits until as many processes are left below the test as there should be. */
#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle/confine/process_tree.h"
#include "support/unit.h"

enum { DESCENDANTS_WAIT_MS = 60000 };

static inline void descendants_count_one(void *ctx, const struct process *p, unsigned depth)
{
    (*(int *)ctx)++;
}

static inline int descendants(void)
{
    struct process_table t;
    int n = 0;
    assert_int_equal(process_table_read(&t), 0);
    process_tree_walk(&t, getpid(), descendants_count_one, &n);
    process_table_done(&t);
    return n;
}

/* For none, it collects orphans too: the test is a subreaper then. */
static inline void await_descendants(int wanted)
{
    for (int i = 0; i < DESCENDANTS_WAIT_MS / 10 && descendants() != wanted; i++) {
        if (wanted == 0)
            while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
        (void)poll(NULL, 0, 10);
    }
    assert_int_equal(descendants(), wanted);
}
