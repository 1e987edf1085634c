#include "runtime/others/ask.h"

#include "runtime/turn/turn.h"
#include "store/others.h"

enum { REPLY_MAX = 16 * 1024, CODE_MAX = 4095 };

struct others_ask {
    struct store_ask *ask;
    others_fn fn;
    void *ctx;
};

static void on_reply(void *ctx, const struct err *err, const struct json *reply)
{
    struct others_ask *q = ctx;
    struct err e = {0};
    int64_t code = json_get_int(reply, "code", 0);
    if (err)
        e = *err;
    else if (code < 0 && code >= -CODE_MAX)
        err_set(&e, (int)code, "%.*s", STR_ARG(json_get_string(reply, "message")));
    others_fn fn = q->fn;
    void *fn_ctx = q->ctx;
    free(q);
    fn(fn_ctx, e.code < 0 ? &e : NULL);
}

void others_begin(struct json_writer *w, struct buf *b, const char *what)
{
    jw_start(w, b, QUEUE_FILE_MAX);
    jw_object(w);
    jw_kcstr(w, "do", what);
}

struct others_ask *others_ask(struct runtime *rt, str conversation_id, struct json_writer *w,
                              struct buf *b, others_fn fn, void *ctx)
{
    struct others_ask *q = xcalloc(1, sizeof *q);
    q->fn = fn;
    q->ctx = ctx;
    jw_end(w);
    q->ask = store_ask_others(rt->deps.store, conversation_id, buf_str(b), on_reply, q);
    buf_done(b);
    return q;
}

void others_ask_cancel(struct others_ask *q)
{
    if (!q)
        return;
    store_ask_cancel(q->ask);
    free(q);
}

void others_reply(struct runtime *rt, str ask_id, const struct err *err)
{
    struct json_writer w;
    struct buf b;
    jw_start(&w, &b, REPLY_MAX);
    jw_object(&w);
    jw_kint(&w, "code", err ? err->code : 0);
    jw_kstr(&w, "message", err ? str_from(err->msg) : STR(""));
    jw_end(&w);
    store_reply(rt->deps.store, ask_id, buf_str(&b));
    buf_done(&b);
}
