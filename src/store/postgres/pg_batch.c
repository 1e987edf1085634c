#include "store/postgres/pg_batch.h"

#include <assert.h>
#include <errno.h>

#include "base/bytes/hash.h"
#include "base/clock.h"
#include "base/json/json_scan.h"
#include "os/file.h"
#include "store/postgres/pg_store.h"

enum {
    RETRIES_MAX = 8, /* of a transaction that the server rolled back because of a concurrent one */
    ENDS_MAX = 16    /* of a conversation to which another server appends at the same time */
};

#define ELSEWHERE "another nb process has written to this conversation; reload it and try again"

static bool is_create(const struct store_op *op)
{
    return op->task.kind == LOG_CREATE;
}

/* ---- preparing: no connection is needed ---- */

struct op_blobs { /* the place of blobs of a conversation: they become part of the batch */
    struct blob_place place;
    struct pg_batch *batch;
    struct store_op *op;
};

static int add_blob(const struct op_blobs *to, str sha256, str bytes, struct err *e)
{
    struct pg_batch *b = to->batch;
    if (bytes.n > BLOB_MAX_BYTES)
        return err_set(e, -E2BIG, "value of %zu bytes exceeds the size limit of a blob", bytes.n);
    if (b->nblobs == BATCH_BLOBS_MAX)
        return err_set(e, -E2BIG, "too many blobs in one write");
    ARENA_GROW(&b->arena, b->blobs, b->nblobs, b->blobs_cap);
    b->blobs[b->nblobs++] = (struct pg_blob){
        .store = to->op->store, .id = to->op->id, .sha256 = sha256, .bytes = bytes};
    return 0;
}

static int op_blobs_put(const struct blob_place *p, struct arena *a, str bytes, str *ret_sha256,
                        struct err *e)
{
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(bytes, hex);
    *ret_sha256 = arena_str(a, str_from(hex));
    return add_blob(CONTAINER_OF(p, struct op_blobs, place), *ret_sha256, arena_str(a, bytes), e);
}

/* The database leaves out what it has already. */
static bool op_blobs_has(const struct blob_place *p, struct arena *a, str sha256)
{
    return false;
}

static int op_blobs_keep_file(const struct blob_place *p, struct arena *a, const char *from,
                              str sha256, struct err *e)
{
    str bytes;
    int r = file_read(a, from, BLOB_MAX_BYTES, &bytes, e);
    return r < 0
               ? r
               : add_blob(CONTAINER_OF(p, struct op_blobs, place), arena_str(a, sha256), bytes, e);
}

static int check_line(struct pg_batch *b, struct store_op *op, str *line)
{
    const struct op_blobs to = {
        .place = {.put = op_blobs_put, .has = op_blobs_has, .keep_file = op_blobs_keep_file},
        .batch = b,
        .op = op};
    struct arena *a = &op->arena;
    bool is_new = json_scan_field(*line, STR("ts")).n == 0; /* not of another log */
    int r = event_prepare(a, *line, clock_now_ms(), line, &op->err);
    if (r == 0)
        r = blobs_spill(a, &to.place, line, &op->err);
    const struct file_place files = store_file_place(op->store);
    return r < 0 ? r : file_parts_link(a, &to.place, &files, *line, is_new, &op->err);
}

/* False: the call fails, and leaves nothing in the batch. */
static bool prepare_op(struct pg_batch *b, struct store_op *op)
{
    size_t blobs = b->nblobs;
    int r = 0;
    for (size_t i = is_create(op); i < op->nlines && r == 0; i++)
        r = check_line(b, op, &op->lines[i]);
    if (op->task.kind == LOG_RUN) {
        const struct op_blobs to = {.batch = b, .op = op};
        r = op_blobs_put(&to.place, &op->arena, op->in.blob, &op->out.blob, &op->err);
    }
    if (r < 0)
        b->nblobs = blobs;
    return r == 0;
}

/* ---- groups ---- */

/* What this process knows of the conversation is out of date. */
static void group_forget(struct pg_batch *b, struct pg_group *g)
{
    g->conv = NULL;
    g->is_derived = false;
    pg_cache_drop(b->db, g->store, g->id);
}

