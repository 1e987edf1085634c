#include <errno.h>

#include "base/bytes/base64.h"
#include "store/postgres/pg_relay.h"
#include "store/postgres/pg_store.h"

struct queue_call {
    struct store *store;
    struct arena *arena;
    str id, document;
    struct json_strs rows;
};

static int put_message(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char PUT[] =
        "INSERT INTO nb_queue (workspace, id, replica, document) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (workspace, id) DO UPDATE SET document = excluded.document";
    /* Another server has it now, if this one was not heard of for too long. */
    static const char REMOVE[] =
        "DELETE FROM nb_queue WHERE workspace = $1 AND id = $2 AND replica = $3 AND $4::text = ''";
    struct queue_call *q = ctx;
    struct pg_params p;
    pg_params_init(&p, q->arena);
    pg_text(&p, pg_workspace(q->store));
    pg_text(&p, q->id);
    pg_text(&p, str_from(pg_database(q->store)->replica->id));
    pg_text(&p, q->document);
    struct pg_query query = {.sql = q->document.n > 0 ? PUT : REMOVE, .params = &p};
    int r = pg_conn_run(c, &query, 1, e);
    pg_clear(c, &query, 1);
    return r;
}

int pg_queue_put(struct store *s, str id, str document, struct err *e)
{
    struct arena a;
    arena_init(&a);
    struct queue_call q = {.store = s, .arena = &a, .id = id, .document = document};
    int r = database_read(pg_database(s), put_message, &q, e);
    arena_done(&a);
    return r;
}

/* This server is alive first: else a third one could take the messages from it again. All of its
 * messages are read, because the answer to an earlier call may have been lost. */
static int take_messages(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char ALIVE[] = "INSERT INTO nb_replica (id, address, seen) VALUES ($1, $2, now())"
                                " ON CONFLICT (id) DO UPDATE SET seen = now()";
    static const char TAKE[] =
        "UPDATE nb_queue q SET replica = $1 WHERE q.workspace = $2 AND q.replica <> $1"
        " AND NOT EXISTS (SELECT 1 FROM nb_replica r WHERE r.id = q.replica"
        " AND r.seen > now() - interval '10 seconds')"; /* LEASE_MS */
    static const char ALL[] = "SELECT document FROM nb_queue WHERE workspace = $2 AND replica = $1";
    struct queue_call *q = ctx;
    const struct replica *me = pg_database(q->store)->replica;
    struct pg_params alive, p;
    pg_params_init(&alive, q->arena);
    pg_text(&alive, str_from(me->id));
    pg_text(&alive, str_from(me->address));
    pg_params_init(&p, q->arena);
    pg_text(&p, str_from(me->id));
    pg_text(&p, pg_workspace(q->store));
    struct pg_query queries[] = {
        {.sql = ALIVE, .params = &alive}, {.sql = TAKE, .params = &p}, {.sql = ALL, .params = &p}};
    int r = pg_conn_run(c, queries, ARRAY_LEN(queries), e);
    size_t n = r == 0 ? (size_t)pg_rows(c, &queries[2]) : 0;
    q->rows = (struct json_strs){arena_array(q->arena, n + 1, sizeof(str)), n};
    for (size_t i = 0; i < n; i++)
        q->rows.items[i] = arena_str(q->arena, pg_get_text(c, &queries[2], (int)i, 0));
    pg_clear(c, queries, ARRAY_LEN(queries));
    return r;
}

int pg_queue_take(struct store *s, struct arena *a, struct json_strs *ret, struct err *e)
{
    struct queue_call q = {.store = s, .arena = a};
    int r = database_read(pg_database(s), take_messages, &q, e);
    *ret = q.rows;
    return r;
}

/* Only text is compared here, which may find too much: the caller reads the documents. (They may
 * have \u0000, which PostgreSQL refuses to read as JSON.) */
static int read_others(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char OTHERS[] = "SELECT document FROM nb_queue WHERE workspace = $1"
                                 " AND replica <> $2 AND position($3::text IN document) > 0"
                                 " LIMIT 1000";
    struct store_op *op = ctx;
    struct pg_params p;
    pg_params_init(&p, &op->arena);
    pg_text(&p, pg_workspace(op->store));
    pg_text(&p, str_from(pg_database(op->store)->replica->id));
    pg_text(&p, op->id);
    struct pg_query q = {.sql = OTHERS, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    size_t n = r == 0 ? (size_t)pg_rows(c, &q) : 0;
    op->out.queue = (struct json_strs){arena_array(&op->arena, n + 1, sizeof(str)), n};
    for (size_t i = 0; i < n; i++)
        op->out.queue.items[i] = arena_str(&op->arena, pg_get_text(c, &q, (int)i, 0));
    pg_clear(c, &q, 1);
    return r;
}

void pg_read_queue(struct store_op *op)
{
    (void)database_read(pg_database(op->store), read_others, op, &op->err);
}

/* ---- keys ---- */

struct key_call {
    struct store *store;
    const char *name;
    uint8_t *key;
};

static int agree_on_key(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char PUT[] = "INSERT INTO nb_key (workspace, name, value) VALUES ($1, $2, $3)"
                              " ON CONFLICT (workspace, name) DO NOTHING";
    static const char GET[] =
        "SELECT value FROM nb_key WHERE workspace = $1 AND name = $2 AND $3::text <> ''";
    struct key_call *k = ctx;
    char hex[2 * 32 + 1];
    struct arena a;
    struct pg_params p;
    arena_init(&a);
    pg_params_init(&p, &a);
    pg_text(&p, pg_workspace(k->store));
    pg_text(&p, str_from(k->name));
    hex_encode(hex, k->key, 32);
    pg_text(&p, str_make(hex, 64));
    struct pg_query q[] = {{.sql = PUT, .params = &p}, {.sql = GET, .params = &p}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    str value = r == 0 && pg_rows(c, &q[1]) > 0 ? pg_get_text(c, &q[1], 0, 0) : STR_NONE;
    if (r == 0 && (value.n != 64 || hex_decode(k->key, 32, value) < 0))
        r = err_set(e, -EINVAL, "the key '%s' in the database is damaged", k->name);
    pg_clear(c, q, ARRAY_LEN(q));
    arena_done(&a);
    return r;
}

int pg_shared_key(struct store *s, const char *name, uint8_t key[32], struct err *e)
{
    struct key_call k = {.store = s, .name = name, .key = key};
    return database_read(pg_database(s), agree_on_key, &k, e);
}
