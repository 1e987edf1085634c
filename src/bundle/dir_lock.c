#include "bundle/dir_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#define RETRY_MS 10

static int lock_open(int fd, const char *path, int *ret_fd, struct err *e)
{
    if (fd < 0)
        return err_errno(e, -errno, "cannot open", path);
    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += RETRY_MS) {
        int code = -errno;
        if (code == -EWOULDBLOCK && waited < DIR_LOCK_WAIT_MS) {
            (void)usleep(RETRY_MS * 1000);
            continue;
        }
        close(fd);
        if (code != -EWOULDBLOCK)
            return err_errno(e, code, "cannot lock", path);
        return err_set(e, -EBUSY, "the files in %s are being changed by someone else", path);
    }
    *ret_fd = fd;
    return 0;
}

int dir_lock(const char *dir, int *ret_fd, struct err *e)
{
    return lock_open(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), dir, ret_fd, e);
}

int dir_lock_settings(const char *dir, int *ret_fd, struct err *e)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/" DIR_LOCK_SETTINGS, dir) >= sizeof path)
        return err_set(e, -ENAMETOOLONG, "%s is too long", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return lock_open(fd, path, ret_fd, e);
}
