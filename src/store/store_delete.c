/* store_delete.c - the calls that delete and restore a conversation.
 *
 * The branches of a conversation are hidden behind it, so they go with it, first: if one cannot be
 * deleted, everything that is left can still be found. A conversation that goes to the trash names
 * them in its log (metadata.trashed), so that restoring it brings them back. Then the log says that
 * none are in the trash with it any more: a branch that is deleted alone later stays deleted. */
#include <assert.h>
#include <errno.h>

#include "bus/vocabulary.h"
#include "store/backend/backend.h"

enum { LAST_EVENTS = 300 }; /* among these is metadata.trashed: the end of a run may follow it */

static void answer_done(struct store_op *op)
{
    op->fn.done(op->ctx, op_err(op));
}

/* ---- deleting ---- */

static struct store_op *begin_delete(struct store *s, str id, bool purge,
                                     const struct viewer *viewer, store_done_fn fn, void *ctx);

static void on_rest_purged(void *ctx, const struct err *err)
{
    struct store_op *op = ctx;
    if (err && err->code != -ENOENT)
        op->err = *err;
    op_done(op);
}

void store_on_purge(struct store *s, store_purge_fn fn, void *ctx)
{
    assert(!s->on_purge);
    s->on_purge = fn;
    s->on_purge_ctx = ctx;
}

static void tell_purged(struct store *s, struct json_strs ids)
{
    for (size_t i = 0; s->on_purge && i < ids.len; i++)
        s->on_purge(s->on_purge_ctx, ids.items[i]);
    links_forget(s, ids);
}

void tell_purge(struct store *s, str id)
{
    tell_purged(s, (struct json_strs){&id, 1});
}

void tell_swept(const struct store_op *op)
{
    tell_purged(op->store, op->out.purged);
}

void note_swept(struct store_op *op, str id)
{
    struct json_strs *all = &op->out.purged;
    if (all->len > 0 && str_eq(all->items[all->len - 1], id))
        return;
    ARENA_GROW(&op->arena, all->items, all->len, op->out.purged_cap);
    all->items[all->len++] = arena_str(&op->arena, id);
}

/* The same id may have been deleted several times: of one that came back from the trash to be
 * purged, older ones may still be there. */
static void removed(struct store_op *op)
{
    announce(op, EV_CONVERSATION_DELETED, &op->announcement);
    store_publish(op->store, op->id, event_name(EV_CONVERSATION_DELETED),
                  STR("{\"type\":\"conversation.deleted\"}"));
    if (op->in.is_purge)
        tell_purge(op->store, op->id);
    if (!op->is_back || op->store->is_closing) {
        op_done(op);
        return;
    }
    const struct viewer *viewer = op->has_viewer ? &op->viewer : NULL;
    struct store_op *rest = begin_delete(op->store, op->id, true, viewer, on_rest_purged, op);
    rest->is_last = true;
}

static void remove_now(struct store_op *op)
{
    op->step = removed;
    op_start(op, op->store->ops->remove);
}

static void keep_usage(struct store_op *op)
{
    op->step = remove_now;
    op_run(op, ledger_keep);
}

static void remove_branches(struct store_op *op);

static void on_branch_removed(void *ctx, const struct err *err)
{
    struct store_op *op = ctx;
    if (err && err->code != -ENOENT) {
        op->err = *err;
        op_done(op);
        return;
    }
    op->nbranches++;
    remove_branches(op);
}

/* A store that is closing takes no new calls, not even its own. */
static bool is_closed(struct store_op *op)
{
    if (op->store->is_closing)
        err_set(&op->err, -ECANCELED, "the server is stopping");
    return op->store->is_closing;
}

/* Recorded as a deletion of its own, by the same person. */
static void remove_branch(struct store_op *op, str id)
{
    struct store_op *b = begin_delete(op->store, id, op->in.is_purge, NULL, on_branch_removed, op);
    b->deed = deed_again(op->deed, id);
    deed_detail(b->deed, "branch of %.*s", STR_ARG(op->id));
}

