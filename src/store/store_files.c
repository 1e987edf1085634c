/* store_files.c - the files of a conversation as a list, and the search in files. */
#include <assert.h>

#include "attach/library.h"
#include "base/map.h"
#include "store/backend/backend.h"
#include "store/event/blobs.h"
#include "store/index/file_find.h"

/* ---- list ---- */

enum { LINE_FILES_MAX = 64 };

struct files_scan {
    struct store_op *op;
    struct map seen; /* id -> place in op->out.files, plus 1 */
    struct arena scratch;
    size_t cap;
};

static void keep_file(struct files_scan *f, const struct attached *one)
{
    struct store_op *op = f->op;
    struct arena *a = &op->arena;
    size_t at = (size_t)(uintptr_t)map_get(&f->seen, one->id);
    if (at == 0) {
        if (op->out.nfiles == STORE_FILES_MAX)
            return;
        ARENA_GROW(a, op->out.files, op->out.nfiles, f->cap);
        at = ++op->out.nfiles;
    }
    struct attached *to = &op->out.files[at - 1];
    *to = *one;
    to->id = arena_str(a, one->id);
    to->name = arena_str(a, one->name);
    map_put(&f->seen, to->id, (void *)(uintptr_t)at);
}

static bool on_files_line(void *ctx, str line, store_pos pos)
{
    struct files_scan *f = ctx;
    struct attached named[LINE_FILES_MAX];
    arena_reset(&f->scratch);
    size_t n = file_parts_read(&f->scratch, line, named, LINE_FILES_MAX);
    for (size_t i = 0; i < n; i++)
        keep_file(f, &named[i]);
    return true;
}

static int latest_first(const void *x, const void *y)
{
    int64_t a = ((const struct attached *)x)->at_ms, b = ((const struct attached *)y)->at_ms;
    return (a < b) - (a > b);
}

static void list_files_work(struct store_op *op)
{
    struct files_scan f = {.op = op};
    map_init(&f.seen);
    arena_init(&f.scratch);
    (void)op->store->ops->scan(op->store, op->id, on_files_line, &f, &op->err);
    if (op->out.nfiles > 1)
        qsort(op->out.files, op->out.nfiles, sizeof(op->out.files[0]), latest_first);
    arena_done(&f.scratch);
    map_done(&f.seen);
}

static void list_files_start(struct store_op *op)
{
    op_run(op, list_files_work);
}

static void answer_files(struct store_op *op)
{
    op->fn.files(op->ctx, op_err(op), op->out.files, op->err.code ? 0 : op->out.nfiles);
}

struct store_op *store_list_files(struct store *s, str id, store_files_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_files, ctx);
    op->fn.files = fn;
    if (op_check(op, false))
        op_start(op, list_files_start);
    return op;
}

/* ---- search ---- */

static void search_files_start(struct store_op *op)
{
    op_run(op, file_find);
}

static void answer_file_hits(struct store_op *op)
{
    op->fn.file_hits(op->ctx, op_err(op), op->err.code ? NULL : &op->out.file_hits);
}

struct store_op *store_search_files(struct store *s, const struct store_file_query *q,
                                    store_file_hits_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, q->conv_id, answer_file_hits, ctx);
    struct arena *a = &op->arena;
    assert(q->nconv <= q->n && (q->nconv == 0 || q->conv_id.n > 0));
    struct attached *files = arena_array(a, q->n, sizeof *files);
    for (size_t i = 0; i < q->n; i++) {
        files[i] = q->files[i];
        files[i].id = arena_str(a, q->files[i].id);
        files[i].name = arena_str(a, q->files[i].name);
        files[i].mime = arena_str(a, q->files[i].mime);
    }
    op->fn.file_hits = fn;
    op->in.file_query = *q;
    op->in.file_query.files = files;
    op->in.file_query.conv_id = op->id;
    op->in.file_query.text = arena_str(a, q->text);
    if (q->conv_id.n == 0)
        op_run(op, file_find);
    else if (op_check(op, false))
        op_start(op, search_files_start);
    return op;
}
