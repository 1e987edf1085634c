#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "store/event/io.h"
#include "store/folder/folder.h"
#include "store/folder/folder_record.h"

enum { SESSION_TRIES = 1000, STATE_NAME_MAX = 64 };

/* sessions/2026-03-26T01-32-20-418Z; a taken one gets -2, -3 ... */
static int make_session(struct arena *a, const char *root, int64_t now_ms, const char **ret,
                        struct err *e)
{
    const struct store_io *io = &store_io_system;
    const char *sessions = arena_printf(a, "%s/sessions", root).p;
    str stamp = str_skip(folder_name(a, now_ms, STR_NONE), sizeof("conversation-") - 1);
    stamp.n--; /* the dash before the thread */
    int r = io_mkdir_all(io, sessions);
    for (int i = 1; r == 0 && i <= SESSION_TRIES; i++) {
        *ret = i == 1 ? arena_printf(a, "%s/%.*s", sessions, STR_ARG(stamp)).p
                      : arena_printf(a, "%s/%.*s-%d", sessions, STR_ARG(stamp), i).p;
        r = io->mkdir(io, *ret, 0700);
        if (r == 0)
            return 0;
        r = r == -EEXIST ? 0 : r;
    }
    return err_errno(e, r ? r : -EEXIST, "cannot make a session in", sessions);
}

int folder_session_open(const char *root, int64_t now_ms, int *ret_fd, struct err *e)
{
    struct arena a;
    const char *dir = NULL;
    arena_init(&a);
    int r = make_session(&a, root, now_ms, &dir, e);
    if (r == 0) {
        const char *path = arena_printf(&a, "%s/system.log", dir).p;
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0)
            r = err_errno(e, -errno, "cannot open", path);
        else
            *ret_fd = fd;
    }
    arena_done(&a);
    return r;
}

static int state_path(struct arena *a, const char *root, const char *name, const char **ret,
                      struct err *e)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    if (n == 0 || n > STATE_NAME_MAX || name[n])
        return err_set(e, -EINVAL, "\"%s\" is not a valid state name (a-z, 0-9, _ and -)", name);
    *ret = arena_printf(a, "%s/state/%s.json", root, name).p;
    return 0;
}

static int write_new(const struct store_io *io, const char *path, str bytes)
{
    int fd = io->open(io, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    int r = io_write(io, fd, bytes);
    if (r == 0)
        r = io->sync(io, fd);
    close(fd);
    return r;
}

static int replace_state(struct arena *a, const char *root, const char *path, str bytes)
{
    const struct store_io *io = &store_io_system;
    char unique[RANDOM_ID_MAX];
    random_id("new", unique);
    const char *temp = arena_printf(a, "%s.%s", path, unique).p;
    int r = io_mkdir_all(io, arena_printf(a, "%s/state", root).p);
    if (r == 0)
        r = write_new(io, temp, bytes);
    if (r == 0)
        r = io->rename(io, temp, path);
    if (r == 0)
        return io_sync_parent(io, path);
    (void)io->unlink(io, temp);
    return r;
}

int folder_state_write(const char *root, const char *name, const struct json *v, struct err *e)
{
    struct arena a;
    struct buf b;
    const char *path;
    arena_init(&a);
    buf_init(&b, FOLDER_STATE_MAX);
    int r = state_path(&a, root, name, &path, e);
    if (r == 0 && (json_write_pretty(&b, v) < 0 || buf_add_char(&b, '\n') < 0))
        r = err_set(e, -E2BIG, "state/%s.json is too large", name);
    else if (r == 0 && (r = replace_state(&a, root, path, buf_str(&b))) < 0)
        err_errno(e, r, "cannot write", path);
    buf_done(&b);
    arena_done(&a);
    return r;
}

int folder_state_read(struct arena *a, const char *root, const char *name, struct json **ret,
                      struct err *e)
{
    const char *path;
    int r = state_path(a, root, name, &path, e);
    if (r < 0)
        return r;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(e, -errno, "cannot read", path);
    char *p = arena_alloc(a, FOLDER_STATE_MAX + 1);
    size_t n = 0;
    ssize_t got;
    while ((got = read(fd, p + n, FOLDER_STATE_MAX + 1 - n)) > 0)
        n += (size_t)got;
    r = got < 0 ? -errno : n > FOLDER_STATE_MAX ? -EFBIG : 0;
    close(fd);
    if (r < 0)
        return err_errno(e, r, "cannot read", path);
    r = json_parse(a, str_make(p, n), 0, ret, e);
    if (r < 0)
        err_prefix(e, "%s", path);
    return r;
}
