#include "store/trouble.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"

static bool is_trouble(const struct store *s, int code)
{
    static const int CODES[] = {-EIO,    -ENOSPC, -EDQUOT,  -EACCES, -EMFILE,
                                -ENFILE, -ENOMEM, -ENOTDIR, -ESTALE};
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
        err_set(e, -EIO, "the directory of the conversations is missing: %s", conf->dir);
}

static void *kind_of(const struct store_op *op)
{
    return (void *)(uintptr_t)op->answer;
}

void trouble_note(struct store_op *op)
{
    struct store *s = op->store;
    struct store_trouble *t = &s->trouble;
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

bool store_is_failing(const struct store *s)
{
    return s->trouble.kind != NULL;
}
