/* import_files.h - finds the files below a path that may hold conversations. Blocking; any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct import_file {
    const char *path; /* in the arena */
    int64_t size;
};

/* If path is a file, the file itself. If it is a directory: *.jsonl (except notes.jsonl) and
 * conversations*.json, up to three levels deep, sorted by name, without hidden names and trash/.
 * *ret is on the heap. */
int import_files(struct arena *a, const char *path, size_t max, struct import_file **ret,
                 size_t *ret_n, struct err *e);
