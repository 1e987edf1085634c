#include "store/shared/pg_documents.h"

#include <errno.h>

enum { TRIES = 5 /* of a transaction that was rolled back because of a concurrent one */ };

struct documents_call {
    struct arena *arena;
    str workspace_id, path, bytes;
    int64_t since;
    const struct document_change *change;
    struct document_news *news;
};

static struct database *db_of(struct document_table *t)
{
    return CONTAINER_OF(t, struct pg_documents, table)->db;
}

static void params_of(struct pg_params *p, struct arena *a, str workspace_id, str path)
{
    pg_params_init(p, a);
    pg_text(p, workspace_id);
    pg_text(p, path);
}

static int documents_run(struct pg_conn *c, const char *sql, const struct pg_params *p,
                         struct err *e)
{
    struct pg_query q = {.sql = sql, .params = p};
    int r = pg_conn_run(c, &q, 1, e);
    pg_clear(c, &q, 1);
    return r;
}

/* ---- reading ---- */

static int select_document(struct pg_conn *c, struct arena *a, const struct pg_params *p,
                           const char *sql, str *ret, struct err *e)
{
    struct pg_query q = {.sql = sql, .params = p};
    int r = pg_conn_run(c, &q, 1, e);
    bool is_there = r == 0 && pg_rows(c, &q) > 0 && !pg_is_null(c, &q, 0, 0);
    *ret = is_there ? arena_str(a, pg_get_text(c, &q, 0, 0)) : STR_NONE;
    pg_clear(c, &q, 1);
    return r;
}

static int read_one_document(struct pg_conn *c, void *ctx, struct err *e)
{
    struct documents_call *x = ctx;
    struct pg_params p;
    params_of(&p, x->arena, x->workspace_id, x->path);
    return select_document(c, x->arena, &p,
                           "SELECT bytes FROM nb_document WHERE workspace = $1 AND path = $2",
                           &x->bytes, e);
}

static int documents_read(struct document_table *t, struct arena *a, str workspace_id, str path,
                          str *ret, struct err *e)
{
    struct documents_call x = {.arena = a, .workspace_id = workspace_id, .path = path};
    int r = database_read(db_of(t), read_one_document, &x, e);
    *ret = r == 0 ? x.bytes : STR_NONE;
    return r;
}

/* ---- changing ---- */

static int next_version(struct pg_conn *c, struct arena *a, const struct document_change *change,
                        int64_t *ret, struct err *e)
{
    struct pg_params p;
    pg_params_init(&p, a);
    pg_text(&p, arena_printf(a, "documents/%.*s", STR_ARG(change->workspace_id)));
    struct pg_query q = {.sql = "INSERT INTO nb_generation AS n (name, generation) VALUES ($1, 1)"
                                " ON CONFLICT (name) DO UPDATE SET generation = n.generation + 1"
                                " RETURNING generation",
                         .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    *ret = r == 0 ? pg_get_int(c, &q, 0, 0) : 0;
    pg_clear(c, &q, 1);
    return r;
}

/* A document that is followed stays as a row when it is removed, so that others remove it too. */
static int write_document(struct pg_conn *c, struct arena *a, const struct document_change *change,
                          int64_t version, str bytes, struct err *e)
{
    struct pg_params p;
    params_of(&p, a, change->workspace_id, change->path);
    if (bytes.n == 0 && !change->is_followed)
        return documents_run(c, "DELETE FROM nb_document WHERE workspace = $1 AND path = $2", &p,
                             e);
    pg_int(&p, version);
    pg_byteas(&p, &bytes, 1);
    return documents_run(c,
                         "UPDATE nb_document n SET version = $3::bigint, bytes = CASE WHEN"
                         " octet_length(b) > 0 THEN b END FROM unnest($4::bytea[]) AS b"
                         " WHERE n.workspace = $1 AND n.path = $2",
                         &p, e);
}

static int change_rows(struct pg_conn *c, struct arena *a, const struct document_change *change,
                       struct err *e)
{
    struct pg_params p;
    str old, bytes = STR_NONE;
    int64_t version = 0;
    int r = change->is_followed ? next_version(c, a, change, &version, e) : 0;
    params_of(&p, a, change->workspace_id, change->path);
    if (r == 0)
        r = documents_run(c,
                          "INSERT INTO nb_document (workspace, path, version) VALUES ($1, $2, 0)"
                          " ON CONFLICT (workspace, path) DO NOTHING",
                          &p, e);
    if (r == 0)
        r = select_document(c, a, &p,
                            "SELECT bytes FROM nb_document WHERE workspace = $1 AND path = $2"
                            " FOR UPDATE",
                            &old, e);
    if (r == 0)
        r = change->edit(change->ctx, a, old, &bytes, e);
    if (r == 0 && bytes.n > DOCUMENT_MAX)
        r = err_set(e, -E2BIG, "the document '%.*s' would have more than %u bytes",
                    STR_ARG(change->path), DOCUMENT_MAX);
    if (r < 0 || (bytes.p == old.p && bytes.n > 0))
        return r;
    return write_document(c, a, change, version, bytes, e);
}

static int change_document(struct pg_conn *c, void *ctx, struct err *e)
{
    const struct documents_call *x = ctx;
    struct err ignored = {0};
    struct arena a;
    int r = documents_run(c, "BEGIN", NULL, e);
    if (r < 0)
        return r;
    arena_init(&a);
    r = change_rows(c, &a, x->change, e);
    arena_done(&a);
    if (r < 0) {
        if (!c->is_lost)
            (void)documents_run(c, "ROLLBACK", NULL, &ignored);
        return r;
    }
    struct pg_query q = {.sql = "COMMIT"};
    r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && !str_eq(pg_command_tag(c, &q), STR("COMMIT")))
        r = err_set(e, -EIO, "the database has rolled the change back");
    pg_clear(c, &q, 1);
    return r;
}