static struct pg_group *group_of(struct pg_batch *b, struct store_op *op)
{
    for (size_t i = 0; i < b->ngroups; i++)
        if (b->groups[i].store == op->store && str_eq(b->groups[i].id, op->id))
            return &b->groups[i];
    struct pg_group *g = &b->groups[b->ngroups++];
    *g = (struct pg_group){.store = op->store,
                           .id = op->id,
                           .is_new = is_create(op),
                           .is_fresh_id = is_create(op) && op->in.create.is_fresh_id,
                           .expected = -1,
                           .epoch = op->lease_epoch,
                           .at_end = op->has_at_end ? (int64_t)op->at_end : -1,
                           .ops = arena_array(&b->arena, b->nops, sizeof(struct store_op *))};
    g->conv = g->is_new ? NULL : pg_cache_get(b->db, op->store, op->id);
    if (g->conv && g->at_end >= 0 && g->conv->last != g->at_end)
        group_forget(b, g);
    return g;
}

static void make_groups(struct pg_batch *b)
{
    for (size_t i = 0; i < b->nops; i++) {
        struct store_op *op = b->ops[i];
        if (!prepare_op(b, op))
            continue;
        struct pg_group *g = group_of(b, op);
        assert(g->nops == 0 || !g->is_new); /* a new conversation is alone in its group */
        g->ops[g->nops++] = op;
        g->nlines += op->nlines;
    }
}

static void group_fail(struct pg_batch *b, struct pg_group *g, const struct err *e)
{
    assert(e->code < 0);
    g->is_settled = true;
    for (size_t i = 0; i < g->nops; i++)
        g->ops[i]->err = *e;
    g->conv = NULL;
    pg_cache_drop(b->db, g->store, g->id); /* it has derived from lines that are not stored */
}

static void group_fail_with(struct pg_batch *b, struct pg_group *g, int code, const char *why)
{
    struct err e;
    err_set(&e, code, "%s: %.*s", why, STR_ARG(g->id));
    group_fail(b, g, &e);
}

static void batch_fail(struct pg_batch *b, const struct err *e)
{
    for (size_t i = 0; i < b->ngroups; i++)
        if (!b->groups[i].is_settled)
            group_fail(b, &b->groups[i], e);
}

/* ---- deriving ---- */

/* The lines of the group, and what the conversation looks like after them. */
static void group_derive(struct pg_batch *b, struct pg_group *g)
{
    struct err e;
    size_t n = 0;
    g->is_derived = true;
    if (g->is_new)
        g->conv = pg_cache_add(b->db, g->store, g->id);
    else
        g->expected = g->conv->last;
    g->key = g->conv->key;
    g->lines = arena_array(&b->arena, g->nlines + 1, sizeof(str));
    g->texts = arena_array(&b->arena, g->nlines + 1, sizeof *g->texts);
    g->has_text = arena_array(&b->arena, g->nlines + 1, sizeof(bool));
    for (size_t i = 0; i < g->nops; i++) {
        struct store_op *op = g->ops[i];
        for (size_t k = 0; k < op->nlines; k++, n++) {
            g->lines[n] = str_slice(op->lines[k], 0, op->lines[k].n - 1);
            op->pos[k] = (store_pos)(g->expected + 1 + (int64_t)n);
            derive_appended(&g->conv->derived.derive, g->lines[n], op->pos[k]);
            g->has_text[n] = op->pos[k] > 0 && pg_text_of(&b->arena, g->lines[n], &g->texts[n]);
        }
    }
    g->summary = pg_summary_write(&b->arena, &g->conv->derived);
    if (g->summary.n == 0) {
        err_set(&e, -E2BIG, "the metadata of the conversation is too large");
        group_fail(b, g, &e);
    }
}

static int load_and_derive(struct pg_batch *b, struct pg_conn *c, struct err *e)
{
    int r = pg_sql_load(c, b, e);
    for (size_t i = 0; i < b->ngroups && r == 0; i++) {
        struct pg_group *g = &b->groups[i];
        if (g->is_settled || g->is_derived)
            continue;
        if (!g->is_new && !g->conv)
            group_fail_with(b, g, -ENOENT, "no such conversation");
        else if (g->at_end >= 0 && g->conv->last != g->at_end)
            group_fail_with(b, g, -EBUSY, ELSEWHERE);
        else
            group_derive(b, g);
    }
    return r;
}

