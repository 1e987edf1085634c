/* store_read.c - the calls that only read: check and copy the arguments, call the backend, return
 * the result. */
#include <errno.h>
#include <unistd.h>

#include "attach/sniff.h"
#include "store/backend/backend.h"
#include "store/event/derive.h"
#include "store/event/listing.h"

void answer_blob(struct store_op *op)
{
    op->fn.blob(op->ctx, op_err(op), op->err.code ? STR_NONE : op->out.blob);
}

struct store_op *store_deleted_usage(struct store *s, uint64_t after, store_blob_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, STR_NONE, answer_blob, ctx);
    op->fn.blob = fn;
    op->in.range.after = after;
    op_run(op, ledger_read);
    return op;
}

bool store_counts_spending(const struct store *s)
{
    return s->ops->read_spending != NULL;
}

static void answer_spending(struct store_op *op)
{
    op->fn.spending(op->ctx, op_err(op), op->err.code ? NULL : &op->out.spending);
}

struct store_op *store_read_spending(struct store *s, str month, store_spending_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, STR_NONE, answer_spending, ctx);
    op->fn.spending = fn;
    op->in.text.text = arena_str(&op->arena, month);
    op_run(op, s->ops->read_spending);
    return op;
}

static void answer_queue(struct store_op *op)
{
    op->fn.queue(op->ctx, op_err(op), op->err.code ? NULL : &op->out.queue);
}

struct store_op *store_read_queue(struct store *s, str id, store_queue_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_queue, ctx);
    op->fn.queue = fn;
    if (op_check(op, false))
        op_run(op, s->ops->read_queue);
    return op;
}

int store_recount_spending(struct store *s, struct err *e)
{
    return s->ops->recount_spending ? s->ops->recount_spending(s, e) : 0;
}

static struct store_op *read_blob(struct store *s, str id, str sha256,
                                  void (*get)(struct store_op *op), store_blob_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_blob, ctx);
    op->fn.blob = fn;
    op->in.blob = arena_str(&op->arena, sha256);
    if (!op_check(op, false))
        return op;
    if (!sha256_is_hex(sha256)) {
        err_set(&op->err, -ENOENT, "no such blob");
        op_done_later(op);
    } else {
        op_start(op, get);
    }
    return op;
}

struct store_op *store_get_blob(struct store *s, str id, str sha256, store_blob_fn fn, void *ctx)
{
    return read_blob(s, id, sha256, s->ops->get_blob, fn, ctx);
}

struct store_op *store_get_shared(struct store *s, str id, str sha256, store_blob_fn fn, void *ctx)
{
    return read_blob(s, id, sha256, s->ops->get_shared, fn, ctx);
}

static void answer_file(struct store_op *op)
{
    op->out.file.is_open = false;
    op->fn.file(op->ctx, op_err(op), op->err.code ? -1 : op->out.file.fd, op->out.file.mime);
}

static void open_file_work(struct store_op *op)
{
    char head[SNIFF_BYTES];
    int fd = op->store->ops->blob_fd(op->store, &op->arena, op->id, op->in.blob);
    if (fd < 0) {
        err_set(&op->err, fd == -ENOENT || fd == -EHOSTUNREACH ? fd : -EIO, "no such file");
        return;
    }
    ssize_t n = pread(fd, head, sizeof head, 0);
    op->out.file.fd = fd;
    op->out.file.is_open = true;
    op->out.file.mime = sniff_type(str_make(head, n > 0 ? (size_t)n : 0));
}

static void open_file(struct store_op *op)
{
    op_run(op, open_file_work);
}

struct store_op *store_open_file(struct store *s, str id, str sha256, store_file_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_file, ctx);
    op->fn.file = fn;
    op->in.blob = arena_str(&op->arena, sha256);
    if (!op_check(op, false))
        return op;
    if (!s->ops->blob_fd || !sha256_is_hex(sha256)) {
        err_set(&op->err, -ENOENT, "no such file");
        op_done_later(op);
    } else {
        op_start(op, open_file);
    }
    return op;
}

/* ---- a child run has the access of its parent ---- */

static void parent_get(struct store_op *op);

static struct store_op *get_at_depth(struct store *s, str id, unsigned depth, store_conv_fn fn,
                                     void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->parents = depth;
    op->step = parent_get;
    if (op_check(op, false))
        then_get(op);
    return op;
}

static void use_access(struct store_op *op, const struct conv_acl *acl)
{
    struct conv *c = ARENA_NEW(&op->arena, struct conv);
    *c = *op->out.conv;
    c->acl = conv_acl_copy(&op->arena, acl);
    op->out.conv = c;
    op_done(op);
}

/* A child run whose parent is missing has no owner: only workspace admins may see it. */
static void on_parent(void *ctx, const struct err *err, const struct conv *parent)
{
    use_access(ctx, err ? &LISTING_NOBODY : &parent->acl);
}

static void parent_get(struct store_op *op)
{
    str parent = json_get_string(op->out.conv->parent, "conversationId");
    if (!op->out.conv->parent)
        op_done(op);
    else if (op->store->is_closing || op->parents >= LISTING_PARENTS_MAX)
        on_parent(op, &(struct err){.code = -ELOOP}, NULL);
    else
        get_at_depth(op->store, parent, op->parents + 1, on_parent, op);
}

