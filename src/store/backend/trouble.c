/* trouble.c - failures of the disk: they are logged, and health checks see them (store_is_failing).
 * A missing conversation or an invalid argument is not trouble. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/backend/backend.h"

#define TROUBLE_LOG_MS 60000 /* between two log messages about the same error */
#define TROUBLE_TRY_MS 2000  /* between two attempts to write (store_try_again) */

static bool is_trouble(const struct store *s, int code)
{
    static const int CODES[] = {-EIO,    -ENOSPC, -EDQUOT,  -EACCES, -EMFILE,
                                -ENFILE, -ENOMEM, -ENOTDIR, -ESTALE, -EHOSTUNREACH};
    for (size_t i = 0; i < ARRAY_LEN(CODES); i++)
        if (code == CODES[i])
            return true;
    return code == -EROFS && !s->conf.read_only;
}

void trouble_check_dir(const struct store_conf *conf, struct err *e)
{
    struct stat st;
    if (e->code != -ENOENT || strcmp(conf->type, "jsonl") != 0 || conf->read_only)
        return;
    if (stat(conf->dir, &st) < 0 && errno == ENOENT)
        err_set(e, -EIO, "the directory of conversations is missing: %s", conf->dir);
}

static void *kind_of(const struct store_op *op)
{
    return (void *)(uintptr_t)op->answer;
}

static void answer_try(struct store_op *op)
{
    struct store_trouble *t = &op->store->trouble;
    if (!op->err.code) {
        t->kind = NULL;
    } else if (op->store->ops->probe) {
        t->kind = kind_of(op);
        t->code = op->err.code;
    }
}

void trouble_note(struct store_op *op)
{
    struct store *s = op->store;
    struct store_trouble *t = &s->trouble;
    if (op->answer == answer_try)
        return;
    if (!is_trouble(s, op->err.code)) {
        if (!op->err.code && t->kind == kind_of(op))
            t->kind = NULL;
        return;
    }
    uint64_t now = clock_mono_ms();
    bool is_new = t->code != op->err.code || now - t->logged_ms >= TROUBLE_LOG_MS;
    t->kind = kind_of(op);
    t->code = op->err.code;
    if (!is_new)
        return;
    t->logged_ms = now;
    log_error(s->env->log, "store", "%s", op->err.msg);
}

/* ---- trying again ---- */

static int write_page(int fd)
{
    static const char PAGE[4096];
    return write(fd, PAGE, sizeof PAGE) != sizeof PAGE || fsync(fd) < 0 ? -1 : 0;
}

static void try_to_write(struct store_op *op)
{
    const char *path = arena_printf(&op->arena, "%s/.try", op->store->conf.dir).p;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || write_page(fd) < 0)
        err_errno(&op->err, errno ? -errno : -EIO, "cannot write", path);
    if (fd >= 0) {
        close(fd);
        (void)unlink(path);
    }
}

void store_try_again(struct store *s)
{
    uint64_t now = clock_mono_ms();
    bool is_asked = s->trouble.kind || s->ops->probe;
    if (!is_asked || s->is_closing || now - s->trouble.tried_ms < TROUBLE_TRY_MS)
        return;
    s->trouble.tried_ms = now;
    op_run(op_new(s, STR_NONE, answer_try, NULL), s->ops->probe ? s->ops->probe : try_to_write);
}

bool store_is_failing(const struct store *s)
{
    return s->trouble.kind != NULL;
}

bool store_is_unreachable(const struct store *s)
{
    return s->trouble.kind && s->trouble.code == -EHOSTUNREACH;
}
