#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* A few bytes more than fit are formatted, so that the cut can see whether it would fall
 * inside a character. */
#define DRAFT_MAX (ERR_MAX + 4)

static void err_store(struct err *e, const char *draft)
{
    str s = utf8_truncate(str_from(draft), ERR_MAX - 1);
    memcpy(e->msg, s.p, s.n);
    e->msg[s.n] = '\0';
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    if (code >= 0) /* errno of a call that has not set it */
        code = -EIO;
    if (!e)
        return code;
    char draft[DRAFT_MAX];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(draft, sizeof(draft), fmt, ap);
    va_end(ap);
    e->code = code;
    err_store(e, draft);
    return code;
}

int err_errno(struct err *e, int code, const char *what, const char *path)
{
    if (!path)
        return err_set(e, code, "%s: %s", what, err_reason(code));
    return err_set(e, code, "%s %s: %s", what, path, err_reason(code));
}

void err_prefix(struct err *e, const char *fmt, ...)
{
    if (!e)
        return;
    char draft[DRAFT_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(draft, sizeof(draft), fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    size_t used = (size_t)n < sizeof(draft) ? (size_t)n : sizeof(draft) - 1;
    (void)snprintf(draft + used, sizeof(draft) - used, ": %s", e->msg);
    err_store(e, draft);
}

void err_clear(struct err *e)
{
    if (!e)
        return;
    e->code = 0;
    e->msg[0] = '\0';
}

static const struct {
    int code;
    const char *reason;
} REASONS[] = {
    {ENOENT, "no such file or directory"},
    {EACCES, "permission denied"},
    {EPERM, "operation not permitted"},
    {EEXIST, "already exists"},
    {ENOTDIR, "not a directory"},
    {EISDIR, "is a directory"},
    {ENOTEMPTY, "directory not empty"},
    {ENOSPC, "no space left on device"},
    {EDQUOT, "disk quota exceeded"},
    {EROFS, "the file system is read-only"},
    {EIO, "input/output error"},
    {EMFILE, "too many open files in this process"},
    {ENFILE, "too many open files on this machine"},
    {EFBIG, "too large"},
    {ENOBUFS, "larger than its limit"},
    {EINVAL, "not valid"},
    {ERANGE, "out of range"},
    {ETIMEDOUT, "timed out"},
    {ECONNREFUSED, "connection refused"},
    {ECONNRESET, "connection closed by the other side"},
    {EPIPE, "closed by the other side"},
    {EADDRINUSE, "address already in use"},
    {ECANCELED, "cancelled"},
    {ENOMEM, "not enough memory"},
};

const char *err_reason(int code)
{
    /* Not abs(): INT_MIN has no positive counterpart. */
    int positive = code < 0 && code > -4096 ? -code : code;
    for (size_t i = 0; i < ARRAY_LEN(REASONS); i++)
        if (REASONS[i].code == positive)
            return REASONS[i].reason;
    const char *text = positive > 0 ? strerrordesc_np(positive) : NULL;
    return text ? text : "unknown error";
}
