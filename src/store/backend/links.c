/* links.c - the links of a store (links.h): the document, and the call. */
#include "store/links.h"

#include <assert.h>
#include <errno.h>

#include "base/bytes/hash.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/utf8.h"
#include "store/backend/backend.h"

/* ---- the document ---- */

/* The file may have been edited: entries that are not links are left out. */
static void take_link(struct arena *a, struct share_links *l, const struct json *v)
{
    struct share_link one = {
        .id = arena_str(a, json_get_string(v, "id")),
        .hash = arena_str(a, json_get_string(v, "sha256")),
        .conv_id = arena_str(a, json_get_string(v, "conversationId")),
        .by = arena_str(a, json_get_string(v, "by")),
        .title = arena_str(a, utf8_truncate(json_get_string(v, "title"), LINK_TITLE_MAX)),
        .has_tools = json_get_bool(v, "tools", false),
    };
    int64_t until = json_get_int(v, "until", -1);
    if (l->n == LINKS_MAX || one.id.n == 0 || !sha256_is_hex(one.hash) ||
        !store_id_valid(one.conv_id) || until < 0 ||
        clock_parse_iso(json_get_string(v, "made"), &one.made_ms) < 0 ||
        clock_parse_iso(json_get_string(v, "expires"), &one.expires_ms) < 0)
        return;
    one.until = (uint64_t)until;
    ARENA_GROW(a, l->items, l->n, l->cap);
    l->items[l->n++] = one;
}

int links_parse(struct arena *a, str text, struct share_links *ret, struct err *e)
{
    struct json *doc;
    *ret = (struct share_links){0};
    if (text.n == 0)
        return 0;
    int r = json_parse(a, text, JSON_UNIQUE, &doc, e);
    const struct json *all = r == 0 ? json_get(doc, "links") : NULL;
    for (size_t i = 0; json_is(all, JSON_ARRAY) && i < all->len; i++)
        take_link(a, ret, &all->items[i]);
    return r;
}

static void put_time(struct json_writer *w, const char *key, int64_t ms)
{
    char text[CLOCK_ISO_LEN + 1];
    clock_iso(ms, text);
    jw_kstr(w, key, str_from(text));
}

str links_write(struct arena *a, const struct share_links *l)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, LINKS_TEXT_MAX);
    jw_object(&w);
    jw_karray(&w, "links");
    for (size_t i = 0; i < l->n; i++) {
        const struct share_link *one = &l->items[i];
        jw_object(&w);
        jw_kstr(&w, "id", one->id);
        jw_kstr(&w, "sha256", one->hash);
        jw_kstr(&w, "conversationId", one->conv_id);
        jw_kstr(&w, "by", one->by);
        put_time(&w, "made", one->made_ms);
        put_time(&w, "expires", one->expires_ms);
        jw_kint(&w, "until", (int64_t)one->until);
        jw_kstr_if(&w, "title", one->title);
        jw_kbool(&w, "tools", one->has_tools);
        jw_end(&w);
    }
    jw_close(&w);
    assert(!buf_failed(&b)); /* LINKS_MAX entries of known size */
    str text = arena_str(a, buf_str(&b));
    buf_done(&b);
    return text;
}

/* ---- changing ---- */

static size_t count_of(const struct share_links *l, str conv_id)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += str_eq(l->items[i].conv_id, conv_id);
    return n;
}

static bool is_removed(const struct share_link *one, const struct link_change *c)
{
    if (c->purged.len > 0)
        return json_strs_has(&c->purged, one->conv_id);
    return !c->add && str_eq(one->id, c->remove) &&
           (c->conv_id.n == 0 || str_eq(one->conv_id, c->conv_id));
}

