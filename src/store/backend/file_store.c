#include "store/backend/file_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int file_store_open_log(const char *path, uint64_t limit, off_t *ret_limit, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return err_set(e, -ENOENT, "no such conversation: %s does not exist", path);
    if (fd < 0 && errno == ELOOP)
        return err_set(e, -ELOOP, "cannot open %s: it is a symbolic link", path);
    if (fd < 0)
        return err_errno(e, -errno, "cannot open", path);
    struct stat st;
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r < 0)
        err_errno(e, r, "cannot read", path);
    else if (!S_ISREG(st.st_mode))
        r = err_set(e, -EISDIR, "cannot read %s: it is not a regular file", path);
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret_limit = (uint64_t)st.st_size < limit ? st.st_size : (off_t)limit;
    return fd;
}
