
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "bundle/plan/npm_store.h"
#include "os/dir.h"

#define FNV_START 1469598103934665603u
#define FNV_PRIME 1099511628211u

struct walk {
    struct npm_tree *tree;
    uint64_t sum;
};

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * FNV_PRIME;
    return h;
}

static void add_tree_file(struct walk *w, uint64_t dir_hash, const char *name,
                          const struct stat *st)
{
    uint64_t size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size;
    uint64_t h = hash_bytes(dir_hash, name, strlen(name) + 1);
    w->sum += hash_bytes(h, &size, sizeof size);
    w->tree->files++;
    w->tree->bytes += size;
}

static int walk_dir(struct walk *w, struct dir *d, uint64_t dir_hash, unsigned depth);

static int walk_entry(struct walk *w, int fd, uint64_t dir_hash, unsigned depth, const char *name)
{
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    add_tree_file(w, dir_hash, name, &st);
    if (w->tree->files > NPM_FILES_MAX || depth > NPM_TREE_DEPTH)
        return -E2BIG;
    if (!S_ISDIR(st.st_mode))
        return 0;
    struct dir sub = dir_open_below(fd, name);
    return walk_dir(w, &sub, hash_bytes(dir_hash, name, strlen(name) + 1), depth + 1);
}

/* Closes d. */
static int walk_dir(struct walk *w, struct dir *d, uint64_t dir_hash, unsigned depth)
{
    int rc = d->error;
    while (rc == 0 && dir_next(d))
        rc = walk_entry(w, dir_fd(d), dir_hash, depth, d->name);
    dir_close(d);
    return rc;
}

int npm_tree_sum(const char *dir, struct npm_tree *ret, struct err *e)
{
    struct walk w = {ret, 0};
    *ret = (struct npm_tree){0};
    struct dir d = dir_open(dir);
    int rc = walk_dir(&w, &d, FNV_START, 0);
    if (rc < 0)
        return err_errno(e, rc, "cannot read", dir);
    snprintf(ret->digest, sizeof ret->digest, "%016llx", (unsigned long long)w.sum);
    return 0;
}