/* ---- committing ---- */

static void group_won(struct pg_batch *b, struct pg_group *g)
{
    g->is_settled = true;
    g->conv->key = g->key;
    g->conv->last = g->expected + (int64_t)g->nlines;
    atomic_fetch_add(&b->db->nappends, g->nops);
}

/* The fence: another process has written at these places, or an earlier attempt of this batch whose
 * answer was lost. */
static int group_lost(struct pg_batch *b, struct pg_conn *c, struct pg_group *g, struct err *e)
{
    struct pg_found is;
    int r = pg_sql_find(c, &b->arena, g, &is, e);
    if (r < 0)
        return r;
    if (is.is_written && b->has_doubt) /* else another process has written the same bytes */
        group_won(b, g);
    else if (g->is_new)
        group_fail_with(b, g, -EEXIST, "this conversation already exists");
    else if (!is.exists)
        group_fail_with(b, g, -ENOENT, "no such conversation");
    else if (!is.is_leased)
        group_fail_with(b, g, -EOWNERDEAD, STORE_LEASE_LOST);
    else if (b->db->replica && g->at_end < 0 && g->tries++ < ENDS_MAX)
        group_forget(b, g); /* the next attempt appends at the new end */
    else
        group_fail_with(b, g, -EBUSY, ELSEWHERE);
    return 0;
}

/* The transaction was committed. A group without lines has only blobs. */
static int settle(struct pg_batch *b, struct pg_conn *c, struct err *e)
{
    int r = 0;
    for (size_t i = 0; i < b->ngroups && r == 0; i++) {
        struct pg_group *g = &b->groups[i];
        if (g->is_settled)
            continue;
        if (g->is_won || g->nlines == 0)
            group_won(b, g);
        else
            r = group_lost(b, c, g, e);
    }
    return r;
}

/* After a connection was lost: which groups were committed? */
static int resolve_doubt(struct pg_batch *b, struct pg_conn *c, struct err *e)
{
    int r = 0;
    for (size_t i = 0; i < b->ngroups && r == 0; i++) {
        struct pg_group *g = &b->groups[i];
        struct pg_found is;
        if (g->is_settled || g->nlines == 0)
            continue;
        r = pg_sql_find(c, &b->arena, g, &is, e);
        if (r == 0 && is.is_written)
            group_won(b, g);
    }
    return r;
}

static bool is_all_settled(const struct pg_batch *b)
{
    for (size_t i = 0; i < b->ngroups; i++)
        if (!b->groups[i].is_settled)
            return false;
    return true;
}

static bool is_all_derived(const struct pg_batch *b)
{
    for (size_t i = 0; i < b->ngroups; i++)
        if (!b->groups[i].is_derived && !b->groups[i].is_settled)
            return false;
    return true;
}

/* One attempt, over the connection that there is or a new one. */
static int attempt(struct pg_batch *b, bool *is_in_doubt, uint64_t deadline_ms, struct err *e)
{
    struct pg_conn *c;
    int r = database_writer(b->db, deadline_ms, &c, e);
    if (r == 0)
        r = load_and_derive(b, c, e);
    if (r == 0 && *is_in_doubt) {
        r = resolve_doubt(b, c, e);
        *is_in_doubt = r < 0;
    }
    if (r < 0 || is_all_settled(b))
        return r;
    r = pg_sql_commit(c, b, e);
    *is_in_doubt = r < 0 && c->is_lost;
    b->has_doubt |= *is_in_doubt;
    return r < 0 ? r : settle(b, c, e);
}

