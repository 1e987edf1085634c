#include "workspace/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "config/file.h"

#define NAME       "directory.lock"
#define RETRY_MS   5
#define MARK_CHARS 20

int lock_path(char *ret, size_t size, const char *work_dir, bool create, struct err *e)
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

/* flock has no time limit of its own. */
int lock_wait(int fd, int how)
{
    uint64_t deadline = clock_mono_ms() + LOCK_WAIT_MS;
    while (flock(fd, how | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        if (clock_mono_ms() >= deadline)
            return -EBUSY;
        struct timespec pause = {.tv_nsec = RETRY_MS * 1000 * 1000};
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

int lock_take(struct lock *ret, const char *work_dir, bool is_exclusive, struct err *e)
{
    char path[PATH_MAX];
    int r = is_exclusive ? file_make_dirs(work_dir, e) : 0;
    if (r == 0)
        r = lock_path(path, sizeof path, work_dir, is_exclusive, e);
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
        return r == -EBUSY ? err_set(e, r, "%s is held by another process; try again", path)
                           : err_errno(e, r, "cannot lock", path);
    }
    ret->fd = fd;
    return 0;
}

void lock_drop(struct lock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

uint64_t lock_mark(const struct lock *l)
{
    char text[MARK_CHARS];
    uint64_t mark = 0;
    ssize_t n = l->fd >= 0 ? pread(l->fd, text, sizeof text, 0) : 0;
    if (n > 0)
        (void)parse_u64(str_trim(str_make(text, (size_t)n)), &mark);
    return mark;
}

int lock_set_mark(struct lock *l, struct err *e)
{
    char text[MARK_CHARS + 1];
    int n = snprintf(text, sizeof text, "%llu\n", (unsigned long long)lock_mark(l) + 1);
    if (pwrite(l->fd, text, (size_t)n, 0) != n)
        return err_errno(e, errno ? -errno : -EIO, "cannot write", NAME);
    return 0;
}
