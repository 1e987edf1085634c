/* pg_change.c - fork, delete, restore. Each is a transaction of its own, on a reader's connection.
 *
 * A conversation in the trash is the same row with the time of its deletion. A purge first gives
 * the row a negative time, so that nobody can find it, and then deletes its lines in pieces: a long
 * log must not hold up the database. An interrupted purge is finished by the next sweep.
 *
 * database_read calls a function twice when a connection was lost, so each of them recognises its
 * own work from the first time. */
#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "store/files/trash.h"
#include "store/postgres/pg_batch.h"
#include "store/postgres/pg_store.h"

enum { PIECE = 10000, RETRIES = 5, LEDGER_ROWS = 64 };

static int run_one(struct pg_conn *c, const char *sql, const struct pg_params *p, struct err *e)
{
    struct pg_query q = {.sql = sql, .params = p};
    int r = pg_conn_run(c, &q, 1, e);
    pg_clear(c, &q, 1);
    return r;
}

static int begin(struct pg_conn *c, struct err *e)
{
    return run_one(c, "BEGIN", NULL, e);
}

static int commit(struct pg_conn *c, struct err *e)
{
    struct pg_query q = {.sql = "COMMIT"};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && !str_eq(pg_command_tag(c, &q), STR("COMMIT")))
        r = err_set(e, -EIO, "the database has rolled the transaction back");
    pg_clear(c, &q, 1);
    return r;
}

/* Ends the transaction; returns r, or the error of COMMIT. */
static int finish(struct pg_conn *c, int r, struct err *e)
{
    struct err ignored;
    if (r == 0)
        return commit(c, e);
    if (!c->is_lost)
        (void)run_one(c, "ROLLBACK", NULL, &ignored);
    return r;
}

/* Repeats a transaction that was rolled back because of a concurrent one. */
static int repeat(struct store *s, database_fn fn, void *ctx, struct err *e)
{
    int r = -EAGAIN;
    for (int i = 0; i < RETRIES && r == -EAGAIN; i++) {
        err_clear(e);
        r = database_read(pg_database(s), fn, ctx, e);
    }
    return r;
}

/* ---- purging ---- */

static int delete_blobs(struct pg_conn *c, struct arena *a, int64_t key, struct err *e)
{
    static const char UNUSE[] =
        "WITH gone AS (DELETE FROM nb_blob_use WHERE conversation = $1::bigint"
        " RETURNING workspace, sha256)"
        " DELETE FROM nb_blob b USING gone g WHERE b.workspace = g.workspace"
        " AND b.sha256 = g.sha256 AND NOT EXISTS (SELECT 1 FROM nb_blob_use u"
        " WHERE u.workspace = b.workspace AND u.sha256 = b.sha256"
        " AND u.conversation <> $1::bigint)";
    struct pg_params p;
    pg_params_init(&p, a);
    pg_int(&p, key);
    return run_one(c, UNUSE, &p, e);
}

static int delete_lines(struct pg_conn *c, struct arena *a, int64_t key, struct err *e)
{
    static const char LINES[] =
        "WITH upto AS (SELECT min(seq) + $2::bigint AS seq FROM nb_event"
        " WHERE conversation = $1::bigint), words AS (DELETE FROM nb_text t USING upto u"
        " WHERE t.conversation = $1::bigint AND t.seq < u.seq)"
        " DELETE FROM nb_event e USING upto u WHERE e.conversation = $1::bigint"
        " AND e.seq < u.seq";
    struct pg_params p;
    str tag = STR_NONE;
    int r = 0;
    pg_params_init(&p, a);
    pg_int(&p, key);
    pg_int(&p, PIECE);
    while (r == 0 && !str_eq(tag, STR("DELETE 0"))) {
        struct pg_query q = {.sql = LINES, .params = &p};
        r = pg_conn_run(c, &q, 1, e);
        tag = arena_str(a, pg_command_tag(c, &q));
        pg_clear(c, &q, 1);
    }
    return r;
}

