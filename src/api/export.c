/* GET /v1/conversations/:id/export?format= - a conversation as a document. */
#include "store/export.h"

#include "api/internal.h"
#include "api/trail.h"

/* An answer is built in memory; what is larger is exported from the terminal, piece by piece. */
#define EXPORT_BYTES_MAX (64u * 1024 * 1024)
/* Documents being built at the same time: what is built and not read yet is limited by http. */
#define EXPORTS_MAX      16u
#define EXPORTS_USER_MAX 2u

struct export_request {
    struct api *api;
    char *user_id; /* who asked */
    struct api_wait *wait;
    enum export_format format;
    struct export_options options;
    struct export *export;
    struct buf body;
};

static str user_of(const struct http_req *r)
{
    return api_identity(r)->who.user_id;
}

static bool begin_export(struct api *api, struct http_req *r)
{
    size_t *n = map_get(&api->exporting, user_of(r));
    bool is_operator = api_identity(r)->is_operator;
    if (!is_operator && (api->nexports >= EXPORTS_MAX || (n && *n >= EXPORTS_USER_MAX))) {
        http_add_header(r, "Retry-After", STR("1"));
        http_reply_error(r, 429, "rate_limited",
                         "Too many exports are being made. Wait for one of them and try again.",
                         NULL);
        return false;
    }
    if (!n) {
        n = xcalloc(1, sizeof *n);
        map_put(&api->exporting, user_of(r), n);
    }
    ++*n;
    api->nexports++;
    return true;
}

static void end_export(struct api *api, str user_id)
{
    size_t *n = map_get(&api->exporting, user_id);
    api->nexports--;
    if (!n || --*n > 0)
        return;
    map_del(&api->exporting, user_id);
    free(n);
}

static void finish(struct export_request *q)
{
    if (q->user_id)
        end_export(q->api, str_from(q->user_id));
    free(q->user_id);
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
    if (!begin_export(w->api, w->req))
        return;
    q->api = w->api;
    q->user_id = str_dup(user_of(w->req));
    q->export =
        export_open(w->space->store, w->id, q->format, &q->options, trail_doer(w->api, w->req));
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
    q->wait = api_find_conv(ctx, r, q, export_found);
    r->on_gone = on_gone;
}