static int documents_change(struct document_table *t, const struct document_change *change,
                            struct err *e)
{
    struct documents_call x = {.change = change};
    struct err local = {0};
    int r = -EAGAIN;
    e = e ? e : &local;
    for (int i = 0; i < TRIES && r == -EAGAIN; i++) {
        err_clear(e);
        r = database_read(db_of(t), change_document, &x, e);
    }
    return r;
}

/* ---- news ---- */

static int read_news(struct pg_conn *c, void *ctx, struct err *e)
{
    struct documents_call *x = ctx;
    struct document_news *n = x->news;
    struct pg_params p, name;
    pg_params_init(&name, x->arena);
    pg_text(&name, arena_printf(x->arena, "documents/%.*s", STR_ARG(x->workspace_id)));
    pg_params_init(&p, x->arena);
    pg_text(&p, x->workspace_id);
    pg_int(&p, x->since);
    /* The generation first: rows that are newer than it are only read once more. */
    struct pg_query q[] = {
        {.sql = "SELECT coalesce(max(generation), 0) FROM nb_generation WHERE name = $1",
         .params = &name},
        {.sql = "SELECT path, bytes FROM nb_document WHERE workspace = $1 AND version > $2::bigint"
                " ORDER BY path",
         .params = &p}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    size_t rows = r == 0 ? (size_t)pg_rows(c, &q[1]) : 0;
    *n = (struct document_news){.items = arena_array(x->arena, rows + 1, sizeof *n->items)};
    if (r == 0)
        n->until = pg_get_int(c, &q[0], 0, 0);
    for (size_t i = 0; i < rows; i++)
        n->items[n->n++] = (struct shared_document){
            .path = arena_str(x->arena, pg_get_text(c, &q[1], (int)i, 0)),
            .is_removed = pg_is_null(c, &q[1], (int)i, 1),
            .bytes = pg_is_null(c, &q[1], (int)i, 1)
                         ? STR_NONE
                         : arena_str(x->arena, pg_get_text(c, &q[1], (int)i, 1)),
        };
    pg_clear(c, q, ARRAY_LEN(q));
    return r;
}

static int documents_news(struct document_table *t, struct arena *a, str workspace_id,
                          int64_t since, struct document_news *ret, struct err *e)
{
    struct documents_call x = {
        .arena = a, .workspace_id = workspace_id, .since = since, .news = ret};
    return database_read(db_of(t), read_news, &x, e);
}

void pg_documents_init(struct pg_documents *d, struct database *db)
{
    *d = (struct pg_documents){
        .table = {.read = documents_read, .change = documents_change, .news = documents_news},
        .db = db};
}
