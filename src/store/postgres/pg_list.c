/* pg_list.c - lists: the database selects, sorts and counts; the rules of listing.h are checked
 * again for every row that is returned.
 *
 * What one person may see is three lists, each with an index of its own: what they own, what has no
 * owner, and what is shared with them. A query for several people together, branches, and child
 * runs, whose access is that of their parents, are decided row by row.
 *
 * Counting reads all of them, so a list has its exact total only up to COUNT_EXACT. The total of a
 * longer one is counted behind its first answer, kept, and counted again behind an answer when it
 * is older than COUNT_AGE_MS. */
#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "store/event/listing.h"
#include "store/postgres/pg_store.h"

enum {
    ROWS_PAGE = 500,
    COUNT_EXACT = 1000,
    COUNT_AGE_MS = 10000,
    COUNTS_MAX = 256,
    COUNT_KEY_MAX = 64 * 1024
};

/* ASCII only, as text_contains */
#define LOWER(text)                                                                                \
    "translate(" text ", 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')"
#define LIVE    " FROM nb_conversation WHERE workspace = $1 AND deleted_ms = 0"
#define VISIBLE " AND ($2::boolean OR NOT is_hidden)"
#define SEARCHED                                                                                   \
    " AND ($3::text = '' OR strpos(" LOWER("title") ", $3::text) > 0 OR strpos(" LOWER(            \
        "preview") ", $3::text) > 0)"
#define SHARED                                                                                     \
    " AND is_shared AND $4::text <> '' AND participants @> ARRAY[$4::text] AND owner_id <> "       \
    "$4::text AND (owner_id <> '' OR is_sealed)"

/* Of a count: if almost everything is shared with the person, the newest are found soonest */
#define NEWEST " ORDER BY updated_at DESC, id DESC"

/* Only those, or all but those, that the person marked */
#define MARKED " AND (id = ANY($5::text[])) = $6::boolean"

#define COUNT_OF(who)                                                                              \
    "SELECT count(*) AS n FROM (SELECT 1" LIVE VISIBLE SEARCHED MARKED who " LIMIT $7::bigint) t"
#define PAGE_OF(at, who)                                                                           \
    "(SELECT key, id, last, summary, " at " AS at" LIVE VISIBLE SEARCHED MARKED who " AND (" at    \
    ", id) < ($7::text, $8::text) ORDER BY " at " DESC, id DESC LIMIT $9::bigint)"

/* The owner is a range, never an equality: then only the index that begins with the owner has the
 * order, whatever the statistics say. Where one person owns almost everything, an equality may read
 * the whole workspace to find the few conversations of another. */
#define OWN            " AND owner_id BETWEEN $4::text AND $4::text AND owner_id <> ''"
#define OWNERLESS      " AND owner_id BETWEEN '' AND '' AND NOT is_sealed"
#define OWN_PAGE       PAGE_OF_OWNER("$4::text", " AND owner_id <> ''")
#define OWNERLESS_PAGE PAGE_OF_OWNER("''", " AND NOT is_sealed")
#define PAGE_OF_OWNER(owner, who)                                                                  \
    "(SELECT key, id, last, summary, updated_at AS at" LIVE VISIBLE SEARCHED MARKED who            \
    " AND owner_id >= " owner " AND (owner_id, updated_at, id) < (" owner ", $7::text, $8::text)"  \
    " ORDER BY owner_id DESC, updated_at DESC, id DESC LIMIT $9::bigint)"

#define PAGE_END " ORDER BY at DESC, id DESC LIMIT $9::bigint"
#define MINE_OF(own, ownerless, at)                                                                \
    "SELECT key, id, last, summary, at FROM (" own " UNION ALL " ownerless                         \
    " UNION ALL " PAGE_OF(at, SHARED) ") t" PAGE_END
/* $4 is always used, so that both kinds take the same parameters */
#define ALL_OF(at)                                                                                 \
    "SELECT key, id, last, summary, at FROM " PAGE_OF(at,                                          \
                                                      " AND $4::text IS NOT NULL") " "             \
                                                                                   "t" PAGE_END

static const char *const PAGES[2][2] = {
    {[STORE_BY_UPDATED] = MINE_OF(OWN_PAGE, OWNERLESS_PAGE, "updated_at"),
     [STORE_BY_CREATED] =
         MINE_OF(PAGE_OF("created_at", " AND owner_id = $4::text AND owner_id <> ''"),
                 PAGE_OF("created_at", " AND owner_id = '' AND NOT is_sealed"), "created_at")},
    {[STORE_BY_UPDATED] = ALL_OF("updated_at"), [STORE_BY_CREATED] = ALL_OF("created_at")},
};
static const char *const COUNTS[2] = {
    "SELECT sum(n)::bigint FROM (" COUNT_OF(OWN) " UNION ALL " COUNT_OF(
        OWNERLESS) " UNION ALL " COUNT_OF(SHARED NEWEST) ") t",
    COUNT_OF(" AND $4::text IS NOT NULL"),
};

