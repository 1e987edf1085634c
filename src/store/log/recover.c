#include "store/log/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/event/lines.h"

/* Copies first, truncates second: after a crash in between the bytes exist twice and are not
 * lost. */
static int move_to_torn(const struct store_io *io, int fd, const char *path, off_t start, off_t end)
{
    char torn[PATH_MAX];
    if (snprintf(torn, sizeof(torn), "%s.torn", path) >= (int)sizeof(torn))
        return -ENAMETOOLONG;
    int to = io->open(io, torn, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (to < 0)
        return to;
    int r = io_copy(io, fd, start, end, to);
    if (r == 0)
        r = io_write(io, to, STR("\n"));
    if (r == 0)
        r = io->sync(io, to);
    close(to);
    if (r == 0)
        r = io_sync_parent(io, torn);
    return r < 0 ? r : io->truncate(io, fd, start);
}

int recover_tail(const struct store_io *io, int fd, const char *path, struct recovery *ret,
                 struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_errno(e, -errno, "cannot read the size of", path);
    *ret = (struct recovery){.length = st.st_size};
    off_t start;
    int r = lines_last_start(fd, st.st_size, &start);
    if (r < 0)
        return err_errno(e, r, "cannot read the end of", path);
    if (start == st.st_size && start > 0)
        return 0;
    struct arena a;
    str tail;
    arena_init(&a);
    r = lines_unended(&a, fd, start, st.st_size, &tail);
    arena_done(&a);
    if (r < 0)
        return err_errno(e, r, "cannot read the end of", path);
    /* An incomplete line 1 stays in place, so that events behind it do not become line 1. */
    if (r > 0 || start == 0) {
        r = io_write(io, fd, STR("\n"));
        if (r < 0)
            return err_errno(e, r, "cannot add the missing line feed to", path);
        ret->length = st.st_size + 1;
        ret->was_terminated = true;
        return 0;
    }
    r = move_to_torn(io, fd, path, start, st.st_size);
    if (r < 0)
        return err_errno(e, r, "cannot save the incomplete last line of", path);
    ret->length = start;
    ret->torn_bytes = st.st_size - start;
    return 0;
}
