/* path_list.h - absolute paths: lists of them, and which lies below which. */
#pragma once

#include "base/arena.h"

#define PATH_LIST_MAX 4096

struct path_list { /* grows in the arena */
    const char **at;
    size_t n, cap;
};

/* Copies; leaves out what is there already, and everything beyond PATH_LIST_MAX. */
void path_list_add(struct arena *a, struct path_list *l, str path);

/* Both are absolute, without "." and "..", "//" and a '/' at the end. */
bool path_is_below(str path, str dir); /* not dir itself */
bool path_is_at_or_below(str path, str dir);

/* "~/x" -> home + "/x", "a//b/./c/" -> "a/b/c"; ".." is resolved by its letters. Relative paths
 * start at base. Touches no file. */
str path_clean(struct arena *a, str path, str base, str home);
