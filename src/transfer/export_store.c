/* export_store.c - feeds an exporter from a store, one page per call.
 *
 * Notes that other programs wrote into a folder are not among its events: they are read at the end,
 * and added if they were not exported before. */
#include <assert.h>

#include "base/map.h"
#include "store/backend/backend.h"
#include "store/folder/folder_record.h"
#include "transfer/export.h"

enum { PAGE_EVENTS = 256, PAGE_BYTES = 128 * 1024, PIECE_MAX = 512 * 1024 * 1024 };

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
    struct map notes; /* keys of those among the events; folder stores only */
    struct buf piece;
    export_piece_fn fn;
    void *ctx;
    struct deed *deed;
};

static int gather(void *ctx, str piece)
{
    struct export *x = ctx;
    return buf_add_str(&x->piece, piece);
}

struct export *export_open(struct store *s, str id, enum export_format f,
                           const struct export_options *opt, const struct doer *by)
{
    struct export *x = xcalloc(1, sizeof(*x));
    x->store = s;
    arena_init(&x->arena);
    x->id = arena_str(&x->arena, id);
    x->format = f;
    if (opt)
        x->opt = *opt;
    if (x->opt.file_base)
        x->opt.file_base = arena_cstr(&x->arena, str_from(x->opt.file_base));
    buf_init(&x->piece, PIECE_MAX);
    map_init(&x->notes);
    x->deed = deed_begin(s->env->audit, by, STR("conversation.export"), id);
    return x;
}

static bool has_notes_elsewhere(const struct export *x)
{
    return strcmp(store_conf(x->store)->type, "folder") == 0;
}

static void export_fail(struct export *x, const struct err *err)
{
    deed_end(x->deed, err);
    x->deed = NULL;
    x->fn(x->ctx, err, STR_NONE, true);
}

/* The pending store call has ended. False: it failed, and the export with it. */
static bool export_step(struct export *x, const struct err *err)
{
    assert(x->op);
    x->op = NULL;
    if (err)
        export_fail(x, err);
    return !err;
}

static void hand_out(struct export *x, int r, bool is_last)
{
    struct err e = {0};
    assert(!x->op && x->exporter);
    if (r == 0 && is_last)
        r = exporter_end(x->exporter);
    if (r < 0) {
        err_set(&e, r, "a page of the conversation is too large to export");
        export_fail(x, &e);
    } else {
        x->fn(x->ctx, NULL, buf_str(&x->piece), is_last);
    }
}

static void remember_note(struct export *x, str line)
{
    struct event_head head;
    struct arena a;
    char key[SHA256_HEX_LEN + 1];
    if (!has_notes_elsewhere(x) || !event_scan(line, &head) || head.type != EV_NOTE)
        return;
    arena_init(&a);
    folder_note_key(&a, line, key);
    map_put(&x->notes, str_from(key), x);
    arena_done(&a);
}

static int export_add_note(struct export *x, const struct store_note *note)
{
    struct arena a;
    char key[SHA256_HEX_LEN + 1];
    arena_init(&a);
    struct json *v = json_new(&a, JSON_OBJECT);
    json_set(&a, v, STR("ts"), json_of_str(note->ts));
    json_set(&a, v, STR("type"), json_of_str(STR("note")));
    json_set(&a, v, STR("author"), json_of_str(note->author));
    json_set(&a, v, STR("content"), json_of_str(note->text));
    str line = json_to_str(&a, v);
    folder_note_key(&a, line, key);
    int r = map_get(&x->notes, str_from(key)) ? 0 : exporter_event(x->exporter, line);
    arena_done(&a);
    return r;
}

static void on_notes(void *ctx, const struct err *err, const struct store_note *notes, size_t n)
{
    struct export *x = ctx;
    int r = 0;
    if (!export_step(x, err))
        return;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = export_add_note(x, &notes[i]);
    hand_out(x, r, true);
}

static void on_export_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct export *x = ctx;
    if (!export_step(x, err))
        return;
    int r = 0;
    buf_reset(&x->piece);
    for (size_t i = 0; r == 0 && i < page->n; i++) {
        r = exporter_event(x->exporter, page->events[i].line);
        x->after = page->events[i].pos;
        remember_note(x, page->events[i].line);
    }
    bool is_last = page->reached_end || page->n == 0;
    if (r == 0 && is_last && has_notes_elsewhere(x))
        x->op = store_notes(x->store, x->id, on_notes, x);
    else
        hand_out(x, r, is_last);
}

static void export_read_page(struct export *x)
{
    struct store_range range = {.after = x->after,
                                .max_events = PAGE_EVENTS,
                                .max_bytes = PAGE_BYTES,
                                .with_blobs = true,
                                .with_files = x->format == EXPORT_HTML};
    x->op = store_read(x->store, x->id, &range, on_export_page, x);
}

static void on_conv(void *ctx, const struct err *err, const struct conv *conv)
{
    struct export *x = ctx;
    if (!export_step(x, err))
        return;
    x->exporter = exporter_new(x->format, conv_clone(&x->arena, conv), &x->opt, gather, x);
    export_read_page(x);
}

void export_next(struct export *x, export_piece_fn fn, void *ctx)
{
    assert(!x->op); /* one piece at a time */
    x->fn = fn;
    x->ctx = ctx;
    if (x->exporter)
        export_read_page(x);
    else
        x->op = store_get(x->store, x->id, on_conv, x);
}

void export_close(struct export *x)
{
    if (!x)
        return;
    store_op_cancel(x->op);
    deed_end(x->deed, NULL);
    exporter_free(x->exporter);
    buf_done(&x->piece);
    map_done(&x->notes);
    arena_done(&x->arena);
    free(x);
}