static void remove_branches(struct store_op *op)
{
    if (op->nbranches == op->branches.len)
        keep_usage(op);
    else if (is_closed(op))
        op_done(op);
    else
        remove_branch(op, op->branches.items[op->nbranches]);
}

/* The branches that are in the trash with the conversation. */
static str trashed_line(struct arena *a, const struct json_strs *branches)
{
    struct buf b;
    struct json_writer w;
    buf_init(&b, STORE_LINE_MAX);
    event_begin_undated(&w, &b, EV_TRASHED);
    jw_kstrs(&w, "branches", branches->items, branches->len);
    jw_end(&w);
    return buf_keep(&b, a);
}

/* A person's word about a branch counts only in their own conversation. */
static void on_branches(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct store_op *op = ctx;
    if (err) {
        op->err = *err;
        op_done(op);
        return;
    }
    op->branches.items = arena_array(&op->arena, l->n + 1, sizeof(str));
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->convs[i].acl.owner_id, op->out.conv->acl.owner_id))
            op->branches.items[op->branches.len++] = arena_str(&op->arena, l->convs[i].id);
    if (op->branches.len == 0 || op->in.is_purge) {
        remove_branches(op);
        return;
    }
    op->nlines = 1;
    op->lines = ARENA_NEW(&op->arena, str);
    op->pos = ARENA_NEW(&op->arena, store_pos);
    op->lines[0] = trashed_line(&op->arena, &op->branches);
    op->step = remove_branches;
    op_start(op, op->store->ops->append);
}

static void tell_removal(const struct store_op *op, const struct conv *c)
{
    const struct store *s = op->store;
    if (s->on_removal && !s->is_closing)
        s->on_removal(s->on_removal_ctx, c);
}

void store_on_removal(struct store *s, store_removal_fn fn, void *ctx)
{
    assert(!fn || !s->on_removal);
    s->on_removal = fn;
    s->on_removal_ctx = ctx;
}

static void on_read_before_remove(void *ctx, const struct err *err, const struct conv *c);

/* Its branches came back with it, so that nothing of them is left either. One that is not in the
 * trash is refused by the removal itself. */
static void on_back_from_trash(void *ctx, const struct err *err, const struct conv *c)
{
    struct store_op *op = ctx;
    op->is_back = !err;
    if (err || op->store->is_closing)
        on_read_before_remove(op, err, NULL);
    else
        store_get(op->store, op->id, on_read_before_remove, op);
}

/* The access list for the announcement must be read before the log moves. A conversation that is
 * already in the trash (c is NULL) is not announced. */
static void on_read_before_remove(void *ctx, const struct err *err, const struct conv *c)
{
    struct store_op *op = ctx;
    if (c && !op_may_manage(op, c)) {
        err_set(&op->err, -ENOENT, "no such conversation: %.*s", STR_ARG(op->id));
        op_done(op);
        return;
    }
    if (!c && op->in.is_purge && !op->is_last && !op->store->is_closing) {
        op->is_last = true;
        store_restore(op->store, op->id, op->has_viewer ? &op->viewer : NULL, NULL,
                      on_back_from_trash, op);
        return;
    }
    if (!c) {
        remove_now(op);
        return;
    }
    op->announcement = announcement_of(&op->arena, c, &c->acl, c->title);
    tell_removal(op, c);
    if (c->branch || c->parent || c->acl.owner_id.n == 0) { /* these have no branches */
        keep_usage(op);
        return;
    }
    if (is_closed(op)) {
        op_done(op);
        return;
    }
    op->out.conv = conv_clone(&op->arena, c);
    struct store_query q = {.branches_of = op->id, .with_hidden = true, .limit = STORE_LIST_MAX};
    store_list(op->store, &q, on_branches, op);
}

static struct store_op *begin_delete(struct store *s, str id, bool purge,
                                     const struct viewer *viewer, store_done_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_done, ctx);
    op->fn.done = fn;
    op->in.is_purge = purge;
    (void)op_set_viewer(op, viewer);
    if (op_check(op, true))
        store_get(s, op->id, on_read_before_remove, op);
    return op;
}

