#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/file.h"
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

int folder_state_write(const char *root, const char *name, const struct json *v, struct err *e)
{
    struct arena a;
    struct buf b;
    const char *path = NULL;
    arena_init(&a);
    buf_init(&b, FOLDER_STATE_MAX);
    int r = state_path(&a, root, name, &path, e);
    if (r == 0 && (json_write_pretty(&b, v) < 0 || buf_add_char(&b, '\n') < 0))
        r = err_set(e, -E2BIG, "state/%s.json is too large", name);
    if (r == 0)
        r = file_make_dirs(arena_printf(&a, "%s/state", root).p, e);
    if (r == 0)
        r = file_write_atomic(path, buf_str(&b), 0600, e);
    buf_done(&b);
    arena_done(&a);
    return r;
}
