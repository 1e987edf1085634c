/* attach_impl.h - shared by attach.c and upload.c. */
#pragma once

#include "attach/attach.h"
#include "loop/timer.h"

struct attach {
    struct loop *loop;
    struct pool *pool;
    struct attach_conf conf;
    struct arena arena;
    const char *dir;
    struct timer sweep;
    uint64_t used;     /* bytes in the library, as last counted and changed since */
    uint64_t changes;  /* of `used`: a count that began before a change is not used */
    uint64_t incoming; /* bytes of uploads in progress */
    size_t holders;    /* calls, uploads, and the owner */
};

void attach_hold(struct attach *a);
void attach_release(struct attach *a);
void attach_count(struct attach *a, int64_t bytes); /* added to the library, or removed */