/* The row must be out of reach already. */
static int purge_key(struct pg_conn *c, struct arena *a, int64_t key, struct err *e)
{
    struct pg_params p;
    pg_params_init(&p, a);
    pg_int(&p, key);
    int r = delete_lines(c, a, key, e);
    if (r == 0)
        r = delete_blobs(c, a, key, e);
    return r < 0 ? r : run_one(c, "DELETE FROM nb_conversation WHERE key = $1::bigint", &p, e);
}

/* ---- delete ---- */

struct removing {
    struct store_op *op;
    int64_t when_ms;
    int64_t *keys; /* purge: rows that are out of reach */
    size_t nkeys, cap;
    bool is_moved, is_committed;
};

struct trash_row {
    int64_t key, deleted_ms;
};

static int set_deleted(struct pg_conn *c, struct arena *a, int64_t key, int64_t when, struct err *e)
{
    struct pg_params p;
    pg_params_init(&p, a);
    pg_int(&p, key);
    pg_int(&p, when);
    return run_one(c, "UPDATE nb_conversation SET deleted_ms = $2::bigint WHERE key = $1::bigint",
                   &p, e);
}

/* The newest rows first; a live one is the only one. The viewer sees only what they may manage. */
static int find_rows(struct pg_conn *c, struct store_op *op, bool is_live, struct trash_row *ret,
                     size_t max, size_t *ret_n, struct err *e)
{
    static const char LIVE[] = "SELECT key, deleted_ms, last, summary FROM nb_conversation"
                               " WHERE workspace = $1 AND id = $2 AND deleted_ms = 0 FOR UPDATE";
    static const char TRASHED[] = "SELECT key, deleted_ms, last, summary FROM nb_conversation"
                                  " WHERE workspace = $1 AND id = $2 AND deleted_ms > 0"
                                  " ORDER BY deleted_ms DESC FOR UPDATE";
    struct pg_params p;
    struct conv *conv;
    pg_params_init(&p, &op->arena);
    pg_text(&p, pg_workspace(op->store));
    pg_text(&p, op->id);
    struct pg_query q = {.sql = is_live ? LIVE : TRASHED, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    *ret_n = 0;
    for (int i = 0; r == 0 && i < pg_rows(c, &q) && *ret_n < max; i++) {
        int64_t key = pg_get_int(c, &q, i, 0);
        r = pg_conv_of(c, op, op->id, key, pg_get_int(c, &q, i, 2), pg_get_text(c, &q, i, 3), &conv,
                       e);
        bool is_own = r == 0 && op_may_manage(op, conv);
        ret[*ret_n] =
            (struct trash_row){.key = is_own ? key : 0, .deleted_ms = pg_get_int(c, &q, i, 1)};
        ++*ret_n;
    }
    pg_clear(c, &q, 1);
    return r;
}

#define TRASH_ROWS 64

static int hide_for_purge(struct pg_conn *c, struct removing *m, const struct trash_row *rows,
                          size_t n, struct err *e)
{
    struct arena *a = &m->op->arena;
    int r = 0;
    m->nkeys = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        if (rows[i].key == 0)
            continue;
        ARENA_GROW(a, m->keys, m->nkeys, m->cap);
        m->keys[m->nkeys++] = rows[i].key;
        r = set_deleted(c, a, rows[i].key, -rows[i].key, e);
    }
    return r;
}

static int move_rows(struct pg_conn *c, struct removing *m, struct err *e)
{
    struct store_op *op = m->op;
    struct trash_row rows[TRASH_ROWS];
    size_t n;
    int r = find_rows(c, op, true, rows, 1, &n, e);
    bool is_found = r == 0 && n > 0 && rows[0].key != 0;
    if (r == 0 && n == 0 && op->in.is_purge) {
        r = find_rows(c, op, false, rows, TRASH_ROWS, &n, e);
        for (size_t i = 0; r == 0 && i < n; i++)
            is_found |= rows[i].key != 0;
    }
    if (r < 0)
        return r;
    if (!is_found)
        return m->is_moved ? 0 /* the first time was committed */
                           : err_set(e, -ENOENT, "no such conversation: %.*s", STR_ARG(op->id));
    if (op->in.is_purge)
        r = hide_for_purge(c, m, rows, n, e);
    else
        r = set_deleted(c, &op->arena, rows[0].key, m->when_ms, e);
    m->is_moved = r == 0;
    return r;
}