struct pg_count { /* in database.counts, under its lock, but for `params` */
    struct job job;
    struct database *db;
    struct arena arena;
    struct pg_params params; /* of COUNTS; never changed */
    bool sees_all;
    int64_t total;
    uint64_t at_ms;
    bool is_wanted, is_running;
};

struct pg_lister {
    struct store_op *op;
    struct conv place; /* of the cursor */
    struct conv *convs;
    size_t n, cap;
    int64_t total;
    str after; /* row by row: the id to continue behind */
    bool is_over;
};

static str lower(struct arena *a, str s)
{
    char *copy = arena_cstr(a, pg_column_text(a, s));
    for (size_t i = 0; i < s.n; i++)
        if (copy[i] >= 'A' && copy[i] <= 'Z')
            copy[i] = (char)(copy[i] - 'A' + 'a');
    return str_make(copy, s.n);
}

static void lister_keep(struct pg_lister *l, const struct conv *c)
{
    ARENA_GROW(&l->op->arena, l->convs, l->n, l->cap);
    l->convs[l->n++] = *c;
}

/* ---- selected by the database ---- */

static int take_rows(struct pg_conn *c, struct pg_lister *l, const struct pg_query *q,
                     struct err *e)
{
    struct store_op *op = l->op;
    int r = 0;
    l->n = 0;
    for (int i = 0; i < pg_rows(c, q) && r == 0; i++) {
        struct conv *conv;
        str id = arena_str(&op->arena, pg_get_text(c, q, i, 1));
        r = pg_conv_of(c, op, id, pg_get_int(c, q, i, 0), pg_get_int(c, q, i, 2),
                       pg_get_text(c, q, i, 3), &conv, e);
        if (r == 0 && listing_wants(&op->in.query, conv))
            lister_keep(l, conv);
    }
    return r;
}

/* Which ids the marks select, or leave out. */
static void add_marked(struct pg_params *p, struct arena *a, const struct store_query *q)
{
    size_t all = q->marks ? q->marks->n : 0, n = 0;
    str *ids = arena_array(a, all + 1, sizeof *ids);
    bool selects = listing_selects(q);
    for (size_t i = 0; i < all; i++)
        if (listing_takes_mark(q, &q->marks->items[i]) == selects)
            ids[n++] = q->marks->items[i].id;
    pg_texts(p, ids, n);
    pg_bool(p, selects);
}

/* ---- totals ---- */

static void select_params(struct pg_params *p, struct arena *a, const struct store_op *op)
{
    const struct store_query *q = &op->in.query;
    pg_params_init(p, a);
    pg_text(p, arena_str(a, pg_workspace(op->store))); /* it may outlive the store */
    pg_bool(p, q->with_hidden);
    pg_text(p, lower(a, q->search));
    pg_text(p, arena_str(a, pg_column_text(a, q->viewer ? q->viewer->user_id : STR_NONE)));
    add_marked(p, a, q);
}

/* What the list is a list of, as text. */
static str count_key(struct arena *a, const struct store_op *op, bool sees_all)
{
    const struct store_query *q = &op->in.query;
    struct buf b;
    buf_init(&b, COUNT_KEY_MAX);
    buf_printf(&b, "%s\n%d%d%d\n%.*s\n%.*s", op->store->conf.workspace_id, q->with_hidden, sees_all,
               listing_selects(q), STR_ARG(q->search),
               STR_ARG(q->viewer ? q->viewer->user_id : STR_NONE));
    for (size_t i = 0; q->marks && i < q->marks->n; i++)
        if (listing_takes_mark(q, &q->marks->items[i]) == listing_selects(q))
            buf_printf(&b, "\n%.*s", STR_ARG(q->marks->items[i].id));
    return buf_keep_whole(&b, a);
}

static void count_free(struct pg_count *n)
{
    arena_done(&n->arena);
    free(n);
}

static void counts_drop(struct database *db)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&db->counts, &i)) != NULL;) {
        struct pg_count *n = e->value;
        if (n->is_running)
            continue;
        map_del(&db->counts, e->key);
        count_free(n);
    }
}

void pg_counts_clear(struct database *db)
{
    counts_drop(db);
    assert(map_len(&db->counts) == 0);
}

