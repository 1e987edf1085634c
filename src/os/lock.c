#include "os/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define RETRY_MS 5

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

void lock_close(int fd)
{
    if (fd < 0)
        return;
    (void)flock(fd, LOCK_UN);
    close(fd);
}

static int lock_opened(int fd, const char *path, int *ret_fd, struct err *e)
{
    if (fd < 0)
        return err_errno(e, -errno, "cannot open", path);
    int r = lock_wait(fd, LOCK_EX);
    if (r == 0) {
        *ret_fd = fd;
        return 0;
    }
    close(fd);
    if (r == -EBUSY)
        return err_set(e, r, "the files in %s are locked by another change; try again", path);
    return err_errno(e, r, "cannot lock", path);
}

int dir_lock(const char *dir, int *ret_fd, struct err *e)
{
    return lock_opened(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), dir, ret_fd, e);
}

int dir_lock_settings(const char *dir, int *ret_fd, struct err *e)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/" DIR_LOCK_SETTINGS, dir) >= sizeof path)
        return err_set(e, -ENAMETOOLONG, "%s is too long", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return lock_opened(fd, path, ret_fd, e);
}
