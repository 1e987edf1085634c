#include "store/event/listing.h"
#include "store/index/index_sync.h"

enum { ROUNDS_MAX = 4 }; /* after so many retries a file that keeps changing is listed as read */

struct ancestor { /* a conversation whose access decides about a row */
    str id;
    struct index_log log;
};

struct index_page {
    struct index_sync *sync;
    struct store_op *op;
    struct conv place; /* the cursor */
    struct conv *convs;
    size_t n, cap;
    struct index_log *logs; /* one per conv */
    struct ancestor *ancestors;
    size_t nancestors, ancestors_cap;
    int64_t total;
};

#define ROW                                                                                        \
    "SELECT " INDEX_CONV_COLUMNS ", c.id, l.no, l.dev, l.ino, l.size, l.mtime, l.mark, l.done,"    \
    " l.text_done, l.messages"

/* ---- child runs have the access of their parent ---- */

static void note_ancestor(struct index_page *p, sqlite3_stmt *st, str id)
{
    GROW(p->ancestors, p->nancestors, p->ancestors_cap);
    struct ancestor *up = &p->ancestors[p->nancestors++];
    up->id = arena_str(&p->op->arena, id);
    index_log_columns(st, INDEX_CONV_NCOLUMNS + 1, &up->log);
}

/* Reads the parent of *c into *c, with a statement that does not disturb the one of the list. 0: no
 * parent. */
static int read_parent(struct index_page *p, struct conv *c)
{
    static const char PARENT[] = ROW " FROM log l CROSS JOIN conv c ON c.no = l.no WHERE l.id = ?1";
    struct store_op *op = p->op;
    sqlite3_stmt *st = index_db_sql(p->sync->db, PARENT);
    str id = arena_str(&op->arena, json_get_string(c->parent, "conversationId"));
    index_db_bind(st, 1, id);
    int r = index_db_step(p->sync->db, st);
    if (r <= 0)
        return r;
    struct derive d;
    derive_init(&d, op->store->env);
    index_conv_columns(st, 0, &d);
    *c = *derive_conv(&d, &op->arena, id, str_from(op->store->conf.workspace_id));
    derive_done(&d);
    note_ancestor(p, st, id);
    sqlite3_reset(st);
    return 1;
}

static void use_parents_access(struct index_page *p, struct conv *c)
{
    struct conv up = *c;
    int r = 1;
    for (unsigned depth = 0; up.parent && r > 0; depth++)
        r = depth < LISTING_PARENTS_MAX ? read_parent(p, &up) : 0;
    c->acl = r > 0 ? up.acl : LISTING_NOBODY;
}

static bool wants(struct index_page *p, struct conv *c)
{
    const struct store_query *q = &p->op->in.query;
    if (listing_asks_parent(q, c))
        use_parents_access(p, c);
    return listing_wants(q, c);
}

static struct conv *conv_of(struct index_page *p, sqlite3_stmt *st)
{
    struct store_op *op = p->op;
    str id = arena_str(&op->arena, index_db_column(st, INDEX_CONV_NCOLUMNS));
    struct derive d;
    derive_init(&d, op->store->env);
    index_conv_columns(st, 0, &d);
    struct conv *c = derive_conv(&d, &op->arena, id, str_from(op->store->conf.workspace_id));
    derive_done(&d);
    return c;
}

static void page_keep(struct index_page *p, sqlite3_stmt *st, struct conv *c)
{
    if (p->n == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 64;
        p->convs = xrealloc(p->convs, p->cap * sizeof(*p->convs));
        p->logs = xrealloc(p->logs, p->cap * sizeof(*p->logs));
    }
    index_log_columns(st, INDEX_CONV_NCOLUMNS + 1, &p->logs[p->n]);
    c->end = (store_pos)p->logs[p->n].done;
    p->convs[p->n++] = *c;
}

static bool page_take_row(struct index_page *p, sqlite3_stmt *st)
{
    struct conv *c = conv_of(p, st);
    if (!wants(p, c))
        return false;
    page_keep(p, st, c);
    return true;
}

