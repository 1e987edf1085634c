/* GET /v1/conversations/:id/export?format= - a conversation as a document. */
#include "transfer/export.h"

#include <assert.h>

#include "api/admit.h"
#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/trail.h"
#include "http/stream.h"

/* Exports in progress at the same time. Each keeps one page of its conversation in memory. */
#define EXPORTS_MAX      64u
#define EXPORTS_USER_MAX 4u

/* The first piece decides between a document and an error. After it the request is freed and the
 * document continues alone, as fast as the client reads. */
struct export_request {
    struct api *api;
    struct api_space *space; /* held */
    struct actor *actor;     /* held */
    struct store_op *look;   /* a check of the right to see it, before each piece */
    char *id;
    enum export_format format;
    struct export *export;
    struct http_req *req;       /* until the first piece */
    struct http_stream *stream; /* after the first piece */
    struct buf first;           /* the first piece, until it is sent */
    bool has_all;               /* the last piece was produced */
};

struct export_wish {
    enum export_format format;
    struct export_options options;
    struct export_request *made;
};

static bool begin_export(struct api *api, struct http_req *r)
{
    bool is_operator = actor_is_operator(api_actor(r));
    if ((is_operator || api->exporting.total < EXPORTS_MAX) &&
        counts_begin(&api->exporting, api_user(r), is_operator ? SIZE_MAX : EXPORTS_USER_MAX))
        return true;
    http_add_header(r, "Retry-After", STR("1"));
    http_reply_error(
        r, 429, "rate_limited",
        "Too many exports are in progress. Wait for one of them to finish and try again.", NULL);
    return false;
}

static void export_finish(struct export_request *q)
{
    store_op_cancel(q->look);
    export_close(q->export);
    counts_end(&q->api->exporting, actor_user(q->actor));
    actor_unref(q->actor);
    api_release(q->api, q->space);
    buf_done(&q->first);
    free(q->id);
    free(q);
}

static void on_export_gone(struct http_req *r)
{
    struct api_wait *w = r->user;
    struct export_wish *wish = w->data;
    store_op_cancel(w->op);
    if (wish->made)
        export_finish(wish->made);
}

static void on_close(void *ctx)
{
    export_finish(ctx);
}

/* ---- pieces ---- */

static void on_piece(void *ctx, const struct err *err, str piece, bool is_last)
{
    struct export_request *q = ctx;
    assert(q->stream && !q->has_all);
    q->has_all = is_last;
    if (err)
        http_stream_fail(q->stream);
    else
        http_stream_write(q->stream, piece);
}

/* A client may read for hours: when the person may no longer see the conversation, no further piece
 * is sent. */
static void on_export_looked(void *ctx, const struct err *err, const struct conv *c)
{
    struct export_request *q = ctx;
    q->look = NULL;
    if (err || !admit_is_current(q->api, q->actor) || !actor_allows(q->actor, &c->acl, CONV_VIEW))
        http_stream_fail(q->stream);
    else
        export_next(q->export, on_piece, q);
}

static void produce(void *ctx)
{
    struct export_request *q = ctx;
    struct buf first = q->first;
    assert(q->stream && !q->look);
    q->first = (struct buf){0};
    if (first.n > 0)
        http_stream_write(q->stream, buf_str(&first));
    else if (q->has_all)
        http_stream_end(q->stream);
    else
        q->look = store_get(q->space->store, str_from(q->id), on_export_looked, q);
    buf_done(&first);
}

static str file_name(const struct export_request *q)
{
    return arena_printf(&q->req->arena, "attachment; filename=\"%s.%s\"", q->id,
                        export_suffix(q->format));
}

static void on_first(void *ctx, const struct err *err, str piece, bool is_last)
{
    struct export_request *q = ctx;
    struct http_req *r = q->req;
    assert(r && !q->stream);
    if (err) {
        r->on_gone = NULL;
        api_fail(r, FROM_STORE, err);
        export_finish(q);
        return;
    }
    buf_init(&q->first, piece.n + 1);
    (void)buf_add_str(&q->first, piece);
    q->has_all = is_last;
    http_add_header(r, "Content-Disposition", file_name(q));
    /* The document contains foreign text and is meant to be saved: it must not run as a page of
     * this server. */
    http_add_header(r, "Content-Security-Policy",
                    STR("sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"));
    q->req = NULL;
    const struct http_stream_maker maker = {produce, on_close, q};
    q->stream = http_stream_open(r, export_mime(q->format), &maker);
}

/* ---- the request ---- */

static void export_found(struct api_wait *w, const struct conv *c)
{
    struct export_wish *wish = w->data;
    assert(!wish->made);
    if (!begin_export(w->api, w->req))
        return;
    struct export_request *q = wish->made = xcalloc(1, sizeof *q);
    q->api = w->api;
    q->space = api_hold(w->api, w->space);
    q->actor = actor_ref(api_actor(w->req));
    q->id = str_dup(w->id);
    q->format = wish->format;
    q->req = w->req;
    if (q->format == EXPORT_MARKDOWN) /* HTML has the pictures in it, and links to nothing */
        wish->options.file_base =
            arena_printf(&w->req->arena, "/v1/conversations/%.*s/files/file_", STR_ARG(w->id)).p;
    q->export =
        export_open(w->space->store, w->id, q->format, &wish->options, trail_doer(w->api, w->req));
    export_next(q->export, on_first, q);
}

void api_conversations_export(void *ctx, struct http_req *r)
{
    struct export_wish *wish = ARENA_NEW(&r->arena, struct export_wish);
    str format = api_query(r, "format");
    struct err e = {0};
    if (export_format_parse(format.n > 0 ? format : STR("markdown"), &wish->format, &e) < 0) {
        err_prefix(&e, "format");
        api_bad_request(r, e.msg);
        return;
    }
    bool has_tools;
    if (!api_query_flag(r, "tools", true, &has_tools) ||
        !api_query_flag(r, "thoughts", false, &wish->options.with_reasoning))
        return;
    wish->options.without_tools = !has_tools;
    (void)api_find_conv(ctx, r, wish, export_found);
    r->on_gone = on_export_gone;
}
