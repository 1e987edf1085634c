#include "bundle/dir_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define RETRY_MS 10

int dir_lock(const char *dir, int *ret_fd, struct err *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, -errno, "cannot open", dir);
    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += RETRY_MS) {
        int code = -errno;
        if (code == -EWOULDBLOCK && waited < DIR_LOCK_WAIT_MS) {
            (void)usleep(RETRY_MS * 1000);
            continue;
        }
        close(fd);
        if (code != -EWOULDBLOCK)
            return err_errno(e, code, "cannot lock", dir);
        return err_set(e, -EBUSY, "the files in %s are being changed by someone else", dir);
    }
    *ret_fd = fd;
    return 0;
}