/* ---- along the shelves ---- */

static int walk_shelf(struct index_page *p, str shelf)
{
    static const char WALK[] =
        ROW " FROM shelf s CROSS JOIN log l ON l.id = s.id CROSS JOIN conv c ON c.no = l.no"
            " WHERE s.name = ?1 AND s.sort = ?2 AND (s.at, s.id) < (?3, ?4)"
            " ORDER BY s.at DESC, s.id DESC";
    const struct store_query *q = &p->op->in.query;
    struct index_db *db = p->sync->db;
    sqlite3_stmt *st = index_db_sql(db, WALK);
    size_t kept = 0;
    int r = 0;
    index_db_bind(st, 1, shelf);
    sqlite3_bind_int(st, 2, (int)q->sort);
    index_db_bind(st, 3, q->cursor.n ? p->place.updated_at : STR("~"));
    index_db_bind(st, 4, p->place.id);
    while (kept <= q->limit && (r = index_db_step(db, st)) > 0)
        kept += page_take_row(p, st);
    if (r > 0)
        sqlite3_reset(st);
    return r < 0 ? r : 0;
}

static int count_shelf(struct index_page *p, str shelf)
{
    static const char COUNT[] = "SELECT n FROM tally WHERE name = ?1";
    struct index_db *db = p->sync->db;
    sqlite3_stmt *st = index_db_sql(db, COUNT);
    index_db_bind(st, 1, shelf);
    int r = index_db_step(db, st);
    if (r > 0) {
        p->total += sqlite3_column_int64(st, 0);
        sqlite3_reset(st);
    }
    return r < 0 ? r : 0;
}

/* The shelves of hidden conversations are made from their own logs, which do not contain the access
 * of the parent: for everybody except admins, all hidden conversations are checked. */
static int walk_children(struct index_page *p)
{
    static const char CHILDREN[] =
        ROW " FROM shelf s CROSS JOIN log l ON l.id = s.id CROSS JOIN conv c ON c.no = l.no"
            " WHERE s.name = ?1 AND s.sort = ?2 ORDER BY s.at DESC, s.id DESC";
    const struct store_query *q = &p->op->in.query;
    struct index_db *db = p->sync->db;
    sqlite3_stmt *st = index_db_sql(db, CHILDREN);
    size_t kept = 0;
    int r;
    index_db_bind(st, 1, index_hidden_shelf(&p->op->arena));
    sqlite3_bind_int(st, 2, (int)q->sort);
    while ((r = index_db_step(db, st)) > 0) {
        struct conv *c = conv_of(p, st);
        if (!wants(p, c))
            continue;
        p->total++;
        if (kept <= q->limit && listing_is_after(q, &p->place, c)) {
            page_keep(p, st, c);
            kept++;
        }
    }
    return r;
}

/* The shelves include conversations that the person's marks exclude from this list (archived ones):
 * subtract these. A person has few marks, compared with all conversations. */
static int count_put_away(struct index_page *p)
{
    static const char ONE[] = ROW " FROM log l CROSS JOIN conv c ON c.no = l.no WHERE l.id = ?1";
    const struct store_query *q = &p->op->in.query;
    struct store_query any = *q;
    any.marks = NULL;
    int r = 0;
    for (size_t i = 0; q->marks && r >= 0 && i < q->marks->n; i++) {
        const struct mark *m = &q->marks->items[i];
        if (listing_takes_mark(q, m))
            continue;
        sqlite3_stmt *st = index_db_sql(p->sync->db, ONE);
        index_db_bind(st, 1, m->id);
        if ((r = index_db_step(p->sync->db, st)) > 0) {
            p->total -= listing_wants(&any, conv_of(p, st));
            sqlite3_reset(st);
        }
    }
    return r < 0 ? r : 0;
}

