#include "os/dir.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct dir dir_of(DIR *handle)
{
    return (struct dir){.handle = handle, .error = handle ? 0 : -errno};
}

struct dir dir_open(const char *path)
{
    return dir_of(opendir(path));
}

struct dir dir_open_fd(int fd)
{
    struct dir d = dir_of(fdopendir(fd));
    if (!d.handle && fd >= 0)
        close(fd);
    return d;
}

struct dir dir_open_below(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? dir_of(NULL) : dir_open_fd(fd);
}

bool dir_next(struct dir *d)
{
    const struct dirent *it;
    while (d->handle && (it = readdir(d->handle)) != NULL) {
        d->name = it->d_name;
        d->type = it->d_type;
        if (strcmp(d->name, ".") != 0 && strcmp(d->name, "..") != 0)
            return true;
    }
    dir_close(d);
    return false;
}

int dir_fd(const struct dir *d)
{
    assert(d->handle);
    return dirfd(d->handle);
}

void dir_close(struct dir *d)
{
    if (d->handle)
        closedir(d->handle);
    d->handle = NULL;
}

int dir_remove_tree(int parent, const char *name, unsigned depth)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    struct dir d = dir_open_below(parent, name);
    while (depth > 0 && dir_next(&d))
        (void)dir_remove_tree(dir_fd(&d), d.name, depth - 1);
    dir_close(&d);
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}
