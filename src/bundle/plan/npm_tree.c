#include "bundle/plan/npm_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/plan/npm_store.h"

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

static int walk_dir(struct walk *w, int fd, uint64_t dir_hash, unsigned depth);

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
    int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return sub < 0 ? -errno
                   : walk_dir(w, sub, hash_bytes(dir_hash, name, strlen(name) + 1), depth + 1);
}

/* Closes fd. */
static int walk_dir(struct walk *w, int fd, uint64_t dir_hash, unsigned depth)
{
    DIR *d = fdopendir(fd);
    struct dirent *it;
    int rc = 0;
    if (!d) {
        rc = -errno;
        close(fd);
        return rc;
    }
    while (rc == 0 && (it = readdir(d)) != NULL)
        if (strcmp(it->d_name, ".") != 0 && strcmp(it->d_name, "..") != 0)
            rc = walk_entry(w, fd, dir_hash, depth, it->d_name);
    closedir(d);
    return rc;
}

int npm_tree_sum(const char *dir, struct npm_tree *ret, struct err *e)
{
    struct walk w = {ret, 0};
    *ret = (struct npm_tree){0};
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -errno : walk_dir(&w, fd, FNV_START, 0);
    if (rc < 0)
        return err_errno(e, rc, "cannot read", dir);
    snprintf(ret->digest, sizeof ret->digest, "%016llx", (unsigned long long)w.sum);
    return 0;
}
