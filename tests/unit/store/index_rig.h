/* index_rig.h - a rig with two views of the same logs: one through the index, one by
 * scanning. Whatever happens, they must agree. */
#pragma once

#include "rig.h"

struct twin {
    struct rig a; /* with an index, writes */
    struct rig b; /* read-only, scans; shares the directory */
    char cache_dir[300], db[320];
    const char *type; /* of the store */
};

static inline void twin_open(struct twin *t)
{
    struct store_conf conf = {.type = t->type,
                              .dir = t->a.conv_dir,
                              .cache_dir = t->cache_dir,
                              .workspace_id = "ws_test",
                              .durability = STORE_NONE};
    struct err e = {0};
    if (store_open(&t->a.env, &conf, &t->a.store, &e) < 0)
        fail_msg("store_open: %s", e.msg);
}

static inline void twin_init_type(struct twin *t, const char *type)
{
    t->type = type;
    rig_init(&t->a, NULL, NULL);
    (void)snprintf(t->cache_dir, sizeof(t->cache_dir), "%s/cache", t->a.dir);
    (void)snprintf(t->db, sizeof(t->db), "%s/index.db", t->cache_dir);
    twin_open(t);
    rig_init(&t->b, NULL, NULL);
    struct store_conf conf = {
        .type = type, .dir = t->a.conv_dir, .workspace_id = "ws_test", .read_only = true};
    struct err e = {0};
    if (store_open(&t->b.env, &conf, &t->b.store, &e) < 0)
        fail_msg("store_open: %s", e.msg);
}

static inline void twin_init(struct twin *t)
{
    twin_init_type(t, "jsonl");
}

static inline void twin_done(struct twin *t)
{
    rig_done(&t->b);
    rig_done(&t->a);
}

static inline void twin_reopen(struct twin *t)
{
    rig_close_store(&t->a);
    twin_open(t);
}

/* ---- agreement ---- */

static inline void same_str(const char *what, str a, str b)
{
    if (!str_eq(a, b))
        fail_msg("%s: index has \"%.*s\", the logs say \"%.*s\"", what, STR_ARG(a), STR_ARG(b));
}

static inline void same_conv(const struct conv *a, const struct conv *b)
{
    same_str("id", a->id, b->id);
    same_str("workspace", a->workspace_id, b->workspace_id);
    same_str("created", a->created_at, b->created_at);
    same_str("updated", a->updated_at, b->updated_at);
    same_str("title", a->title, b->title);
    same_str("channel", a->channel, b->channel);
    same_str("model", a->model, b->model);
    same_str("forked_from", a->forked_from, b->forked_from);
    same_str("preview", a->preview, b->preview);
    same_str("last_model", a->last_model, b->last_model);
    same_str("owner", a->acl.owner_id, b->acl.owner_id);
    assert_int_equal(a->acl.is_shared, b->acl.is_shared);
    assert_int_equal(a->acl.is_sealed, b->acl.is_sealed);
    assert_int_equal(a->acl.participants.len, b->acl.participants.len);
    for (size_t i = 0; i < a->acl.participants.len; i++)
        same_str("participant", a->acl.participants.items[i], b->acl.participants.items[i]);
    assert_int_equal(a->message_count, b->message_count);
    assert_int_equal(a->bad_lines, b->bad_lines);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->is_hidden, b->is_hidden);
    assert_int_equal(a->is_cost_known, b->is_cost_known);
    assert_true(a->cost_usd - b->cost_usd < 1e-9 && b->cost_usd - a->cost_usd < 1e-9);
    assert_memory_equal(&a->usage, &b->usage, sizeof(a->usage));
    assert_true((a->parent == NULL) == (b->parent == NULL));
    assert_true(!a->parent || json_equal(a->parent, b->parent));
    assert_true((a->metadata == NULL) == (b->metadata == NULL));
    assert_true(!a->metadata || json_equal(a->metadata, b->metadata));
}

static inline void twin_list(struct twin *t, const struct store_query *q)
{
    assert_int_equal(rig_list(&t->a, q), rig_list(&t->b, q));
    assert_int_equal(t->a.listing.total, t->b.listing.total);
    assert_int_equal(t->a.listing.n, t->b.listing.n);
    for (size_t i = 0; i < t->a.listing.n; i++)
        same_conv(&t->a.listing.convs[i], &t->b.listing.convs[i]);
    same_str("cursor", t->a.listing.next_cursor, t->b.listing.next_cursor);
}

static int by_place(const void *a, const void *b)
{
    const struct store_hit *x = a, *y = b;
    int by_id = str_cmp(x->conv_id, y->conv_id);
    return by_id ? by_id : x->pos < y->pos ? -1 : x->pos > y->pos;
}

/* A search ends after 3 seconds with what it has: on a busy machine it is repeated. */
static inline int search_whole(struct rig *r, const struct store_search_query *q)
{
    enum { TRIES = 30 };
    int code = RIG_CALL(r, store_search(r->store, q, rig_on_search, r));
    for (int i = 1; i < TRIES && code == 0 && r->hits.is_partial; i++)
        code = RIG_CALL(r, store_search(r->store, q, rig_on_search, r));
    return code;
}

static inline void twin_find(struct twin *t, const struct store_search_query *q)
{
    int code = search_whole(&t->a, q);
    assert_int_equal(code, search_whole(&t->b, q));
    if (code < 0)
        return;
    struct store_hits *a = &t->a.hits, *b = &t->b.hits;
    if (a->n != b->n)
        fail_msg("search %.*s: the index finds %zu, the logs have %zu", STR_ARG(q->text), a->n,
                 b->n);
    if (a->total >= 0 || a->n < q->limit) /* a full page need not be counted */
        assert_int_equal(a->total, b->total);
    for (size_t i = 0; i < a->n; i++) /* equal times have no order of their own */
        same_str("time", a->hits[i].ts, b->hits[i].ts);
    if (a->n > 1) {
        qsort((void *)a->hits, a->n, sizeof(*a->hits), by_place);
        qsort((void *)b->hits, b->n, sizeof(*b->hits), by_place);
    }
    for (size_t i = 0; i < a->n; i++) {
        same_str("hit", a->hits[i].conv_id, b->hits[i].conv_id);
        same_str("title of hit", a->hits[i].title, b->hits[i].title);
        same_str("role", a->hits[i].role, b->hits[i].role);
        same_str("snippet", a->hits[i].snippet, b->hits[i].snippet);
        assert_int_equal(a->hits[i].pos, b->hits[i].pos);
    }
}

static inline size_t twin_search(struct twin *t, const char *text)
{
    struct store_search_query q = {.text = str_from(text), .limit = 1000};
    twin_find(t, &q);
    return t->a.hits.n;
}
