/* memory.c - the memory store: the same behaviour as the other stores, without files.
 *
 * A position is the number of the line; line 1, the metadata, has none. All work is done on the
 * loop thread, and calls complete in the next loop turn. */
#include <errno.h>

#include "base/bytes/hash.h"
#include "base/clock.h"
#include "base/map.h"
#include "store/backend/backend.h"
#include "store/event/blobs.h"

struct memory_conv {
    str *lines; /* without line feeds; heap */
    size_t n, cap;
    struct derive derive;
    struct map blobs;          /* sha256 -> struct buf */
    int64_t deleted_ms;        /* in the trash */
    struct memory_conv *older; /* in the trash: deleted before under the same id */
};

struct memory {
    struct map convs, trash; /* id -> struct memory_conv */
    struct map people;       /* user id -> text of the document, on the heap */
};

static struct memory *memory(struct store_op *op)
{
    return op->store->impl;
}

static void conv_free(struct memory_conv *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        free((char *)c->lines[i].p);
    free(c->lines);
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&c->blobs, &i)) != NULL;) {
        buf_done(e->value);
        free(e->value);
    }
    map_done(&c->blobs);
    derive_done(&c->derive);
    conv_free(c->older);
    free(c);
}

static struct memory_conv *conv_new(struct store *s)
{
    struct memory_conv *c = xcalloc(1, sizeof(*c));
    map_init(&c->blobs);
    derive_init(&c->derive, s->env);
    return c;
}

/* line without its line feed; returns its position */
static store_pos conv_add(struct memory_conv *c, str line)
{
    GROW(c->lines, c->n, c->cap);
    c->lines[c->n] = str_make(str_dup(line), line.n);
    derive_line(&c->derive, line, c->n);
    return c->n++;
}

static struct memory_conv *memory_find(struct store_op *op, str id)
{
    struct memory_conv *c = map_get(&memory(op)->convs, id);
    if (!c)
        err_set(&op->err, -ENOENT, "no such conversation: %.*s", STR_ARG(id));
    return c;
}

static int memory_open(struct store *s, struct err *e)
{
    struct memory *m = xcalloc(1, sizeof(*m));
    map_init(&m->convs);
    map_init(&m->trash);
    map_init(&m->people);
    s->impl = m;
    return 0;
}

static void free_all(struct map *convs)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(convs, &i)) != NULL;)
        conv_free(e->value);
    map_done(convs);
}

static void memory_close(struct store *s)
{
    struct memory *m = s->impl;
    struct map_entry *e;
    free_all(&m->convs);
    free_all(&m->trash);
    for (size_t i = 0; (e = map_next(&m->people, &i)) != NULL;)
        free(e->value);
    map_done(&m->people);
    free(m);
    store_closed(s);
}

/* ---- writing ---- */

/* All lines are checked before one is added. */
static bool memory_prepare(struct store_op *op, size_t from)
{
    for (size_t i = from; i < op->nlines; i++) {
        if (event_prepare(&op->arena, op->lines[i], clock_now_ms(), &op->lines[i], &op->err) < 0)
            return false;
    }
    return true;
}

static void add_lines(struct store_op *op, struct memory_conv *c)
{
    for (size_t i = 0; i < op->nlines; i++)
        op->pos[i] = conv_add(c, str_slice(op->lines[i], 0, op->lines[i].n - 1));
}

static void memory_create(struct store_op *op)
{
    const struct memory *m = memory(op);
    bool is_trashed = !op->in.create.is_fresh_id && map_get(&m->trash, op->id);
    if (is_trashed || map_get(&m->convs, op->id)) {
        err_set(&op->err, -EEXIST, "this conversation already exists: %.*s", STR_ARG(op->id));
    } else if (memory_prepare(op, 1)) {
        op->lines[0] = header_line(&op->arena, op->store, op->id, &op->in.create, clock_now_ms());
        if (op->lines[0].n) {
            struct memory_conv *c = conv_new(op->store);
            add_lines(op, c);
            map_put(&memory(op)->convs, op->id, c);
        } else {
            err_set(&op->err, -E2BIG, "the metadata of a new conversation is too large");
        }
    }
    op_done_later(op);
}