struct store_op *store_delete(struct store *s, str id, bool purge, const struct viewer *viewer,
                              const struct doer *by, store_done_fn fn, void *ctx)
{
    struct store_op *op = begin_delete(s, id, purge, viewer, fn, ctx);
    op->deed = deed_begin(s->env->audit, by, STR("conversation.delete"), id);
    if (purge)
        deed_detail(op->deed, "purge");
    return op;
}

/* ---- restoring ---- */

static void restored(struct store_op *op);

/* branch_of: only if it is a branch of this conversation; empty = any conversation. */
static struct store_op *begin_restore(struct store *s, str id, str branch_of,
                                      const struct viewer *viewer, store_conv_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->branch_of = arena_str(&op->arena, branch_of);
    (void)op_set_viewer(op, viewer);
    op->step = restored;
    if (op_check(op, true))
        op_start(op, s->ops->restore);
    return op;
}

static void restore_branches(struct store_op *op);

/* One that was purged meanwhile does not keep the others. */
static void on_branch_restored(void *ctx, const struct err *err, const struct conv *c)
{
    struct store_op *op = ctx;
    op->nbranches++;
    restore_branches(op);
}

static void restore_branch(struct store_op *op, str id)
{
    const struct viewer *viewer = op->has_viewer ? &op->viewer : NULL;
    struct store_op *b = begin_restore(op->store, id, op->id, viewer, on_branch_restored, op);
    b->deed = deed_again(op->deed, id);
    deed_detail(b->deed, "branch of %.*s", STR_ARG(op->id));
}

/* The conversation is back even if this line cannot be written. */
static void on_none_trashed(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    op_appeared(ctx);
}

static void restore_branches(struct store_op *op)
{
    if (op->branches.len == 0 || op->store->is_closing) {
        op_appeared(op);
    } else if (op->nbranches < op->branches.len) {
        restore_branch(op, op->branches.items[op->nbranches]);
    } else {
        str line = trashed_line(&op->arena, &(struct json_strs){0});
        store_append(op->store, op->id, &line, 1, on_none_trashed, op);
    }
}

/* The last such line alone is valid. */
static void on_last_events(void *ctx, const struct err *err, const struct store_page *page)
{
    struct store_op *op = ctx;
    struct json *v = NULL;
    for (size_t i = err ? 0 : page->n; i > 0 && !v; i--) {
        struct event_head head;
        str line = page->events[i - 1].line;
        if (event_scan(line, &head) && head.type == EV_TRASHED)
            (void)json_parse(&op->arena, line, JSON_COPY, &v, NULL);
    }
    op->branches = json_strs_of(&op->arena, json_get(v, "branches"));
    restore_branches(op);
}

static void on_promoted(void *ctx, const struct err *err, const struct conv *c)
{
    then_get(ctx); /* it was announced */
}

/* A branch that comes back alone must be found: without its conversation it is one of its own. */
static void on_root_read(void *ctx, const struct err *err, const struct conv *root)
{
    struct store_op *op = ctx;
    if (err && err->code == -ENOENT && !op->store->is_closing)
        store_promote(op->store, op->id, on_promoted, op);
    else
        op_appeared(op);
}

static void on_restored_read(void *ctx, const struct err *err, const struct conv *c)
{
    struct store_op *op = ctx;
    struct store_range range = {.backwards = true, .max_events = LAST_EVENTS};
    if (err || op->store->is_closing)
        op_appeared(op);
    else if (c->branch)
        store_get(op->store, json_get_string(c->branch, "of"), on_root_read, op);
    else
        store_read(op->store, op->id, &range, on_last_events, op);
}

static void restored(struct store_op *op)
{
    if (op->store->is_closing || op->branch_of.n > 0) /* a branch has none of its own */
        op_appeared(op);
    else
        store_get(op->store, op->id, on_restored_read, op);
}

struct store_op *store_restore(struct store *s, str id, const struct viewer *viewer,
                               const struct doer *by, store_conv_fn fn, void *ctx)
{
    struct store_op *op = begin_restore(s, id, STR_NONE, viewer, fn, ctx);
    op->deed = deed_begin(s->env->audit, by, STR("conversation.restore"), id);
    return op;
}
