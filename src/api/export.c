/* GET /v1/conversations/:id/export?format= - a conversation as a document. */
#include "store/export.h"

#include "api/internal.h"

/* An answer is built in memory; what is larger is exported from the terminal, piece by piece. */
#define EXPORT_BYTES_MAX (64u * 1024 * 1024)

struct export_request {
    struct api_wait *wait;
    enum export_format format;
    struct export_options options;
    struct export *export;
    struct buf body;
};

static void finish(struct export_request *q)
{
    export_close(q->export);
    buf_done(&q->body);
}

static void on_gone(struct http_req *r)
{
    struct api_wait *w = r->user;
    struct export_request *q = w->data;
    store_op_cancel(w->op);
    finish(q);
}

static str file_name(struct arena *a, str id, enum export_format f)
{
    return arena_printf(a, "attachment; filename=\"%.*s.%s\"", STR_ARG(id), export_suffix(f));
}

static void reply(struct export_request *q, const struct err *err)
{
    struct http_req *r = q->wait->req;
    if (err) {
        api_store_error(r, err);
    } else if (buf_failed(&q->body)) {
        http_reply_error(r, 413, "too_large",
                         "This conversation is too large for one answer. On the server's machine: "
                         "nb conversations export ID -o FILE",
                         NULL);
    } else {
        http_add_header(r, "Content-Disposition", file_name(&r->arena, q->wait->id, q->format));
        /* A document of foreign text, to be saved: it must not act as a page of ours. */
        http_add_header(r, "Content-Security-Policy",
                        STR("sandbox; default-src 'none'; style-src 'unsafe-inline'"));
        http_reply(r, 200, export_mime(q->format), buf_str(&q->body));
    }
}

static void on_piece(void *ctx, const struct err *err, str piece, bool is_last)
{
    struct export_request *q = ctx;
    if (!err)
        buf_add_str(&q->body, piece);
    if (!err && !buf_failed(&q->body) && !is_last) {
        export_next(q->export, on_piece, q);
        return;
    }
    struct export_request end = *q; /* the answer takes the request's arena along */
    reply(&end, err);
    finish(&end);
}

static void export_found(struct api_wait *w, const struct conv *c)
{
    struct export_request *q = w->data;
    q->export = export_open(w->space->store, w->id, q->format, &q->options);
    export_next(q->export, on_piece, q);
}

void api_conversations_export(void *ctx, struct http_req *r)
{
    struct export_request *q = ARENA_NEW(&r->arena, struct export_request);
    str format = http_query(r, "format");
    struct err e = {0};
    if (export_format_parse(format.n > 0 ? format : STR("markdown"), &q->format, &e) < 0) {
        err_prefix(&e, "format");
        http_reply_error(r, 400, "bad_request", e.msg, NULL);
        return;
    }
    q->options.without_tools = str_eq(http_query(r, "tools"), STR("false"));
    buf_init(&q->body, EXPORT_BYTES_MAX);
    q->wait = api_find_conv(ctx, r, CONV_VIEW, q, export_found);
    r->on_gone = on_gone;
}