/* True if the total is known. One that is old is asked for again later. */
static bool count_find(struct pg_lister *l, str key)
{
    struct database *db = pg_database(l->op->store);
    pthread_mutex_lock(&db->lock);
    struct pg_count *n = map_get(&db->counts, key);
    if (n) {
        l->total = n->total;
        n->is_wanted |= clock_mono_ms() - n->at_ms > COUNT_AGE_MS;
    }
    pthread_mutex_unlock(&db->lock);
    return n != NULL;
}

static void count_keep(struct pg_lister *l, str key, bool sees_all)
{
    struct database *db = pg_database(l->op->store);
    struct pg_count *n = xcalloc(1, sizeof *n);
    arena_init(&n->arena);
    n->db = db;
    n->sees_all = sees_all;
    n->total = l->total;
    n->at_ms = clock_mono_ms();
    n->is_wanted = true;
    select_params(&n->params, &n->arena, l->op);
    pg_int(&n->params, INT64_MAX);
    pthread_mutex_lock(&db->lock);
    if (map_len(&db->counts) >= COUNTS_MAX)
        counts_drop(db);
    bool is_taken = map_get(&db->counts, key) != NULL;
    if (!is_taken)
        map_put(&db->counts, key, n);
    pthread_mutex_unlock(&db->lock);
    if (is_taken)
        count_free(n);
}

static int count_read(struct pg_conn *c, void *ctx, struct err *e)
{
    struct pg_count *n = ctx;
    struct pg_query q = {.sql = COUNTS[n->sees_all], .params = &n->params, .is_once = true};
    int r = pg_conn_run(c, &q, 1, e);
    int64_t total = r == 0 ? pg_get_int(c, &q, 0, 0) : -1;
    pg_clear(c, &q, 1);
    pthread_mutex_lock(&n->db->lock);
    n->total = total >= 0 ? total : n->total;
    n->at_ms = clock_mono_ms(); /* also if it failed: not again immediately */
    n->is_wanted = false;
    pthread_mutex_unlock(&n->db->lock);
    return r;
}

static void count_work(struct job *j)
{
    struct pg_count *n = CONTAINER_OF(j, struct pg_count, job);
    struct err e = {0};
    (void)database_read(n->db, count_read, n, &e);
}

static void count_done(struct job *j)
{
    struct pg_count *n = CONTAINER_OF(j, struct pg_count, job);
    pthread_mutex_lock(&n->db->lock);
    n->is_running = false;
    pthread_mutex_unlock(&n->db->lock);
}

/* Loop thread, before the answer: one job at a time counts again. */
static void list_done(struct store_op *op)
{
    struct database *db = pg_database(op->store);
    struct pg_count *next = NULL;
    struct map_entry *e;
    pthread_mutex_lock(&db->lock);
    for (size_t i = 0; (e = map_next(&db->counts, &i)) != NULL;) {
        struct pg_count *n = e->value;
        if (n->is_running) {
            next = NULL;
            break;
        }
        if (n->is_wanted)
            next = n;
    }
    if (next) {
        next->is_running = true;
        next->is_wanted = false;
    }
    pthread_mutex_unlock(&db->lock);
    if (next)
        pool_run(db->readers, &next->job, count_work, count_done);
    op_done(op);
}

/* A list that is longer than COUNT_EXACT: the first answer says so, later ones have the total. */
static void use_count(struct pg_lister *l, str key, bool sees_all)
{
    if (l->total > COUNT_EXACT && key.n > 0 && !count_find(l, key))
        count_keep(l, key, sees_all);
}

static int select_page(struct pg_conn *c, void *ctx, struct err *e)
{
    struct pg_lister *l = ctx;
    struct arena *a = &l->op->arena;
    const struct store_query *q = &l->op->in.query;
    bool sees_all = !q->viewer || q->viewer->is_workspace_admin;
    struct pg_params count, page;
    select_params(&count, a, l->op);
    page = count;
    pg_int(&count, COUNT_EXACT + 1);
    pg_text(&page, q->cursor.n > 0 ? pg_column_text(a, l->place.updated_at) : STR("~"));
    pg_text(&page, l->place.id);
    pg_int(&page, (int64_t)q->limit + 1);
    /* Planned for each person: one may own or share almost everything, and another nothing. */
    struct pg_query both[] = {
        {.sql = PAGES[sees_all][q->sort], .params = &page, .is_once = !sees_all},
        {.sql = COUNTS[sees_all], .params = &count, .is_once = !sees_all}};
    /* One that is much longer is still longer: it is not counted for each answer. */
    str key = count_key(a, l->op, sees_all);
    bool is_long = key.n > 0 && count_find(l, key) && l->total > 2 * COUNT_EXACT;
    size_t n = is_long ? 1 : ARRAY_LEN(both);
    int r = pg_conn_run(c, both, n, e);
    if (r == 0 && !is_long) {
        l->total = pg_get_int(c, &both[1], 0, 0);
        use_count(l, key, sees_all);
    }
    if (r == 0)
        r = take_rows(c, l, &both[0], e);
    pg_clear(c, both, n);
    return r;
}

