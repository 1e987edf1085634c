#include "workspace/dir_grant.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

#define ID_MAX 64

/* The path is written to logs, prompts and questions. */
static bool is_plain_path(str path)
{
    for (size_t i = 0; i < path.n; i++)
        if ((unsigned char)path.p[i] < 0x20 || path.p[i] == 0x7f)
            return false;
    return path.n > 0 && path.n <= DIR_GRANT_PATH_MAX && path.p[0] == '/' && utf8_valid(path);
}

static int directory_id(const char *path, char ret[ID_MAX])
{
    struct statx st;
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0 ? -errno : 0;
    close(fd);
    if (r < 0)
        return r;
    /* File systems reuse the inode number of a removed directory: the time of birth differs. */
    uint64_t born_ns = st.stx_mask & STATX_BTIME
                           ? (uint64_t)st.stx_btime.tv_sec * 1000000000u + st.stx_btime.tv_nsec
                           : 0;
    snprintf(ret, ID_MAX, "%x:%x:%llx:%llx", st.stx_dev_major, st.stx_dev_minor,
             (unsigned long long)st.stx_ino, (unsigned long long)born_ns);
    return 0;
}

int dir_grant_of(struct arena *a, const char *path, struct dir_grant *ret, struct err *e)
{
    char real[PATH_MAX], id[ID_MAX];
    if (!realpath(path, real))
        return err_set(e, -errno, "%s cannot be used: %s", path, err_reason(-errno));
    if (!is_plain_path(str_from(real)))
        return err_set(
            e, -EINVAL,
            "the path of this directory is too long, is not valid UTF-8 or has control characters");
    int r = directory_id(real, id);
    if (r < 0)
        return err_set(e, r, "%s cannot be used: %s", real, err_reason(r));
    *ret = (struct dir_grant){arena_str(a, str_from(real)), arena_str(a, str_from(id))};
    return 0;
}

int dir_grant_check(const struct dir_grant *g, struct err *e)
{
    char path[DIR_GRANT_PATH_MAX + 1], real[PATH_MAX], id[ID_MAX];
    if (!is_plain_path(g->path))
        return err_set(e, -EINVAL, "workingDirectory.path: expected an absolute path");
    snprintf(path, sizeof path, "%.*s", STR_ARG(g->path));
    if (!realpath(path, real))
        return err_set(e, -errno, "The directory %s cannot be used: %s.", path, err_reason(-errno));
    if (strcmp(path, real) != 0)
        return err_set(
            e, -ESTALE,
            "The directory %s cannot be used: its path contains a symbolic link or \"..\".", path);
    int r = directory_id(path, id);
    if (r < 0)
        return err_set(e, r, "The directory %s cannot be used: %s.", path, err_reason(r));
    if (!str_eq(g->id, str_from(id)))
        return err_set(e, -ESTALE,
                       "The directory %s is no longer the directory that the terminal was in.",
                       path);
    if (access(path, R_OK | X_OK) < 0)
        return err_set(e, -EACCES, "The server cannot read the directory %s.", path);
    return 0;
}

bool dir_grant_same(const struct dir_grant *x, const struct dir_grant *y)
{
    return str_eq(x->path, y->path) && str_eq(x->id, y->id);
}