int links_apply(struct arena *a, struct share_links *l, const struct link_change *c, struct err *e)
{
    size_t kept = 0;
    bool has_removed = false;
    for (size_t i = 0; i < l->n; i++) {
        has_removed |= is_removed(&l->items[i], c);
        if (l->items[i].expires_ms > c->now_ms && !is_removed(&l->items[i], c))
            l->items[kept++] = l->items[i];
    }
    l->n = kept;
    if (!c->add)
        return has_removed || c->purged.len > 0 ? 0 : err_set(e, -ENOENT, "There is no such link.");
    if (count_of(l, c->add->conv_id) >= LINKS_CONV_MAX)
        return err_set(e, -E2BIG, "This conversation has %u links, which is the limit. Revoke one.",
                       LINKS_CONV_MAX);
    if (l->n >= LINKS_MAX)
        return err_set(e, -E2BIG, "The workspace has %u links, which is the limit. Revoke some.",
                       LINKS_MAX);
    ARENA_GROW(a, l->items, l->n, l->cap);
    l->items[l->n++] = *c->add;
    return 0;
}

/* ---- the call ---- */

static void answer_links(struct store_op *op)
{
    op->fn.links(op->ctx, op_err(op), op->err.code ? NULL : &op->out.links);
}

static int change_links(void *ctx, struct arena *a, str old, str *ret, struct err *e)
{
    struct store_op *op = ctx;
    struct share_links *links = &op->out.links;
    int r = links_parse(&op->arena, arena_str(&op->arena, old), links, e);
    size_t before = links->n;
    if (r == 0)
        r = links_apply(&op->arena, links, &op->in.link.change, e);
    bool is_same = op->in.link.change.purged.len > 0 && links->n == before;
    *ret = r < 0 ? STR_NONE : is_same ? old : links_write(a, links);
    return r;
}

/* Most stores have no links: nothing is locked for a purge there. */
static bool has_document(struct store_op *op)
{
    struct store *s = op->store;
    str text = STR_NONE;
    return s->ops->person_read(s, STR(LINKS_DOCUMENT), &op->arena, &text, &op->err) == 0 &&
           text.n > 0;
}

static void links_work(struct store_op *op)
{
    struct store *s = op->store;
    str text = STR_NONE;
    if (op->in.link.change.purged.len > 0 && !has_document(op))
        return;
    if (op->in.link.has_change) {
        (void)s->ops->person_change(s, STR(LINKS_DOCUMENT), change_links, op, &op->err);
        return;
    }
    if (s->ops->person_read(s, STR(LINKS_DOCUMENT), &op->arena, &text, &op->err) == 0)
        (void)links_parse(&op->arena, text, &op->out.links, &op->err);
}

static struct share_link link_copy(struct arena *a, const struct share_link *from)
{
    struct share_link to = *from;
    to.id = arena_str(a, from->id);
    to.hash = arena_str(a, from->hash);
    to.conv_id = arena_str(a, from->conv_id);
    to.by = arena_str(a, from->by);
    to.title = arena_str(a, utf8_truncate(from->title, LINK_TITLE_MAX));
    return to;
}

struct store_op *store_links(struct store *s, const struct link_change *change, store_links_fn fn,
                             void *ctx)
{
    struct store_op *op = op_new(s, STR_NONE, answer_links, ctx);
    op->fn.links = fn;
    op->in.link.has_change = change != NULL;
    if (change) {
        op->in.link.change = *change;
        op->in.link.change.remove = arena_str(&op->arena, change->remove);
        op->in.link.change.conv_id = arena_str(&op->arena, change->conv_id);
        op->in.link.change.purged = json_strs_copy(&op->arena, change->purged);
    }
    if (change && change->add) {
        op->in.link.add = link_copy(&op->arena, change->add);
        op->in.link.change.add = &op->in.link.add;
    }
    if (change && s->conf.read_only) {
        err_set(&op->err, -EROFS, "the store is open read-only");
        op_done_later(op);
    } else {
        op_run(op, links_work);
    }
    return op;
}

static void on_links_forgotten(void *ctx, const struct err *err, const struct share_links *links)
{
    const struct store *s = ctx;
    if (err)
        log_warn(s->env->log, "store", "links of deleted conversations stay: %s", err->msg);
}

void links_forget(struct store *s, struct json_strs conv_ids)
{
    struct link_change change = {.purged = conv_ids, .now_ms = clock_now_ms()};
    if (conv_ids.len > 0 && !s->is_closing && !s->conf.read_only)
        store_links(s, &change, on_links_forgotten, s);
}
