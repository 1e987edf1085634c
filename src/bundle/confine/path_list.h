/* path_list.h - lists of absolute paths, and whether one path lies below another. */
#pragma once

#include "base/arena.h"

#define PATH_LIST_MAX 4096

struct path_list { /* grows in the arena */
    const char **at;
    size_t n, cap;
};

/* Copies the path; skips duplicates, and everything beyond PATH_LIST_MAX. */
void path_list_add(struct arena *a, struct path_list *l, str path);

/* Both are absolute, without "." and "..", "//" and a '/' at the end. */
bool path_is_below(str path, str dir); /* not dir itself */
bool path_is_at_or_below(str path, str dir);

/* "~/x" -> home + "/x", "a//b/./c/" -> "a/b/c"; ".." is resolved as text. Relative paths start at
 * base. Does not read the file system. */
str path_clean(struct arena *a, str path, str base, str home);
