/* import_files.h - which files below a path may hold conversations. Blocking; any thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct import_file {
    const char *path; /* in the arena */
    int64_t size;
};

/* A file itself; in a directory, up to three levels deep, *.jsonl (but not notes.jsonl) and
 * conversations*.json, in the order of their names. Hidden names and trash/ are left out.
 * *ret is on the heap. */
int import_files(struct arena *a, const char *path, size_t max, struct import_file **ret,
                 size_t *ret_n, struct err *e);
