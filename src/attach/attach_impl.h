/* attach_impl.h - shared by attach.c, resume.c and upload.c. */
#pragma once

#include "attach/attach.h"
#include "loop/timer.h"

struct attach {
    struct loop *loop;
    struct pool *pool;
    struct attach_conf conf;
    struct arena arena;
    struct file_place place;
    struct timer sweep;
    uint64_t used;     /* bytes in the library, as last counted and changed since */
    uint64_t changes;  /* of `used`: a count that began before a change is not used */
    uint64_t pages;    /* bytes of pictures of pages, likewise */
    uint64_t incoming; /* bytes of uploads in progress */
    size_t holders;    /* calls, uploads, and the owner */
};

/* An upload in several requests is on the disk of one server. */
void attach_explain_part(const struct attach *a, struct err *e);
