/* export_store.c - feeds an exporter from a store, one page per call. */
#include <errno.h>

#include "store/derive.h"
#include "store/export.h"

enum { PAGE_EVENTS = 256, PAGE_BYTES = 1024 * 1024, PIECE_MAX = 512 * 1024 * 1024 };

struct export
{
    struct store *store;
    struct arena arena; /* the id and the conversation */
    str id;
    enum export_format format;
    struct export_options opt;
    struct exporter *exporter; /* NULL until the conversation is known */
    struct store_op *op;
    store_pos after;
    struct buf piece;
    export_piece_fn fn;
    void *ctx;
};

static int gather(void *ctx, str piece)
{
    struct export *x = ctx;
    return buf_add_str(&x->piece, piece);
}

struct export *export_open(struct store *s, str id, enum export_format f,
                           const struct export_options *opt)
{
    struct export *x = xcalloc(1, sizeof(*x));
    x->store = s;
    arena_init(&x->arena);
    x->id = arena_str(&x->arena, id);
    x->format = f;
    if (opt)
        x->opt = *opt;
    buf_init(&x->piece, PIECE_MAX);
    return x;
}

static void fail(struct export *x, const struct err *err)
{
    x->fn(x->ctx, err, STR_NONE, true);
}

static void on_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct export *x = ctx;
    x->op = NULL;
    if (err) {
        fail(x, err);
        return;
    }
    int r = 0;
    buf_reset(&x->piece);
    for (size_t i = 0; r == 0 && i < page->n; i++) {
        r = exporter_event(x->exporter, page->events[i].line);
        x->after = page->events[i].pos;
    }
    bool is_last = page->reached_end || page->n == 0;
    if (r == 0 && is_last)
        r = exporter_end(x->exporter);
    struct err e = {0};
    if (r < 0) {
        err_set(&e, r, "a page of the conversation is too large to export");
        fail(x, &e);
    } else {
        x->fn(x->ctx, NULL, buf_str(&x->piece), is_last);
    }
}

static void read_page(struct export *x)
{
    struct store_range range = {
        .after = x->after, .max_events = PAGE_EVENTS, .max_bytes = PAGE_BYTES, .with_blobs = true};
    x->op = store_read(x->store, x->id, &range, on_page, x);
}

static void on_conv(void *ctx, const struct err *err, const struct conv *conv)
{
    struct export *x = ctx;
    x->op = NULL;
    if (err) {
        fail(x, err);
        return;
    }
    x->exporter = exporter_new(x->format, conv_clone(&x->arena, conv), &x->opt, gather, x);
    read_page(x);
}

void export_next(struct export *x, export_piece_fn fn, void *ctx)
{
    x->fn = fn;
    x->ctx = ctx;
    if (x->exporter)
        read_page(x);
    else
        x->op = store_get(x->store, x->id, on_conv, x);
}

void export_close(struct export *x)
{
    if (!x)
        return;
    store_op_cancel(x->op);
    exporter_free(x->exporter);
    buf_done(&x->piece);
    arena_done(&x->arena);
    free(x);
}