static void memory_append(struct store_op *op)
{
    struct memory_conv *c = memory_find(op, op->id);
    if (c && memory_prepare(op, 0))
        add_lines(op, c);
    op_done_later(op);
}

static void copy_blobs(const struct memory_conv *from, struct memory_conv *to)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&from->blobs, &i)) != NULL;) {
        struct buf *copy = xcalloc(1, sizeof(*copy));
        buf_init(copy, BLOB_MAX_BYTES);
        buf_add_str(copy, buf_str(e->value));
        map_put(&to->blobs, e->key, copy);
    }
}

static void memory_fork(struct store_op *op)
{
    struct memory_conv *source = memory_find(op, op->in.create.forked_from);
    if (source) {
        struct memory_conv *c = conv_new(op->store);
        str header = header_line(&op->arena, op->store, op->id, &op->in.create, clock_now_ms());
        conv_add(c, str_slice(header, 0, header.n - 1));
        struct fork_filter filter = {.at_message = op->at_message};
        enum fork_verdict verdict = FORK_COPY;
        for (size_t i = 1; i < source->n && verdict != FORK_COPY_LAST; i++) {
            verdict = fork_line(&filter, source->lines[i]);
            if (verdict == FORK_STOP)
                break;
            if (verdict != FORK_SKIP)
                conv_add(c, source->lines[i]);
        }
        copy_blobs(source, c);
        map_put(&memory(op)->convs, op->id, c);
    }
    op_done_later(op);
}

/* Removes from the trash the conversations of this id that the viewer may manage. */
static struct memory_conv *take_own(struct store_op *op, struct memory_conv **chain)
{
    struct memory_conv *own = NULL;
    while (*chain) {
        struct memory_conv *c = *chain;
        if (op_may_manage(op, &c->derive.conv)) {
            *chain = c->older;
            c->older = own;
            own = c;
        } else {
            chain = &c->older;
        }
    }
    return own;
}

static struct memory_conv *take_trashed(struct store_op *op)
{
    struct memory *m = memory(op);
    struct memory_conv *chain = map_del(&m->trash, op->id);
    struct memory_conv *own = take_own(op, &chain);
    if (chain)
        map_put(&m->trash, op->id, chain);
    return own;
}

static void memory_remove(struct store_op *op)
{
    struct memory *m = memory(op);
    struct memory_conv *c = map_del(&m->convs, op->id);
    if (!c && op->in.is_purge)
        c = take_trashed(op);
    if (!c)
        err_set(&op->err, -ENOENT, "no such conversation: %.*s", STR_ARG(op->id));
    else if (op->in.is_purge)
        conv_free(c);
    else {
        c->deleted_ms = clock_now_ms();
        c->older = map_put(&m->trash, op->id, c);
    }
    op_done_later(op);
}

/* The place in the chain of the newest that the viewer may manage; NULL = none. */
static struct memory_conv **newest_own(const struct store_op *op, struct memory_conv **chain)
{
    while (*chain && !op_may_manage(op, &(*chain)->derive.conv))
        chain = &(*chain)->older;
    return *chain ? chain : NULL;
}

static void memory_restore(struct store_op *op)
{
    struct memory *m = memory(op);
    struct memory_conv *chain = map_get(&m->trash, op->id);
    struct memory_conv **own = newest_own(op, &chain), *c;
    if (!own) {
        err_set(&op->err, -ENOENT, "%.*s is not in the trash", STR_ARG(op->id));
    } else if (map_get(&m->convs, op->id)) {
        err_set(&op->err, -EEXIST, "this conversation already exists: %.*s", STR_ARG(op->id));
    } else {
        c = *own;
        *own = c->older;
        c->older = NULL;
        (void)map_del(&m->trash, op->id);
        if (chain)
            map_put(&m->trash, op->id, chain);
        map_put(&m->convs, op->id, c);
    }
    op_done_later(op);
}

