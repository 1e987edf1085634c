/* scan.c - lists conversations and notes without an index by reading every log. */

#include "store/backend/backend.h"
#include "store/event/listing.h"

struct lister {
    struct store_op *op;
    struct conv *convs;
    size_t n, cap;
};

/* Replaces *c by the conversation of its parent. False: the parent is missing. */
static bool read_parent(struct lister *l, struct conv *c)
{
    struct store *s = l->op->store;
    struct err e = {0};
    struct derive d;
    str id = arena_str(&l->op->arena, json_get_string(c->parent, "conversationId"));
    derive_init(&d, s->env);
    bool is_there = store_id_valid(id) && s->ops->scan(s, id, derive_scanned, &d, &e) == 0;
    if (is_there)
        *c = *derive_conv(&d, &l->op->arena, id, str_from(s->conf.workspace_id));
    derive_done(&d);
    return is_there;
}

static void use_parents_access(struct lister *l, struct conv *c)
{
    struct conv up = *c;
    bool is_there = true;
    for (unsigned depth = 0; up.parent && is_there; depth++)
        is_there = depth < LISTING_PARENTS_MAX && read_parent(l, &up);
    c->acl = is_there ? up.acl : LISTING_NOBODY;
}

/* An unreadable log is left out of the list and reported in `unreadable`; the list does not fail.
 */
static bool on_id(void *ctx, str id)
{
    struct lister *l = ctx;
    struct store *s = l->op->store;
    struct err e = {0};
    struct derive d;
    derive_init(&d, s->env);
    if (s->ops->scan(s, id, derive_scanned, &d, &e) < 0) {
        unreadable_add(s, id, &e);
    } else {
        struct conv *c = derive_conv(&d, &l->op->arena, id, str_from(s->conf.workspace_id));
        if (listing_asks_parent(&l->op->in.query, c))
            use_parents_access(l, c);
        if (listing_wants(&l->op->in.query, c)) {
            GROW(l->convs, l->n, l->cap);
            l->convs[l->n++] = *c;
        }
    }
    derive_done(&d);
    return true;
}

void scan_list(struct store_op *op)
{
    struct lister l = {.op = op};
    struct store *s = op->store;
    if (s->ops->each_id(s, on_id, &l, &op->err) == 0) {
        struct conv *convs = arena_copy(&op->arena, l.convs, l.n, l.n + 1, sizeof(*convs));
        listing_page(&op->arena, &op->in.query, convs, l.n, &op->out.listing, &op->err);
        unreadable_name(s, &op->arena, &op->out.listing);
    }
    free(l.convs);
}

struct note_taker {
    struct store_op *op;
    size_t cap;
};

static void scan_add_note(struct note_taker *t, str line)
{
    struct store_op *op = t->op;
    struct json *v;
    if (json_parse(&op->arena, line, JSON_COPY, &v, NULL) < 0)
        return;
    ARENA_GROW(&op->arena, op->out.notes, op->out.nnotes, t->cap);
    op->out.notes[op->out.nnotes++] = (struct store_note){
        .ts = json_get_string(v, "ts"),
        .author = json_get_string(v, "author"),
        .text = json_get_string(v, "content"),
    };
}

static bool on_note_line(void *ctx, str line, store_pos end)
{
    struct event_head head;
    if (event_scan(line, &head) && head.type == EV_NOTE)
        scan_add_note(ctx, line);
    return true;
}

void scan_notes(struct store_op *op)
{
    struct note_taker t = {.op = op};
    op->store->ops->scan(op->store, op->id, on_note_line, &t, &op->err);
}
