#include "cli/conversations/export_elsewhere.h"

#include <errno.h>

#define REFUSAL_MAX (64u * 1024)

struct elsewhere {
    FILE *out;
    int status;
    struct buf refusal; /* the body of an answer that is not a document */
    struct err err;
    bool is_done;
};

static void on_elsewhere_head(void *ctx, int status, const struct fetch_header *h, size_t n)
{
    ((struct elsewhere *)ctx)->status = status;
}

static void on_elsewhere_data(void *ctx, str bytes)
{
    struct elsewhere *k = ctx;
    if (k->status != 200)
        (void)buf_add_str(&k->refusal, bytes);
    else if (!k->err.code && fwrite(bytes.p, 1, bytes.n, k->out) != bytes.n)
        err_errno(&k->err, errno ? -errno : -EIO, "cannot write", "the document");
}

static void on_elsewhere_done(void *ctx, const struct err *err)
{
    struct elsewhere *k = ctx;
    if (err->code && !k->err.code)
        k->err = *err;
    k->is_done = true;
}

int export_elsewhere(struct cmd *x, str path, FILE *out, struct err *e)
{
    static const struct fetch_events EVENTS = {on_elsewhere_head, on_elsewhere_data,
                                               on_elsewhere_done};
    struct client_ask q = {.path = path};
    struct elsewhere k = {.out = out};
    buf_init(&k.refusal, REFUSAL_MAX);
    (void)client_start(x->client, &q, 0, &EVENTS, &k);
    cmd_wait(x, &k.is_done);
    if (!k.err.code && k.status != 200)
        err_set(&k.err, k.status == 404 ? -ENOENT : -EIO, "%.*s",
                STR_ARG(client_message(x->client, &x->arena, k.status, buf_str(&k.refusal))));
    if (!k.err.code && fflush(out) != 0)
        err_errno(&k.err, -errno, "cannot write", "the document");
    buf_done(&k.refusal);
    *e = k.err;
    return k.err.code;
}
