/* shelf.h - documents of one workspace in memory, in the place of a table (workspace/documents.h).
 */
#pragma once

#include "support/unit.h"
#include "workspace/documents.h"

struct shelf {
    struct document_table table;
    struct arena arena;
    struct shelf_row {
        str path, bytes;
        int64_t version;
    } rows[64];
    size_t n;
    int64_t generation;
    int fails; /* the next calls fail with it */
};

static inline struct shelf_row *shelf_row(struct shelf *s, str path)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->rows[i].path, path))
            return &s->rows[i];
    return NULL;
}

static inline int shelf_read(struct document_table *t, struct arena *a, str workspace_id, str path,
                             str *ret, struct err *e)
{
    struct shelf *s = (struct shelf *)t;
    struct shelf_row *r = shelf_row(s, path);
    *ret = r ? r->bytes : STR_NONE;
    return s->fails ? err_set(e, s->fails, "no table today") : 0;
}

static inline int shelf_change(struct document_table *t, const struct document_change *c,
                               struct err *e)
{
    struct shelf *s = (struct shelf *)t;
    struct shelf_row *r = shelf_row(s, c->path);
    str old = r ? r->bytes : STR_NONE, now;
    if (s->fails)
        return err_set(e, s->fails, "no table today");
    int code = c->edit(c->ctx, &s->arena, old, &now, e);
    if (code < 0)
        return code;
    if (!r) {
        assert_true(s->n < ARRAY_LEN(s->rows));
        r = &s->rows[s->n++];
        r->path = arena_str(&s->arena, c->path);
    }
    r->bytes = arena_str(&s->arena, now);
    r->version = c->is_followed ? ++s->generation : 0;
    return 0;
}

static inline int shelf_news(struct document_table *t, struct arena *a, str workspace_id,
                             int64_t since, struct document_news *ret, struct err *e)
{
    struct shelf *s = (struct shelf *)t;
    if (s->fails)
        return err_set(e, s->fails, "no table today");
    *ret = (struct document_news){.items = arena_array(a, s->n + 1, sizeof *ret->items),
                                  .until = s->generation};
    for (size_t i = 0; i < s->n; i++)
        if (s->rows[i].version > since)
            ret->items[ret->n++] = (struct shared_document){.path = s->rows[i].path,
                                                            .bytes = s->rows[i].bytes,
                                                            .is_removed = s->rows[i].bytes.n == 0};
    return 0;
}

static inline void shelf_init(struct shelf *s)
{
    *s = (struct shelf){.table = {shelf_read, shelf_change, shelf_news}};
    arena_init(&s->arena);
}