static int walk_shelves(struct index_page *p)
{
    const struct store_query *q = &p->op->in.query;
    str shelves[INDEX_SHELVES_MAX];
    bool asks_parents = q->with_hidden && q->viewer && !q->viewer->is_workspace_admin;
    size_t n = index_shelves(&p->op->arena, q->viewer, q->with_hidden && !asks_parents, shelves);
    int r = asks_parents ? walk_children(p) : 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = count_shelf(p, shelves[i]);
        if (r == 0)
            r = walk_shelf(p, shelves[i]);
    }
    return r == 0 ? count_put_away(p) : r;
}

/* ---- by part of a title, by marks, or by ids ---- */

struct key { /* of a row that matches, in the order of the list */
    str at, id;
};

struct keys {
    struct arena arena;
    struct key *items; /* heap */
    size_t n, cap;
};

static int newest_first(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int by_time = str_cmp(y->at, x->at);
    return by_time ? by_time : str_cmp(y->id, x->id);
}

static void add_key(struct index_page *p, struct keys *k, sqlite3_stmt *st)
{
    const struct store_query *q = &p->op->in.query;
    struct derive d;
    derive_init(&d, p->op->store->env);
    index_conv_columns(st, 0, &d);
    struct conv c = d.conv;
    c.id = index_db_column(st, INDEX_CONV_NCOLUMNS);
    c.updated_at = str_from(d.updated_at);
    if (wants(p, &c)) {
        str created = c.created_at, updated = c.updated_at;
        GROW(k->items, k->n, k->cap);
        bool by_created = q->sort == STORE_BY_CREATED && created.n;
        k->items[k->n++] = (struct key){
            .at = arena_str(&k->arena, by_created ? created : updated),
            .id = arena_str(&k->arena, c.id),
        };
    }
    derive_done(&d);
}

/* Reads the rows in the order of the file, which is much faster than following a shelf. */
static int match(struct index_page *p, struct keys *k)
{
    static const char MATCH[] = "SELECT " INDEX_CONV_COLUMNS ", c.id FROM conv c"
                                " WHERE has_text(c.title, c.preview, ?1)";
    static const char BRANCHES[] = "SELECT " INDEX_CONV_COLUMNS ", c.id FROM conv c"
                                   " WHERE c.branch <> '' AND instr(c.branch, ?1) > 0";
    const struct store_query *q = &p->op->in.query;
    struct index_db *db = p->sync->db;
    sqlite3_stmt *st = index_db_sql(db, q->branches_of.n ? BRANCHES : MATCH);
    int r;
    index_db_bind(st, 1, q->branches_of.n ? q->branches_of : q->search);
    while ((r = index_db_step(db, st)) > 0)
        add_key(p, k, st);
    return r;
}

static int match_one(struct index_page *p, struct keys *k, str id)
{
    static const char ONE[] = "SELECT " INDEX_CONV_COLUMNS ", c.id FROM log l"
                              " CROSS JOIN conv c ON c.no = l.no WHERE l.id = ?1";
    sqlite3_stmt *st = index_db_sql(p->sync->db, ONE);
    index_db_bind(st, 1, id);
    int r = index_db_step(p->sync->db, st);
    if (r > 0) {
        add_key(p, k, st);
        sqlite3_reset(st);
    }
    return r < 0 ? r : 0;
}

/* Only what the person pinned, or put away: no other row is read. */
static int match_marked(struct index_page *p, struct keys *k)
{
    const struct marks *m = p->op->in.query.marks;
    int r = 0;
    for (size_t i = 0; r == 0 && i < m->n; i++)
        if (listing_takes_mark(&p->op->in.query, &m->items[i]))
            r = match_one(p, k, m->items[i].id);
    return r;
}

static int match_ids(struct index_page *p, struct keys *k)
{
    const struct json_strs *only = p->op->in.query.only;
    int r = 0;
    for (size_t i = 0; r == 0 && i < only->len; i++)
        r = match_one(p, k, only->items[i]);
    return r;
}