struct store_op *store_get(struct store *s, str id, store_conv_fn fn, void *ctx)
{
    return get_at_depth(s, id, 0, fn, ctx);
}

static void answer_page(struct store_op *op)
{
    op->fn.page(op->ctx, op_err(op), op->err.code ? NULL : &op->out.page);
}

struct store_op *store_read(struct store *s, str id, const struct store_range *range,
                            store_page_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_page, ctx);
    op->fn.page = fn;
    op->in.range = *range;
    if (!range->max_events)
        op->in.range.max_events = STORE_PAGE_EVENTS;
    if (!range->max_bytes)
        op->in.range.max_bytes = STORE_PAGE_BYTES;
    if (op_check(op, false))
        op_start(op, s->ops->read);
    return op;
}

const struct viewer *op_set_viewer(struct store_op *op, const struct viewer *v)
{
    if (!v)
        return NULL;
    op->has_viewer = true;
    op->viewer = viewer_copy(&op->arena, v);
    return &op->viewer;
}

bool op_may_manage(const struct store_op *op, const struct conv *c)
{
    bool is_meant = op->branch_of.n == 0 || str_eq(json_get_string(c->branch, "of"), op->branch_of);
    return is_meant && (!op->has_viewer || access_allows(&op->viewer, &c->acl, CONV_MANAGE));
}

/* The rows of a list may be shared with a cache: the marks go into a copy. */
static void add_marks(struct store_op *op)
{
    struct store_listing *l = &op->out.listing;
    struct conv *convs = arena_copy(&op->arena, l->convs, l->n, l->n + 1, sizeof *convs);
    for (size_t i = 0; i < l->n; i++)
        convs[i].mark = marks_state(op->in.query.marks, &convs[i]);
    l->convs = convs;
}

static void answer_list(struct store_op *op)
{
    if (!op->err.code && op->in.query.marks)
        add_marks(op);
    op->fn.list(op->ctx, op_err(op), op->err.code ? NULL : &op->out.listing);
}

static void list_now(struct store_op *op)
{
    if (op->store->ops->list)
        op->store->ops->list(op);
    else
        op_run(op, scan_list);
}

struct store_op *store_list(struct store *s, const struct store_query *q, store_list_fn fn,
                            void *ctx)
{
    struct store_op *op = op_new(s, STR_NONE, answer_list, ctx);
    op->fn.list = fn;
    op->in.query = *q;
    op->in.query.viewer = op_set_viewer(op, q->viewer);
    op->in.query.cursor = arena_str(&op->arena, q->cursor);
    op->in.query.search = arena_str(&op->arena, q->search);
    op->in.query.branches_of = arena_str(&op->arena, q->branches_of);
    if (q->only) {
        struct json_strs *only = ARENA_NEW(&op->arena, struct json_strs);
        *only = json_strs_copy(&op->arena, *q->only);
        op->in.query.only = only;
    }
    size_t limit = q->limit ? q->limit : STORE_LIST_DEFAULT;
    op->in.query.limit = limit > STORE_LIST_MAX ? STORE_LIST_MAX : limit;
    op->in.query.marks_of = arena_str(&op->arena, q->marks_of);
    op->in.query.marks = NULL;
    if (q->marks_of.n == 0) {
        list_now(op);
    } else {
        op->step = list_now;
        op_run(op, marks_load);
    }
    return op;
}

struct store_op *store_list_trash(struct store *s, const struct viewer *viewer, store_list_fn fn,
                                  void *ctx)
{
    struct store_op *op = op_new(s, STR_NONE, answer_list, ctx);
    op->fn.list = fn;
    (void)op_set_viewer(op, viewer);
    op_run(op, s->ops->list_trash);
    return op;
}

static void answer_search(struct store_op *op)
{
    op->fn.search(op->ctx, op_err(op), op->err.code ? NULL : &op->out.hits);
}

struct store_op *store_search(struct store *s, const struct store_search_query *q,
                              store_search_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, q->conv_id, answer_search, ctx);
    op->fn.search = fn;
    op->in.search = *q;
    op->in.search.viewer = op_set_viewer(op, q->viewer);
    op->in.search.text = arena_str(&op->arena, q->text);
    op->in.search.conv_id = op->id;
    size_t limit = q->limit ? q->limit : STORE_LIST_DEFAULT;
    op->in.search.limit = limit > STORE_LIST_MAX ? STORE_LIST_MAX : limit;
    if (q->conv_id.n && !op_check(op, false))
        return op;
    if (s->ops->search)
        s->ops->search(op);
    else
        op_run(op, scan_search);
    return op;
}

static void answer_notes(struct store_op *op)
{
    op->fn.notes(op->ctx, op_err(op), op->err.code ? NULL : op->out.notes,
                 op->err.code ? 0 : op->out.nnotes);
}

struct store_op *store_notes(struct store *s, str id, store_notes_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_notes, ctx);
    op->fn.notes = fn;
    if (op_check(op, false))
        op_run(op, scan_notes);
    return op;
}