static void memory_put_blob(struct store_op *op)
{
    struct memory_conv *c = memory_find(op, op->id);
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(op->in.blob, hex);
    op->out.blob = arena_str(&op->arena, str_from(hex));
    if (c && op->in.blob.n > BLOB_MAX_BYTES) {
        err_set(&op->err, -E2BIG, "value exceeds the size limit of a blob");
    } else if (c && !map_get(&c->blobs, op->out.blob)) {
        struct buf *b = xcalloc(1, sizeof(*b));
        buf_init(b, BLOB_MAX_BYTES);
        buf_add_str(b, op->in.blob);
        map_put(&c->blobs, op->out.blob, b);
    }
    op_done_later(op);
}

/* ---- reading ---- */

static void memory_get_blob(struct store_op *op)
{
    struct memory_conv *c = memory_find(op, op->id);
    struct buf *b = c ? map_get(&c->blobs, op->in.blob) : NULL;
    if (b)
        op->out.blob = arena_str(&op->arena, buf_str(b));
    else if (c)
        err_set(&op->err, -ENOENT, "no such blob");
    op_done_later(op);
}

static void memory_get(struct store_op *op)
{
    struct memory_conv *c = memory_find(op, op->id);
    if (c)
        op->out.conv =
            derive_conv(&c->derive, &op->arena, op->id, str_from(op->store->conf.workspace_id));
    op_done_later(op);
}

/* Lines [from, to) of the page, within both limits, but always at least one line. */
static void choose_range(const struct memory_conv *c, const struct store_range *r, size_t *from,
                         size_t *to)
{
    size_t bytes = 0, n = 0;
    size_t lo = *from, hi = *to;
    while (lo + n < hi) {
        size_t len = c->lines[r->backwards ? hi - 1 - n : lo + n].n;
        if (n > 0 && (n == r->max_events || bytes + len > r->max_bytes))
            break;
        bytes += len;
        n++;
    }
    if (r->backwards)
        *from = hi - n;
    else
        *to = lo + n;
}

/* The lines that the caller chooses, from `to` back to `from`. */
static void choose_lines(struct store_op *op, const struct memory_conv *c, size_t from, size_t to)
{
    const struct store_range *r = &op->in.range;
    struct store_page *page = &op->out.page;
    struct store_event *events = arena_array(&op->arena, to - from + 1, sizeof(*events));
    size_t first = to - from, at = to, bytes = 0;
    while (at > from && bytes < r->max_bytes) {
        enum store_choice choice = r->choose(r->choose_ctx, c->lines[at - 1]);
        if (choice == STORE_STOP)
            break;
        at--;
        if (choice == STORE_SKIP)
            continue;
        events[--first] =
            (struct store_event){.pos = at, .line = arena_str(&op->arena, c->lines[at])};
        bytes += c->lines[at].n;
    }
    page->events = events + first;
    page->n = to - from - first;
    page->start = at - 1;
    page->end = to - 1;
    page->reached_start = at == from;
    page->reached_end = to == c->n;
}

static void memory_read(struct store_op *op)
{
    const struct store_range *r = &op->in.range;
    struct memory_conv *c = memory_find(op, op->id);
    struct store_page *page = &op->out.page;
    size_t end = c ? c->n : 1, from = 1, to = end;
    if (r->backwards && r->before)
        to = r->before + 1;
    else if (!r->backwards)
        from = r->after + 1;
    page->is_beyond_end = from > end || to > end || (r->after >= end && !r->backwards);
    if (c && r->choose && r->backwards && !page->is_beyond_end) {
        choose_lines(op, c, from, to);
    } else if (c && !page->is_beyond_end) {
        choose_range(c, r, &from, &to);
        struct store_event *events = arena_array(&op->arena, to - from + 1, sizeof(*events));
        for (size_t i = from; i < to; i++)
            events[i - from] =
                (struct store_event){.pos = i, .line = arena_str(&op->arena, c->lines[i])};
        page->events = events;
        page->n = to - from;
        page->start = from - 1;
        page->reached_start = from == 1;
        page->reached_end = to == end;
    }
    op_done_later(op);
}