/* ---- row by row ---- */

static int read_parent(struct pg_conn *c, struct pg_lister *l, struct conv *up, bool *ret_is_there,
                       struct err *e)
{
    struct arena *a = &l->op->arena;
    struct conv *parent;
    str id = arena_str(a, json_get_string(up->parent, "conversationId"));
    *ret_is_there = false;
    if (!store_id_valid(id))
        return 0;
    int r = pg_conv_named(c, l->op, id, &parent, e);
    if (r == -ENOENT) {
        err_clear(e);
        return 0;
    }
    *ret_is_there = r == 0;
    if (r == 0)
        *up = *parent;
    return r;
}

static int use_parents_access(struct pg_conn *c, struct pg_lister *l, struct conv *conv,
                              struct err *e)
{
    struct conv up = *conv;
    bool is_there = true;
    int r = 0;
    for (unsigned depth = 0; r == 0 && up.parent && is_there; depth++) {
        if (depth == LISTING_PARENTS_MAX)
            is_there = false;
        else
            r = read_parent(c, l, &up, &is_there, e);
    }
    conv->acl = is_there ? up.acl : LISTING_NOBODY;
    return r;
}

static int filter_rows(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char ROWS[] = "SELECT key, id, last, summary" LIVE " AND id > $2"
                               " AND ($4::text = '' OR is_hidden AND strpos(summary, $4::text) > 0)"
                               " ORDER BY id LIMIT $3::bigint";
    struct pg_lister *l = ctx;
    struct store_op *op = l->op;
    struct pg_params p;
    str after = l->after;
    size_t kept = l->n;
    pg_params_init(&p, &op->arena);
    pg_text(&p, pg_workspace(op->store));
    pg_text(&p, after);
    pg_int(&p, ROWS_PAGE);
    pg_text(&p, op->in.query.branches_of);
    struct pg_query q = {.sql = ROWS, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    for (int i = 0; r == 0 && i < pg_rows(c, &q); i++) {
        struct conv *conv;
        after = arena_str(&op->arena, pg_get_text(c, &q, i, 1));
        r = pg_conv_of(c, op, after, pg_get_int(c, &q, i, 0), pg_get_int(c, &q, i, 2),
                       pg_get_text(c, &q, i, 3), &conv, e);
        if (r == 0 && listing_asks_parent(&op->in.query, conv))
            r = use_parents_access(c, l, conv, e);
        if (r == 0 && listing_wants(&op->in.query, conv))
            lister_keep(l, conv);
    }
    l->is_over = r == 0 && pg_rows(c, &q) < ROWS_PAGE;
    if (r == 0)
        l->after = after;
    else
        l->n = kept; /* this page is read again, over another connection */
    pg_clear(c, &q, 1);
    return r;
}

static int filter_all(struct pg_lister *l)
{
    int r = 0;
    while (r == 0 && !l->is_over)
        r = database_read(pg_database(l->op->store), filter_rows, l, &l->op->err);
    l->total = (int64_t)l->n;
    return r;
}

/* ---- both ---- */

static bool is_row_by_row(const struct store_query *q)
{
    const struct viewer *v = q->viewer;
    if (q->only || q->branches_of.n > 0 || q->own != STORE_ANY || q->shared != STORE_ANY ||
        (q->marks && q->unread != STORE_ANY))
        return true;
    return v && (v->also || v->is_gone || (q->with_hidden && !v->is_workspace_admin));
}

static void list_work(struct store_op *op)
{
    struct pg_lister l = {.op = op};
    const struct store_query *q = &op->in.query;
    if (q->cursor.n > 0 && listing_cursor_parse(q->cursor, &l.place, &op->err) < 0)
        return;
    int r = is_row_by_row(q) ? filter_all(&l)
                             : database_read(pg_database(op->store), select_page, &l, &op->err);
    if (r < 0)
        return;
    struct conv *convs = arena_copy(&op->arena, l.convs, l.n, l.n + 1, sizeof *convs);
    if (listing_page(&op->arena, q, convs, l.n, &op->out.listing, &op->err) == 0)
        op->out.listing.total = l.total;
}

void pg_list(struct store_op *op)
{
    op->step = list_done;
    op_run(op, list_work);
}
