#include "workspace/roster/roster_lock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <unistd.h>

#include "os/file.h"
#include "os/lock.h"

#define NAME       "directory.lock"
#define MARK_CHARS 20

int roster_lock_path(char *ret, size_t size, const char *work_dir, bool create, struct err *e)
{
    if (snprintf(ret, size, "%s/" NAME, work_dir) >= (int)size)
        return err_set(e, -ENAMETOOLONG, "the path of the work directory is too long");
    if (!create)
        return 0;
    int fd = open(ret, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, -errno, "cannot create", ret);
    close(fd);
    return 0;
}

int roster_lock_take(struct roster_lock *ret, const char *work_dir, bool is_exclusive,
                     struct err *e)
{
    char path[PATH_MAX];
    int r = is_exclusive ? file_make_dirs(work_dir, e) : 0;
    if (r == 0)
        r = roster_lock_path(path, sizeof path, work_dir, is_exclusive, e);
    if (r < 0)
        return r;
    int fd = open(path, (is_exclusive ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && !is_exclusive) {
        ret->fd = -1;
        return 0;
    }
    if (fd < 0)
        return err_errno(e, -errno, "cannot open", path);
    r = lock_wait(fd, is_exclusive ? LOCK_EX : LOCK_SH);
    if (r < 0) {
        close(fd);
        return r == -EBUSY ? err_set(e, r, "%s is locked by another process; try again", path)
                           : err_errno(e, r, "cannot lock", path);
    }
    ret->fd = fd;
    return 0;
}

void roster_lock_drop(struct roster_lock *l)
{
    lock_close(l->fd);
    l->fd = -1;
}

uint64_t roster_lock_mark(const struct roster_lock *l)
{
    char text[MARK_CHARS];
    uint64_t mark = 0;
    ssize_t n = l->fd >= 0 ? pread(l->fd, text, sizeof text, 0) : 0;
    if (n > 0)
        (void)parse_u64(str_trim(str_make(text, (size_t)n)), &mark);
    return mark;
}

int roster_lock_set_mark(struct roster_lock *l, struct err *e)
{
    assert(l->fd >= 0);
    char text[MARK_CHARS + 1];
    int n = snprintf(text, sizeof text, "%llu\n", (unsigned long long)roster_lock_mark(l) + 1);
    if (pwrite(l->fd, text, (size_t)n, 0) != n)
        return err_errno(e, errno ? -errno : -EIO, "cannot write", NAME);
    return 0;
}