static int take_one(struct index_page *p, str id)
{
    static const char ONE[] = ROW " FROM log l CROSS JOIN conv c ON c.no = l.no WHERE l.id = ?1";
    sqlite3_stmt *st = index_db_sql(p->sync->db, ONE);
    index_db_bind(st, 1, id);
    int r = index_db_step(p->sync->db, st);
    if (r > 0) {
        page_take_row(p, st);
        sqlite3_reset(st);
    }
    return r < 0 ? r : 0;
}

static int select_rows(struct index_page *p)
{
    const struct store_query *q = &p->op->in.query;
    const struct key place = {.at = p->place.updated_at, .id = p->place.id};
    struct keys k = {0};
    size_t i = 0;
    arena_init(&k.arena);
    bool is_marked = q->marks && (q->pinned == STORE_YES || q->archived == STORE_YES);
    int r = q->only ? match_ids(p, &k) : is_marked ? match_marked(p, &k) : match(p, &k);
    if (k.n > 1)
        qsort(k.items, k.n, sizeof(*k.items), newest_first);
    while (q->cursor.n && i < k.n && newest_first(&k.items[i], &place) <= 0)
        i++;
    for (size_t end = i + q->limit + 1; r == 0 && i < k.n && i < end; i++)
        r = take_one(p, k.items[i].id);
    p->total = (int64_t)k.n;
    free(k.items);
    arena_done(&k.arena);
    return r;
}

/* ---- the page ---- */

static int query(struct index_page *p)
{
    p->n = 0;
    p->nancestors = 0;
    p->total = 0;
    const struct store_query *q = &p->op->in.query;
    bool is_joint = q->viewer && q->viewer->also; /* a shelf belongs to one person */
    int r = index_db_begin(p->sync->db, false);
    if (r == 0)
        r = q->search.n || q->branches_of.n || is_joint || listing_selects(q) ? select_rows(p)
                                                                              : walk_shelves(p);
    if (r == 0)
        r = index_db_commit(p->sync->db);
    index_db_rollback(p->sync->db);
    return r;
}

static bool is_stale(struct index_page *p, str id, const struct index_log *log)
{
    struct files *f = p->op->store->impl;
    struct stat st;
    const char *path = f->layout->path(f, &p->op->arena, id);
    return !path || stat(path, &st) < 0 || !index_is_current(log, &st);
}

/* Brings rows of the page, and rows whose access was used, up to date with their files. 1: some
 * rows have changed. */
static int catch_up_page(struct index_page *p)
{
    str *stale = arena_array(&p->op->arena, p->n + p->nancestors + 1, sizeof(str));
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (is_stale(p, p->convs[i].id, &p->logs[i]))
            stale[n++] = p->convs[i].id;
    for (size_t i = 0; i < p->nancestors; i++)
        if (is_stale(p, p->ancestors[i].id, &p->ancestors[i].log))
            stale[n++] = p->ancestors[i].id;
    int r = n ? index_catch_up(p->sync, stale, n) : 0;
    return r < 0 ? r : n > 0;
}

/* Merges the results of all shelves into the page and its cursor. */
static void page_finish(struct index_page *p)
{
    struct store_op *op = p->op;
    struct store_query q = op->in.query;
    struct conv *convs = arena_copy(&op->arena, p->convs, p->n, p->n + 1, sizeof(*convs));
    listing_page(&op->arena, &q, convs, p->n, &op->out.listing, &op->err);
    op->out.listing.total = p->total;
    unreadable_name(op->store, &op->arena, &op->out.listing);
}

int index_list_page(struct index_sync *s, struct store_op *op)
{
    struct index_page p = {.sync = s, .op = op};
    str cursor = op->in.query.cursor;
    if (cursor.n && listing_cursor_parse(cursor, &p.place, &op->err) < 0)
        return 0;
    int r = 1;
    for (int round = 0; r > 0 && round < ROUNDS_MAX; round++) {
        r = query(&p);
        if (r == 0)
            r = catch_up_page(&p);
    }
    if (r >= 0)
        page_finish(&p);
    free(p.convs);
    free(p.logs);
    free(p.ancestors);
    return r < 0 ? r : 0;
}