static int remove_rows(struct pg_conn *c, void *ctx, struct err *e)
{
    struct removing *m = ctx;
    int r = 0;
    if (!m->is_committed) {
        r = begin(c, e);
        if (r == 0)
            r = finish(c, move_rows(c, m, e), e);
        m->is_committed = r == 0;
    }
    for (size_t i = 0; r == 0 && i < m->nkeys; i++)
        r = purge_key(c, &m->op->arena, m->keys[i], e);
    return r;
}

static void pg_remove_work(struct store_op *op)
{
    struct removing m = {.op = op, .when_ms = clock_now_ms()};
    int r = repeat(op->store, remove_rows, &m, &op->err);
    for (int i = 0; r == -EEXIST && i < RETRIES; i++) { /* two in the same millisecond */
        m.when_ms++;
        r = repeat(op->store, remove_rows, &m, &op->err);
    }
    atomic_store(&pg_database(op->store)->is_cache_stale, true);
}

void pg_remove(struct store_op *op)
{
    op_run(op, pg_remove_work);
}

/* ---- restore ---- */

struct pg_restoring {
    struct store_op *op;
    int64_t key; /* of the first time */
};

static int restore_rows(struct pg_conn *c, struct pg_restoring *m, struct err *e)
{
    struct store_op *op = m->op;
    struct trash_row live[1], trashed[TRASH_ROWS];
    size_t nlive, n, own = 0;
    int r = find_rows(c, op, true, live, 1, &nlive, e);
    if (r == 0 && nlive > 0 && m->key != 0 && live[0].key == m->key)
        return 0; /* the first time was committed */
    if (r == 0)
        r = find_rows(c, op, false, trashed, TRASH_ROWS, &n, e);
    if (r < 0)
        return r;
    while (own < n && trashed[own].key == 0)
        own++;
    if (own == n)
        return err_set(e, -ENOENT, "%.*s is not in the trash", STR_ARG(op->id));
    if (nlive > 0)
        return err_set(e, -EEXIST, "this conversation already exists: %.*s", STR_ARG(op->id));
    m->key = trashed[own].key;
    return set_deleted(c, &op->arena, m->key, 0, e);
}

static int restore_one(struct pg_conn *c, void *ctx, struct err *e)
{
    int r = begin(c, e);
    return r < 0 ? r : finish(c, restore_rows(c, ctx, e), e);
}

static void restore_work(struct store_op *op)
{
    struct pg_restoring m = {.op = op};
    (void)repeat(op->store, restore_one, &m, &op->err);
    atomic_store(&pg_database(op->store)->is_cache_stale, true);
}

void pg_restore(struct store_op *op)
{
    op_run(op, restore_work);
}

/* ---- the trash ---- */

