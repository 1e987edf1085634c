#include "store/event/listing.h"

#include <errno.h>
#include <stdlib.h>

#include "store/event/text.h"

static str sort_key(enum store_sort sort, const struct conv *c)
{
    return sort == STORE_BY_CREATED ? c->created_at : c->updated_at;
}

/* Newest first; equal times by id. Negative: a comes first. */
static int compare_convs(enum store_sort sort, const struct conv *a, const struct conv *b)
{
    int by_time = str_cmp(sort_key(sort, b), sort_key(sort, a));
    return by_time ? by_time : str_cmp(b->id, a->id);
}

static bool is_only(enum store_only only, bool is)
{
    return only == STORE_ANY || is == (only == STORE_YES);
}

static bool has_marks(const struct store_query *q, const struct conv *c)
{
    if (!q->marks)
        return true;
    struct mark_state s = marks_state(q->marks, c);
    return is_only(q->pinned, s.is_pinned) && is_only(q->archived, s.is_archived) &&
           is_only(q->unread, s.is_unread);
}

static bool is_of_kind(const struct store_query *q, const struct conv *c)
{
    return is_only(q->shared, c->acl.is_shared) &&
           is_only(q->own, str_eq(c->acl.owner_id, q->marks_of));
}

static int by_id(const void *key, const void *item)
{
    return str_cmp(*(const str *)key, *(const str *)item);
}

static bool is_among(const struct json_strs *only, str id)
{
    return !only ||
           (only->len > 0 && bsearch(&id, only->items, only->len, sizeof(str), by_id) != NULL);
}

bool listing_wants(const struct store_query *q, const struct conv *c)
{
    if ((c->is_hidden && !q->with_hidden) || !is_among(q->only, c->id))
        return false;
    if (q->branches_of.n && !str_eq(json_get_string(c->branch, "of"), q->branches_of))
        return false;
    if (q->viewer && !access_allows(q->viewer, &c->acl, CONV_VIEW))
        return false;
    if (!has_marks(q, c) || !is_of_kind(q, c))
        return false;
    return !q->search.n || text_contains(c->title, q->search) ||
           text_contains(c->preview, q->search);
}

bool listing_takes_mark(const struct store_query *q, const struct mark *m)
{
    return is_only(q->pinned, m->is_pinned) && is_only(q->archived, m->is_archived);
}

bool listing_selects(const struct store_query *q)
{
    return q->only || q->own != STORE_ANY || q->shared != STORE_ANY ||
           (q->marks &&
            (q->pinned == STORE_YES || q->archived == STORE_YES || q->unread != STORE_ANY));
}

static bool is_admin(const struct viewer *v)
{
    for (; v; v = v->also)
        if (!v->is_workspace_admin)
            return false;
    return true;
}

bool listing_asks_parent(const struct store_query *q, const struct conv *c)
{
    return c->parent && q->with_hidden && !is_admin(q->viewer);
}

bool listing_is_after(const struct store_query *q, const struct conv *place, const struct conv *c)
{
    return !q->cursor.n || compare_convs(q->sort, c, place) > 0;
}

int listing_cursor_parse(str cursor, struct conv *ret_place, struct err *e)
{
    ptrdiff_t at = str_find_char(cursor, '~');
    str id = at < 0 ? STR_NONE : str_skip(cursor, (size_t)at + 1);
    if (at < 0 || !store_id_valid(id))
        return err_set(e, -EINVAL, "cursor is not valid: pass the cursor of the page before");
    *ret_place = (struct conv){.id = id};
    ret_place->created_at = ret_place->updated_at = str_slice(cursor, 0, (size_t)at);
    return 0;
}

static str make_cursor(struct arena *a, enum store_sort sort, const struct conv *last)
{
    return arena_printf(a, "%.*s~%.*s", STR_ARG(sort_key(sort, last)), STR_ARG(last->id));
}

static int by_updated(const void *a, const void *b)
{
    return compare_convs(STORE_BY_UPDATED, a, b);
}

static int by_created(const void *a, const void *b)
{
    return compare_convs(STORE_BY_CREATED, a, b);
}

int listing_page(struct arena *a, const struct store_query *q, struct conv *convs, size_t n,
                 struct store_listing *ret, struct err *e)
{
    struct conv place;
    size_t from = 0;
    if (q->cursor.n) {
        int r = listing_cursor_parse(q->cursor, &place, e);
        if (r < 0)
            return r;
    }
    if (n > 1)
        qsort(convs, n, sizeof(*convs), q->sort == STORE_BY_CREATED ? by_created : by_updated);
    while (q->cursor.n && from < n && compare_convs(q->sort, &convs[from], &place) <= 0)
        from++;
    size_t take = n - from < q->limit ? n - from : q->limit;
    *ret = (struct store_listing){.convs = convs + from, .n = take, .total = (int64_t)n};
    if (take > 0 && from + take < n)
        ret->next_cursor = make_cursor(a, q->sort, &convs[from + take - 1]);
    return 0;
}
