/* pg_person.c - what one person gets: their document (store_marks.c), and the trash. */
#include <errno.h>

#include "store/postgres/pg_store.h"

static int select_trash(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char ROWS[] =
        "SELECT key, id, last, summary, deleted_ms FROM (SELECT DISTINCT ON (id) key, id, last,"
        " summary, deleted_ms FROM nb_conversation WHERE workspace = $1 AND deleted_ms > 0"
        " AND NOT is_hidden AND ($3::boolean OR owner_id = $4 OR (owner_id = '' AND NOT is_sealed))"
        " ORDER BY id, deleted_ms DESC) t ORDER BY deleted_ms DESC LIMIT $2::bigint";
    struct store_op *op = ctx;
    struct pg_params p;
    pg_params_init(&p, &op->arena);
    pg_text(&p, pg_workspace(op->store));
    pg_int(&p, STORE_TRASH_MAX);
    pg_bool(&p, !op->has_viewer);
    pg_text(&p, op->viewer.user_id);
    struct pg_query q = {.sql = ROWS, .params = &p};
    struct conv *convs = arena_array(&op->arena, STORE_TRASH_MAX, sizeof *convs), *conv;
    size_t n = 0;
    int r = pg_conn_run(c, &q, 1, e);
    for (int i = 0; r == 0 && i < pg_rows(c, &q); i++) {
        str id = arena_str(&op->arena, pg_get_text(c, &q, i, 1));
        r = pg_conv_of(c, op, id, pg_get_int(c, &q, i, 0), pg_get_int(c, &q, i, 2),
                       pg_get_text(c, &q, i, 3), &conv, e);
        if (r < 0 || conv->is_hidden || !op_may_manage(op, conv))
            continue;
        convs[n] = *conv;
        convs[n++].deleted_ms = pg_get_int(c, &q, i, 4);
    }
    op->out.listing = (struct store_listing){.convs = convs, .n = n, .total = (int64_t)n};
    pg_clear(c, &q, 1);
    return r;
}

void pg_list_trash(struct store_op *op)
{
    (void)database_read(pg_database(op->store), select_trash, op, &op->err);
}

struct person_call {
    struct store *store;
    struct arena *arena;
    str user_id, text;
    document_edit_fn edit;
    void *ctx;
};

static int select_person(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char ROW[] =
        "SELECT document FROM nb_person WHERE workspace = $1 AND user_id = $2";
    struct person_call *call = ctx;
    struct pg_params p;
    pg_params_init(&p, call->arena);
    pg_text(&p, pg_workspace(call->store));
    pg_text(&p, call->user_id);
    struct pg_query q = {.sql = ROW, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && pg_rows(c, &q) > 0)
        call->text = arena_str(call->arena, pg_get_text(c, &q, 0, 0));
    pg_clear(c, &q, 1);
    return r;
}

int pg_person_read(struct store *s, str user_id, struct arena *a, str *ret, struct err *e)
{
    struct person_call call = {.store = s, .arena = a, .user_id = user_id};
    int r = database_read(pg_database(s), select_person, &call, e);
    *ret = r == 0 ? call.text : STR_NONE;
    return r;
}

static int run_person(struct pg_conn *c, struct person_call *call, const char *sql, str text,
                      struct err *e)
{
    struct pg_params p;
    pg_params_init(&p, call->arena);
    pg_text(&p, pg_workspace(call->store));
    pg_text(&p, call->user_id);
    pg_text(&p, text);
    struct pg_query q = {.sql = sql, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && pg_rows(c, &q) > 0)
        call->text = arena_str(call->arena, pg_get_text(c, &q, 0, 0));
    pg_clear(c, &q, 1);
    return r;
}

/* The row is locked from its reading to the end of the transaction, for all servers. */
static int edit_person(struct pg_conn *c, struct person_call *call, struct err *e)
{
    static const char LOCK[] = "INSERT INTO nb_person AS n (workspace, user_id, document)"
                               " VALUES ($1, $2, $3) ON CONFLICT (workspace, user_id)"
                               " DO UPDATE SET document = n.document RETURNING document";
    static const char PUT[] =
        "UPDATE nb_person SET document = $3 WHERE workspace = $1 AND user_id = $2";
    str text = STR_NONE;
    int r = run_person(c, call, LOCK, STR(""), e);
    if (r == 0)
        r = call->edit(call->ctx, call->arena, call->text, &text, e);
    return r < 0 || text.p == call->text.p ? r : run_person(c, call, PUT, text, e);
}

static int change_person(struct pg_conn *c, void *ctx, struct err *e)
{
    struct person_call *call = ctx;
    struct pg_query q = {.sql = "BEGIN"}, end = {.sql = "COMMIT"};
    int r = pg_conn_run(c, &q, 1, e);
    pg_clear(c, &q, 1);
    if (r < 0)
        return r;
    r = edit_person(c, call, e);
    if (r < 0)
        end.sql = "ROLLBACK";
    struct err ignored = {0};
    int ended = c->is_lost ? 0 : pg_conn_run(c, &end, 1, r < 0 ? &ignored : e);
    if (r == 0 && ended == 0 && !str_eq(pg_command_tag(c, &end), STR("COMMIT")))
        ended = err_set(e, -EIO, "the database has rolled the change back");
    pg_clear(c, &end, 1);
    return r < 0 ? r : ended;
}

/* The same change twice is the same: it may be repeated after a lost connection. */
int pg_person_change(struct store *s, str user_id, document_edit_fn edit, void *ctx, struct err *e)
{
    struct arena a;
    arena_init(&a);
    struct person_call call = {
        .store = s, .arena = &a, .user_id = user_id, .edit = edit, .ctx = ctx};
    int r = database_read(pg_database(s), change_person, &call, e);
    arena_done(&a);
    return r;
}