/* If one conversation makes the transaction fail, the others must not suffer: each alone. */
static void each_alone(struct pg_batch *b, uint64_t deadline_ms)
{
    bool *was_settled = arena_array(&b->arena, b->ngroups, sizeof(bool));
    for (size_t i = 0; i < b->ngroups; i++) {
        was_settled[i] = b->groups[i].is_settled;
        b->groups[i].is_settled = true;
    }
    for (size_t i = 0; i < b->ngroups; i++) {
        struct err e = {0};
        bool is_in_doubt = false;
        if (was_settled[i])
            continue;
        b->groups[i].is_settled = false;
        while (!b->groups[i].is_settled)
            if (attempt(b, &is_in_doubt, deadline_ms, &e) < 0)
                group_fail(b, &b->groups[i], &e);
    }
}

static void batch_work(struct job *j)
{
    struct pg_batch *b = CONTAINER_OF(j, struct pg_batch, job);
    uint64_t deadline = clock_mono_ms() + DATABASE_WRITE_WAIT_MS;
    bool is_in_doubt = false;
    struct err e = {0};
    int r = 0, tries = 0;
    if (atomic_exchange(&b->db->is_cache_stale, false))
        pg_cache_clear(b->db);
    make_groups(b);
    while (!is_all_settled(b)) {
        r = attempt(b, &is_in_doubt, deadline, &e);
        bool may_repeat = (r == -EAGAIN && tries++ < RETRIES_MAX) || r == -EHOSTUNREACH;
        if (r < 0 && (!may_repeat || clock_mono_ms() >= deadline))
            break;
    }
    if (r == -EHOSTUNREACH)
        err_set(&e, r, "the database cannot be reached now; try again in a few seconds");
    if (r < 0 && is_all_derived(b) && r != -EHOSTUNREACH && b->ngroups > 1)
        each_alone(b, deadline);
    if (is_in_doubt)
        err_prefix(&e, "it is not known whether the event was stored");
    if (!is_all_settled(b))
        batch_fail(b, &e);
    pg_cache_trim(b->db);
    atomic_fetch_add(&b->db->nbatches, 1);
}

/* ---- the loop thread ---- */

static void start_batch(struct database *db);

static void batch_done(struct job *j)
{
    struct pg_batch *b = CONTAINER_OF(j, struct pg_batch, job);
    struct database *db = b->db;
    assert(db->batch == b);
    db->batch = NULL;
    start_batch(db); /* first: the callbacks run while the database works */
    for (size_t i = 0; i < b->nops; i++)
        op_done(b->ops[i]);
    outbox_load_done(&b->outbox);
    arena_done(&b->arena);
    free(b);
}

static size_t op_bytes(const struct store_op *op)
{
    size_t n = op->task.kind == LOG_RUN ? op->in.blob.n : 0;
    for (size_t i = 0; i < op->nlines; i++)
        n += op->lines[i].n;
    return n;
}

/* A conversation that is new in this batch has no other calls in it: they would have to know
 * whether it could be created. The lines of a group are written under the same terms. */
static bool must_follow(const struct pg_batch *b, const struct store_op *op)
{
    for (size_t i = 0; i < b->nops; i++) {
        const struct store_op *before = b->ops[i];
        if (before->store == op->store && str_eq(before->id, op->id) &&
            (is_create(before) || is_create(op) || before->lease_epoch != op->lease_epoch ||
             before->has_at_end || op->has_at_end))
            return true;
    }
    return false;
}

static void start_batch(struct database *db)
{
    size_t bytes = 0;
    if (db->batch || list_empty(&db->pending))
        return;
    struct pg_batch *b = xcalloc(1, sizeof *b);
    arena_init(&b->arena);
    b->db = db;
    LIST_EACH (op, &db->pending, struct store_op, wait) {
        if (must_follow(b, op)) /* and so must all calls after it, to keep their order */
            break;
        bytes += op_bytes(op);
        if (b->nops == BATCH_OPS_MAX || (b->nops > 0 && bytes > BATCH_BYTES_MAX))
            break;
        list_del(&op->wait);
        b->ops[b->nops++] = op;
    }
    db->batch = b;
    outbox_take(&db->outbox, &b->outbox);
    pool_run(db->write_pool, &b->job, batch_work, batch_done);
}

void pg_batch_submit(struct store_op *op)
{
    struct database *db = pg_database(op->store);
    assert(list_empty(&op->wait));
    list_push(&db->pending, &op->wait);
    start_batch(db);
}
