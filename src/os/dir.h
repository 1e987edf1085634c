/* dir.h - the names in a directory, in no particular order, without "." and "..". Blocking.
 *
 *     DIR_EACH (d, path)
 *         if (d.name[0] != '.')
 *             ...
 *
 * The loop may end with break or return. A directory that cannot be opened has no names. Code that
 * must distinguish this, or walks below, calls the functions itself; the end closes the directory,
 * else dir_close does. */
#pragma once

#include <dirent.h>
#include <stdbool.h>

struct dir {
    DIR *handle;        /* NULL: not open, or closed at its end */
    const char *name;   /* valid until the next dir_next */
    unsigned char type; /* DT_DIR, DT_REG ...; DT_UNKNOWN on some file systems */
    int error;          /* of opening: 0 or -errno */
};

struct dir dir_open(const char *path);
struct dir dir_open_fd(int fd);                          /* owns fd, also on failure */
struct dir dir_open_below(int parent, const char *name); /* does not follow a link */

bool dir_next(struct dir *d);
int dir_fd(const struct dir *d); /* for openat, fstatat, unlinkat inside the loop */
void dir_close(struct dir *d);   /* may be repeated */

/* Removes what is at `name`: a file, a link (not its target), or a directory with everything in it,
 * at most `depth` levels. Does not follow links, also when another process changes the tree
 * meanwhile. 0 when it is gone, or -errno. */
int dir_remove_tree(int parent, const char *name, unsigned depth);

#define DIR_EACH(d, path)                                                                          \
    for (__attribute__((cleanup(dir_close))) struct dir d = dir_open(path); dir_next(&d);)
