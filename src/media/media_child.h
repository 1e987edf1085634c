/* media_child.h - runs a program that turns one file into another, and waits for it. Blocking: pool
 * threads, which live longer than the program. */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "net/child.h"

struct media_job {
    struct child_spec spec;
    int in;  /* the file, from its beginning */
    int out; /* a file for the output, or 0: memory */
    size_t out_max;
    uint64_t timeout_ms;
    const atomic_bool *is_stopping;  /* the server ends: so does the program */
    const atomic_bool *is_cancelled; /* nobody waits for the result any more; or NULL */
};

struct media_output {
    str out, err;  /* in the arena; of err the beginning */
    size_t nout;   /* bytes of the output, also of one that went to a file */
    int exit_code; /* -1: ended by a signal */
    bool is_late, is_too_long;
};

/* 0 also when the program fails; -errno with a message when it cannot be started. */
int media_child_run(struct arena *a, const struct media_job *job, struct media_output *ret,
                    struct err *e);
