#include "store/index_list.h"

#include <errno.h>

#include "store/listing.h"

enum { ROUNDS_MAX = 4 }; /* a file that changes as fast as it is read is shown as it was */

struct page {
    struct index_sync *sync;
    struct store_op *op;
    struct conv place; /* the cursor */
    struct conv *convs;
    size_t n, cap;
    struct index_log *logs; /* one per conv */
    int64_t total;
};

#define SHELF_ROWS                                                                                 \
    "SELECT " INDEX_CONV_COLUMNS ", c.id, l.no, l.dev, l.ino, l.size, l.mtime, l.mark, l.done,"    \
    " l.text_done, l.messages FROM shelf s CROSS JOIN conv c ON c.id = s.id"                       \
    " CROSS JOIN log l ON l.id = s.id WHERE s.name = ?1 AND s.sort = ?2"                           \
    " AND (s.at, s.id) < (?3, ?4)"
#define IN_ORDER " ORDER BY s.at DESC, s.id DESC LIMIT ?5"

static void take(struct page *p, sqlite3_stmt *st)
{
    struct store_op *op = p->op;
    str id = arena_str(&op->arena, index_db_column(st, INDEX_CONV_NCOLUMNS));
    struct derive d;
    derive_init(&d, op->store->env);
    index_conv_columns(st, 0, &d);
    struct conv *c = derive_conv(&d, &op->arena, id, str_from(op->store->conf.workspace_id));
    derive_done(&d);
    if (!listing_wants(&op->in.query, c))
        return;
    if (p->n == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 64;
        p->convs = xrealloc(p->convs, p->cap * sizeof(*p->convs));
        p->logs = xrealloc(p->logs, p->cap * sizeof(*p->logs));
    }
    index_log_columns(st, INDEX_CONV_NCOLUMNS + 1, &p->logs[p->n]);
    c->end = (store_pos)p->logs[p->n].done;
    p->convs[p->n++] = *c;
}

/* The next rows of one shelf, in order. */
static int walk(struct page *p, str shelf)
{
    static const char ALL[] = SHELF_ROWS IN_ORDER;
    static const char SEARCH[] = SHELF_ROWS " AND has_text(c.title, c.preview, ?6)" IN_ORDER;
    const struct store_query *q = &p->op->in.query;
    struct index_db *db = p->sync->db;
    sqlite3_stmt *st = index_db_sql(db, q->search.n ? SEARCH : ALL);
    int r;
    index_db_bind(st, 1, shelf);
    sqlite3_bind_int(st, 2, (int)q->sort);
    index_db_bind(st, 3, q->cursor.n ? p->place.updated_at : STR("~"));
    index_db_bind(st, 4, p->place.id);
    sqlite3_bind_int64(st, 5, (int64_t)q->limit + 1);
    if (q->search.n)
        index_db_bind(st, 6, q->search);
    while ((r = index_db_step(db, st)) > 0)
        take(p, st);
    return r;
}

static int count(struct page *p, str shelf)
{
    static const char ALL[] = "SELECT n FROM tally WHERE name = ?1";
    static const char SEARCH[] = "SELECT count(*) FROM shelf s CROSS JOIN conv c ON c.id = s.id"
                                 " WHERE s.name = ?1 AND s.sort = 0"
                                 " AND has_text(c.title, c.preview, ?2)";
    const struct store_query *q = &p->op->in.query;
    struct index_db *db = p->sync->db;
    sqlite3_stmt *st = index_db_sql(db, q->search.n ? SEARCH : ALL);
    index_db_bind(st, 1, shelf);
    if (q->search.n)
        index_db_bind(st, 2, q->search);
    int r = index_db_step(db, st);
    if (r > 0) {
        p->total += sqlite3_column_int64(st, 0);
        sqlite3_reset(st);
    }
    return r < 0 ? r : 0;
}

static int query(struct page *p)
{
    const struct store_query *q = &p->op->in.query;
    str shelves[INDEX_SHELVES_MAX];
    size_t n = index_shelves(&p->op->arena, q->viewer, q->with_hidden, shelves);
    p->n = 0;
    p->total = 0;
    int r = index_db_begin(p->sync->db, false);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = count(p, shelves[i]);
        if (r == 0)
            r = walk(p, shelves[i]);
    }
    if (r == 0)
        r = index_db_commit(p->sync->db);
    index_db_rollback(p->sync->db);
    return r;
}

/* Catches up the rows that are behind their files. 1: there were some. */
static int check(struct page *p)
{
    struct files *f = p->op->store->impl;
    struct arena *a = &p->op->arena;
    str *stale = arena_array(a, p->n + 1, sizeof(str));
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct stat st;
        const char *path = f->layout->path(f, a, p->convs[i].id);
        if (!path || stat(path, &st) < 0 || !index_is_current(&p->logs[i], &st))
            stale[n++] = p->convs[i].id;
    }
    int r = n ? index_catch_up(p->sync, stale, n) : 0;
    return r < 0 ? r : n > 0;
}

/* All shelves together give the page and what is behind it. */
static void finish(struct page *p)
{
    struct store_op *op = p->op;
    struct store_query q = op->in.query;
    struct conv *convs = arena_array(&op->arena, p->n + 1, sizeof(*convs));
    if (p->n)
        memcpy(convs, p->convs, p->n * sizeof(*convs));
    listing_page(&op->arena, &q, convs, p->n, &op->out.listing, &op->err);
    op->out.listing.total = p->total;
}

int index_list_page(struct index_sync *s, struct store_op *op)
{
    struct page p = {.sync = s, .op = op};
    str cursor = op->in.query.cursor;
    if (cursor.n && listing_cursor_parse(cursor, &p.place, &op->err) < 0)
        return 0;
    int r = 1;
    for (int round = 0; r > 0 && round < ROUNDS_MAX; round++) {
        r = query(&p);
        if (r == 0)
            r = check(&p);
    }
    if (r >= 0)
        finish(&p);
    free(p.convs);
    free(p.logs);
    return r < 0 ? r : 0;
}
