#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes/random.h"

int file_read_all(int fd, char *p, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t r = read(fd, p + got, n - got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -errno;
        if (r == 0)
            break;
        got += (size_t)r;
    }
    return got == n ? 0 : -EIO;
}

int file_write_all(int fd, str bytes)
{
    while (bytes.n > 0) {
        ssize_t w = write(fd, bytes.p, bytes.n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -errno;
        bytes = str_skip(bytes, (size_t)w);
    }
    return 0;
}

/* Files of /proc and /sys tell no size: what there is, up to the limit. */
static int read_unsized(int fd, struct arena *a, const char *path, size_t max_bytes, str *ret,
                        struct err *e)
{
    enum { CHUNK = 16 * 1024 };
    struct buf b;
    ssize_t n = 1;
    int r = 0;
    buf_init(&b, max_bytes + CHUNK);
    while (r == 0 && n > 0) {
        r = b.n > max_bytes ? -EFBIG : buf_reserve(&b, CHUNK);
        n = r == 0 ? read(fd, b.p + b.n, CHUNK) : 0;
        if (n < 0)
            r = -errno;
        else
            b.n += (size_t)n;
    }
    if (r < 0)
        err_errno(e, r, "cannot read", path);
    else
        *ret = arena_str(a, buf_str(&b));
    buf_done(&b);
    return r;
}

int file_read(struct arena *a, const char *path, size_t max_bytes, str *ret, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(e, -errno, "cannot read", path);

    int r = 0;
    struct stat st;
    if (fstat(fd, &st) < 0) {
        r = err_errno(e, -errno, "cannot read", path);
    } else if (!S_ISREG(st.st_mode)) {
        r = err_set(e, -EINVAL, "cannot read %s: it is not a regular file", path);
    } else if (st.st_size == 0) {
        r = read_unsized(fd, a, path, max_bytes, ret, e);
    } else if ((uint64_t)st.st_size > max_bytes) {
        r = err_set(e, -EFBIG, "cannot read %s: %lld bytes, the limit is %zu", path,
                    (long long)st.st_size, max_bytes);
    } else {
        char *p = arena_alloc(a, (size_t)st.st_size + 1);
        r = file_read_all(fd, p, (size_t)st.st_size);
        p[st.st_size] = 0;
        if (r < 0)
            err_errno(e, r, "cannot read", path);
        else
            *ret = str_make(p, (size_t)st.st_size);
    }
    close(fd);
    return r;
}

static int sync_parent(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) : 1;
    if (slash == path)
        n = 1;
    if (snprintf(dir, sizeof dir, "%.*s", n, slash ? path : ".") >= (int)sizeof dir)
        return -ENAMETOOLONG;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return r;
}

int file_write_atomic(const char *path, str bytes, unsigned mode, struct err *e)
{
    char tmp[PATH_MAX], tag[RANDOM_ID_MAX];
    random_id("tmp", tag);
    if (snprintf(tmp, sizeof tmp, "%s.%s", path, tag) >= (int)sizeof tmp)
        return err_set(e, -ENAMETOOLONG, "cannot write %s: the path is too long", path);

    int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
    if (fd < 0)
        return err_errno(e, -errno, "cannot write", path);
    int r = file_write_all(fd, bytes);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(tmp, path) < 0)
        r = -errno;
    if (r < 0)
        (void)unlink(tmp);
    else
        r = sync_parent(path);
    return r < 0 ? err_errno(e, r, "cannot write", path) : 0;
}

int file_make_dirs(const char *path, struct err *e)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part)
        return err_set(e, -ENAMETOOLONG,
                       "cannot create directory '%.64s': the path is empty or too long", path);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return err_errno(e, -errno, "cannot create directory", part);
    }
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set(e, -ENOTDIR,
                       "cannot create directory %s: the path exists and is not a directory", path);
    return 0;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

str file_head(const char *path, char *p, size_t max)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, p, max);
    file_close(fd);
    return (str){p, n > 0 ? (size_t)n : 0};
}

int file_put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int rc = fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
    file_close(fd);
    return rc;
}

void file_close(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

const char *file_own_program(struct arena *a)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    return n > 0 && (size_t)n < sizeof path ? arena_printf(a, "%.*s", (int)n, path).p
                                            : "/proc/self/exe";
}
