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

/* True when the path is one of these, or below one of them. */
bool path_list_covers(const struct path_list *l, str path);

/* Both are absolute, without "." and "..", "//" and a '/' at the end. */
bool path_is_below(str path, str dir); /* not dir itself */
bool path_is_at_or_below(str path, str dir);
/* True for a relative path that does not leave the directory that it starts from. */
bool path_is_inside(str path);

/* "~/x" -> home + "/x", "a//b/./c/" -> "a/b/c"; ".." is resolved as text. Relative paths start at
 * base. Does not read the file system. */
str path_clean(struct arena *a, str path, str base, str home);

/* ---- symbolic links on a path: who controls them, and where they lead (path_links.c) ----
 *
 * A server controls the links in directories that it may write: their targets were chosen by the
 * server, not by the person who wrote its entry. Reads the file system: for a pool thread. */

/* The path without links; unchanged when it does not exist. */
str path_real(struct arena *a, str path);

/* True when `path`, which has no links, is one of `dirs` without their links, or below one. */
bool path_is_really_in(struct arena *a, str path, const struct path_list *dirs);

/* True when a link on the absolute `path`, or at its end, lies in one of `dirs`. Also true when
 * that cannot be found out: too many links, or too long. */
bool path_meets_link_in(struct arena *a, str path, const struct path_list *dirs);

/* True when a link on `path` lies inside `dir`, which is an ancestor of `path`. */
bool path_leaves_by_link(struct arena *a, str path, str dir);