static int memory_scan(struct store *s, str id, store_line_fn fn, void *ctx, struct err *e)
{
    const struct memory *m = s->impl;
    const struct memory_conv *c = map_get(&m->convs, id);
    if (!c)
        return err_set(e, -ENOENT, "no such conversation: %.*s", STR_ARG(id));
    for (size_t i = 0; i < c->n && fn(ctx, c->lines[i], i); i++)
        ;
    return 0;
}

static int memory_each_id(struct store *s, store_id_fn fn, void *ctx, struct err *e)
{
    const struct memory *m = s->impl;
    struct map_entry *entry;
    for (size_t i = 0; (entry = map_next(&m->convs, &i)) != NULL && fn(ctx, entry->key);)
        ;
    return 0;
}

static int memory_last_deleted_first(const void *a, const void *b)
{
    const struct conv *x = a, *y = b;
    return (x->deleted_ms < y->deleted_ms) - (x->deleted_ms > y->deleted_ms);
}

static void memory_list_trash(struct store_op *op)
{
    const struct memory *m = memory(op);
    struct conv *convs = arena_array(&op->arena, map_len(&m->trash) + 1, sizeof *convs);
    struct map_entry *e;
    size_t n = 0;
    for (size_t i = 0; (e = map_next(&m->trash, &i)) != NULL;) {
        struct memory_conv *chain = e->value, **own = newest_own(op, &chain);
        const struct memory_conv *c = own ? *own : NULL;
        if (!c || c->derive.conv.is_hidden)
            continue;
        convs[n] = *derive_conv(&c->derive, &op->arena, arena_str(&op->arena, e->key),
                                str_from(op->store->conf.workspace_id));
        convs[n++].deleted_ms = c->deleted_ms;
    }
    if (n > 1)
        qsort(convs, n, sizeof *convs, memory_last_deleted_first);
    n = n < STORE_TRASH_MAX ? n : STORE_TRASH_MAX;
    op->out.listing = (struct store_listing){.convs = convs, .n = n, .total = (int64_t)n};
}

static int memory_person_read(struct store *s, str user_id, struct arena *a, str *ret,
                              struct err *e)
{
    const struct memory *m = s->impl;
    const char *text = map_get(&m->people, user_id);
    *ret = text ? arena_str(a, str_from(text)) : STR_NONE;
    return 0;
}

static int memory_person_change(struct store *s, str user_id, document_edit_fn edit, void *ctx,
                                struct err *e)
{
    struct memory *m = s->impl;
    struct arena a;
    str old, text;
    arena_init(&a);
    (void)memory_person_read(s, user_id, &a, &old, e);
    int r = edit(ctx, &a, old, &text, e);
    if (r == 0)
        free(map_put(&m->people, user_id, str_dup(text)));
    arena_done(&a);
    return r;
}

const struct store_ops store_memory_ops = {
    .type = "memory",
    .is_inline = true,
    .open = memory_open,
    .close = memory_close,
    .create = memory_create,
    .append = memory_append,
    .fork = memory_fork,
    .remove = memory_remove,
    .restore = memory_restore,
    .put_blob = memory_put_blob,
    .get_blob = memory_get_blob,
    .put_shared = memory_put_blob,
    .get_shared = memory_get_blob,
    .get = memory_get,
    .read = memory_read,
    .scan = memory_scan,
    .each_id = memory_each_id,
    .list_trash = memory_list_trash,
    .person_read = memory_person_read,
    .person_change = memory_person_change,
};