static int purge_expired(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char EXPIRED[] = "SELECT key, id FROM nb_conversation WHERE workspace = $1"
                                  " AND (deleted_ms < 0 OR (deleted_ms > 0 AND deleted_ms <"
                                  " $2::bigint)) ORDER BY key LIMIT 1000";
    struct store_op *op = ctx;
    struct arena *a = &op->arena;
    struct pg_params p;
    pg_params_init(&p, a);
    pg_text(&p, pg_workspace(op->store));
    pg_int(&p, clock_now_ms() - (int64_t)TRASH_DAYS * 24 * 3600 * 1000);
    struct pg_query q = {.sql = EXPIRED, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    for (int i = 0; r == 0 && i < pg_rows(c, &q); i++) {
        int64_t key = pg_get_int(c, &q, i, 0);
        r = set_deleted(c, a, key, -key, e);
        if (r == 0)
            r = purge_key(c, a, key, e);
        if (r == 0)
            note_swept(op, pg_get_text(c, &q, i, 1));
    }
    pg_clear(c, &q, 1);
    return r;
}

static void sweep_work(struct store_op *op)
{
    (void)repeat(op->store, purge_expired, op, &op->err);
}

static void answer_sweep(struct store_op *op)
{
    if (op->err.code)
        log_warn(op->store->env->log, "store", "the trash cannot be emptied: %s", op->err.msg);
    tell_swept(op);
}

void pg_sweep(struct store *s)
{
    op_run(op_new(s, STR_NONE, answer_sweep, NULL), sweep_work);
}

/* ---- fork ---- */

struct forking {
    struct store_op *op;
    struct fork_filter filter;
    struct pg_derive derived;
    int64_t *from, *to; /* which line becomes which */
    size_t n, from_cap, to_cap;
    int64_t source;
};

static bool on_fork_line(void *ctx, str line, store_pos pos)
{
    struct forking *f = ctx;
    struct arena *a = &f->op->arena;
    if (pos == 0)
        return true;
    enum fork_verdict verdict = fork_line(&f->filter, line);
    if (verdict == FORK_COPY || verdict == FORK_COPY_LAST) {
        ARENA_GROW(a, f->from, f->n, f->from_cap);
        ARENA_GROW(a, f->to, f->n, f->to_cap);
        f->from[f->n] = (int64_t)pos;
        f->to[f->n] = (int64_t)f->n + 1;
        f->n++;
        derive_line(&f->derived.derive, line, f->n);
    }
    return verdict != FORK_STOP && verdict != FORK_COPY_LAST;
}

static int copy_lines(struct pg_conn *c, const struct forking *f, int64_t key, struct err *e)
{
    static const char COPY[] =
        "INSERT INTO nb_event (conversation, seq, line) SELECT $2::bigint, w.seq, e.line"
        " FROM unnest($3::bigint[], $4::bigint[]) AS w(old, seq)"
        " JOIN nb_event e ON e.conversation = $1::bigint AND e.seq = w.old";
    static const char WORDS[] =
        "INSERT INTO nb_text (conversation, seq, at_ms, words) SELECT $2::bigint, w.seq, t.at_ms,"
        " t.words FROM unnest($3::bigint[], $4::bigint[]) AS w(old, seq)"
        " JOIN nb_text t ON t.conversation = $1::bigint AND t.seq = w.old";
    static const char USES[] =
        "INSERT INTO nb_blob_use (conversation, workspace, sha256) SELECT $2::bigint, workspace,"
        " sha256 FROM nb_blob_use WHERE conversation = $1::bigint";
    static const char LAST[] =
        "UPDATE nb_conversation SET last = $2::bigint WHERE key = $1::bigint";
    struct arena *a = &f->op->arena;
    struct pg_params copy, uses, last;
    pg_params_init(&copy, a);
    pg_int(&copy, f->source);
    pg_int(&copy, key);
    pg_ints(&copy, f->from, f->n);
    pg_ints(&copy, f->to, f->n);
    pg_params_init(&uses, a);
    pg_int(&uses, f->source);
    pg_int(&uses, key);
    pg_params_init(&last, a);
    pg_int(&last, key);
    pg_int(&last, (int64_t)f->n);
    struct pg_query q[] = {{.sql = COPY, .params = &copy},
                           {.sql = WORDS, .params = &copy},
                           {.sql = USES, .params = &uses},
                           {.sql = LAST, .params = &last}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    pg_clear(c, q, ARRAY_LEN(q));
    return r;
}

/* The row of the fork, with line 1; then the other lines. */
static int write_fork(struct pg_conn *c, struct forking *f, str header, struct err *e)
{
    struct store_op *op = f->op;
    struct pg_cached conv = {0};
    struct pg_batch *b = ARENA_NEW(&op->arena, struct pg_batch);
    arena_init(&b->arena);
    conv.derived = f->derived;
    b->ngroups = 1;
    b->groups[0] = (struct pg_group){.store = op->store,
                                     .id = op->id,
                                     .conv = &conv,
                                     .is_new = true,
                                     .is_fresh_id = true,
                                     .expected = -1,
                                     .lines = &header,
                                     .nlines = 1,
                                     .summary = pg_summary_write(&op->arena, &f->derived)};
    int r = pg_sql_create(c, b, e);
    bool is_made = b->groups[0].is_won;
    int64_t key = b->groups[0].key;
    arena_done(&b->arena);
    /* The id is random: a conversation that has it was made the first time. */
    return r < 0 || !is_made ? r : copy_lines(c, f, key, e);
}

static int fork_conv(struct pg_conn *c, void *ctx, struct err *e)
{
    struct forking *f = ctx;
    struct store_op *op = f->op;
    str line = header_line(&op->arena, op->store, op->id, &op->in.create, clock_now_ms());
    int r = line.n > 0 ? 0 : err_set(e, -E2BIG, "the metadata of the conversation is too large");
    str header = str_slice(line, 0, line.n > 0 ? line.n - 1 : 0);
    pg_derive_init(&f->derived, op->store->env);
    f->n = 0;
    f->filter = (struct fork_filter){.at_message = op->at_message};
    derive_line(&f->derived.derive, header, 0);
    if (r == 0)
        r = begin(c, e);
    if (r == 0) {
        r = pg_find_key(c, &op->arena, op->store, op->in.create.forked_from, &f->source, e);
        if (r == 0)
            r = pg_each_line(c, f->source, on_fork_line, f, e);
        if (r == 0)
            r = write_fork(c, f, header, e);
        r = finish(c, r, e);
    }
    pg_derive_done(&f->derived);
    return r;
}

static void fork_work(struct store_op *op)
{
    struct forking f = {.op = op};
    (void)repeat(op->store, fork_conv, &f, &op->err);
}

void pg_fork(struct store_op *op)
{
    op_run(op, fork_work);
}

/* ---- the ledger ---- */

struct ledger_call {
    struct store *store;
    struct arena *arena;
    str lines;
    uint64_t after;
};

static int ledger_insert(struct pg_conn *c, void *ctx, struct err *e)
{
    const struct ledger_call *l = ctx;
    struct pg_params p;
    pg_params_init(&p, l->arena);
    pg_text(&p, pg_workspace(l->store));
    pg_text(&p, l->lines);
    return run_one(c, "INSERT INTO nb_deleted_usage (workspace, lines) VALUES ($1, $2)", &p, e);
}

/* Readers of the ledger ignore a deletion that is recorded twice (ledger.c), so it may be repeated
 * after a lost connection. */
int pg_ledger_add(struct store *s, str lines, struct err *e)
{
    struct arena a;
    arena_init(&a);
    struct ledger_call l = {.store = s, .arena = &a, .lines = lines};
    int r = database_read(pg_database(s), ledger_insert, &l, e);
    arena_done(&a);
    return r;
}

/* Pages are made of the whole text of the workspace, as if it was one file. */
static int ledger_select(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char ROWS[] =
        "SELECT lines, upto FROM (SELECT no, lines, sum(octet_length(lines)) OVER (ORDER BY no)"
        "::bigint AS upto FROM nb_deleted_usage WHERE workspace = $1) t WHERE upto > $2::bigint"
        " ORDER BY no LIMIT $3::bigint";
    struct ledger_call *l = ctx;
    struct pg_params p;
    struct buf b;
    pg_params_init(&p, l->arena);
    pg_text(&p, pg_workspace(l->store));
    pg_int(&p, (int64_t)l->after);
    pg_int(&p, LEDGER_ROWS);
    struct pg_query q = {.sql = ROWS, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    buf_init(&b, 32u << 20);
    for (int i = 0; r == 0 && i < pg_rows(c, &q) && b.n < LEDGER_PAGE; i++) {
        str lines = pg_get_text(c, &q, i, 0);
        uint64_t from = (uint64_t)pg_get_int(c, &q, i, 1) - lines.n;
        buf_add_str(&b, str_skip(lines, l->after > from ? (size_t)(l->after - from) : 0));
    }
    l->lines = buf_keep(&b, l->arena);
    pg_clear(c, &q, 1);
    return r;
}

int pg_ledger_page(struct store *s, uint64_t after, struct arena *a, str *ret, struct err *e)
{
    struct ledger_call l = {.store = s, .arena = a, .after = after};
    int r = database_read(pg_database(s), ledger_select, &l, e);
    *ret = r == 0 ? l.lines : STR_NONE;
    return r;
}
