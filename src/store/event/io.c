#include "store/event/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"

enum { COPY_BYTES = 256 * 1024 };

static int sys_open(const struct store_io *io, const char *path, int flags, mode_t mode)
{
    int fd = open(path, flags | O_CLOEXEC, mode);
    return fd < 0 ? -errno : fd;
}

static ssize_t sys_writev(const struct store_io *io, int fd, const struct iovec *iov, int n)
{
    ssize_t r = writev(fd, iov, n);
    return r < 0 ? -errno : r;
}

static ssize_t sys_pwrite(const struct store_io *io, int fd, str bytes, off_t at)
{
    ssize_t r = pwrite(fd, bytes.p, bytes.n, at);
    return r < 0 ? -errno : r;
}

static int sys_sync(const struct store_io *io, int fd)
{
    return fdatasync(fd) < 0 ? -errno : 0;
}

static int sys_sync_dir(const struct store_io *io, int fd)
{
    return fsync(fd) < 0 ? -errno : 0;
}

static int sys_truncate(const struct store_io *io, int fd, off_t size)
{
    return ftruncate(fd, size) < 0 ? -errno : 0;
}

static int sys_rename(const struct store_io *io, const char *from, const char *to)
{
    return rename(from, to) < 0 ? -errno : 0;
}

static int sys_link(const struct store_io *io, const char *from, const char *to)
{
    return link(from, to) < 0 ? -errno : 0;
}

static int sys_unlink(const struct store_io *io, const char *path)
{
    return remove(path) < 0 ? -errno : 0;
}

static int sys_mkdir(const struct store_io *io, const char *path, mode_t mode)
{
    return mkdir(path, mode) < 0 ? -errno : 0;
}

const struct store_io store_io_system = {
    .open = sys_open,
    .writev = sys_writev,
    .pwrite = sys_pwrite,
    .sync = sys_sync,
    .sync_dir = sys_sync_dir,
    .truncate = sys_truncate,
    .rename = sys_rename,
    .link = sys_link,
    .unlink = sys_unlink,
    .mkdir = sys_mkdir,
};

static int sync_nothing(const struct store_io *io, int fd)
{
    return 0;
}

struct store_io io_unsynced(const struct store_io *io)
{
    struct store_io copy = *io;
    copy.sync = copy.sync_dir = sync_nothing;
    return copy;
}

int io_writev(const struct store_io *io, int fd, struct iovec *iov, size_t n)
{
    while (n > 0) {
        ssize_t r = io->writev(io, fd, iov, n > IOV_MAX ? IOV_MAX : (int)n);
        if (r == -EINTR)
            continue;
        if (r <= 0)
            return r < 0 ? (int)r : -EIO;
        size_t done = (size_t)r;
        for (; n > 0 && done >= iov->iov_len; iov++, n--)
            done -= iov->iov_len;
        if (n > 0) {
            iov->iov_base = (char *)iov->iov_base + done;
            iov->iov_len -= done;
        }
    }
    return 0;
}

int io_write(const struct store_io *io, int fd, str bytes)
{
    struct iovec iov = {.iov_base = (void *)bytes.p, .iov_len = bytes.n};
    return bytes.n ? io_writev(io, fd, &iov, 1) : 0;
}

int io_pwrite(const struct store_io *io, int fd, str bytes, off_t at)
{
    while (bytes.n > 0) {
        ssize_t r = io->pwrite(io, fd, bytes, at);
        if (r == -EINTR)
            continue;
        if (r <= 0)
            return r < 0 ? (int)r : -EIO;
        bytes = str_skip(bytes, (size_t)r);
        at += r;
    }
    return 0;
}

int io_copy(const struct store_io *io, int from, off_t at, off_t end, int to)
{
    char *chunk = xcalloc(1, COPY_BYTES);
    int r = 0;
    while (r == 0 && at < end) {
        size_t want = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;
        ssize_t n = pread(from, chunk, want, at);
        if (n <= 0)
            r = n < 0 ? -errno : -EIO;
        else
            r = io_write(io, to, str_make(chunk, (size_t)n));
        at += n > 0 ? n : 0;
    }
    free(chunk);
    return r;
}

int io_sync_dir(const struct store_io *io, const char *path)
{
    int fd = io->open(io, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return fd;
    int r = io->sync_dir(io, fd);
    close(fd);
    return r;
}

/* The part of path before its last slash, as a heap string. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return str_dup(STR("."));
    return str_dup(str_make(path, slash == path ? 1 : (size_t)(slash - path)));
}

int io_sync_parent(const struct store_io *io, const char *path)
{
    char *dir = parent_of(path);
    int r = io_sync_dir(io, dir);
    free(dir);
    return r;
}

int io_mkdir_all(const struct store_io *io, const char *path)
{
    int r = io->mkdir(io, path, 0700);
    if (r == -ENOENT && strchr(path, '/')) {
        char *dir = parent_of(path);
        r = strcmp(dir, path) ? io_mkdir_all(io, dir) : r;
        free(dir);
        if (r == 0)
            r = io->mkdir(io, path, 0700);
    }
    struct stat st;
    if (r == -EEXIST)
        return stat(path, &st) == 0 && !S_ISDIR(st.st_mode) ? -ENOTDIR : 0;
    return r < 0 ? r : io_sync_parent(io, path);
}

static int remove_children(const struct store_io *io, const char *path, int depth)
{
    struct dir d = dir_open(path);
    int r = d.error;
    while (r == 0 && dir_next(&d)) {
        char child[PATH_MAX];
        bool fits = snprintf(child, sizeof(child), "%s/%s", path, d.name) < (int)sizeof(child);
        r = fits ? io_remove_tree(io, child, depth - 1) : -ENAMETOOLONG;
    }
    dir_close(&d);
    return r;
}

int io_remove_tree(const struct store_io *io, const char *path, int depth)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(st.st_mode)) {
        if (depth <= 0)
            return -ELOOP;
        int r = remove_children(io, path, depth);
        if (r < 0)
            return r;
    }
    int r = io->unlink(io, path);
    return r == -ENOENT ? 0 : r;
}
