/* nb store - the tables of a store of type postgres. */
#include <errno.h>

#include "cli/command.h"
#include "cli/serve/store_convert.h"
#include "store/database/pg_lock.h"
#include "store/database/pg_schema.h"
#include "store/postgres/database.h"

struct store_look {
    struct pg_schema_state schema;
    int64_t conversations, trashed, bytes;
    int version;
    bool is_encrypted;
    str holder;                /* the session of the server that writes; empty = none */
    struct pg_servers servers; /* of store.replicas */
};

static int connect_database(struct cmd *x, struct database **ret_db, struct pg_conn **ret,
                            struct err *e)
{
    const struct config_store *c = &x->config.store;
    if (strcmp(c->type, "postgres") != 0)
        return err_set(e, -EINVAL,
                       "store.type is %s in %s; this command is for store.type \"postgres\" (or "
                       "pass --store postgres)",
                       c->type, x->config.path);
    *ret_db = database_new(x->loop, x->log, c->url);
    return database_connect(*ret_db, ret, e);
}

/* ---- init ---- */

static int store_init(struct cmd *x)
{
    struct database *db = NULL;
    struct pg_conn *c = NULL;
    struct err e = {0};
    int applied = 0;
    int r = connect_database(x, &db, &c, &e);
    if (r == 0)
        r = pg_schema_migrate(c, &applied, &e);
    pg_conn_close(c);
    database_free(db);
    if (r < 0)
        return cli_fail(&e);
    struct json *v = cmd_object(x, {STR("schema"), json_of_int(PG_SCHEMA_VERSION)},
                                {STR("applied"), json_of_int(applied)});
    return applied > 0 ? cmd_say(x, v, "The tables have schema %d now.", PG_SCHEMA_VERSION)
                       : cmd_say(x, v, "The tables have schema %d already.", PG_SCHEMA_VERSION);
}

/* ---- status ---- */

static int count_rows(struct pg_conn *c, struct store_look *s, struct err *e)
{
    struct pg_query q = {.sql =
                             "SELECT count(*) FILTER (WHERE deleted_ms = 0),"
                             " count(*) FILTER (WHERE deleted_ms > 0),"
                             " pg_database_size(current_database())::bigint FROM nb_conversation",
                         .is_once = true};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0) {
        s->conversations = pg_get_int(c, &q, 0, 0);
        s->trashed = pg_get_int(c, &q, 0, 1);
        s->bytes = pg_get_int(c, &q, 0, 2);
    }
    pg_clear(c, &q, 1);
    return r;
}

static int look(struct cmd *x, struct pg_conn *c, struct store_look *s, struct err *e)
{
    s->version = c->api->serverVersion(c->pq);
    s->is_encrypted = c->api->sslInUse(c->pq) != 0;
    int r = pg_schema_read(c, &s->schema, e);
    if (r == 0)
        r = pg_lock_holder(c, &x->arena, &s->holder, e);
    if (r == 0 && s->schema.version >= PG_SCHEMA_VERSION)
        r = pg_lock_servers(c, &s->servers, e);
    return r < 0 || s->schema.version == 0 ? r : count_rows(c, s, e);
}

static void print_look(struct cmd *x, const struct store_look *s)
{
    printf("server         PostgreSQL %d.%d, %s\n", s->version / 10000, s->version % 10000,
           s->is_encrypted ? "encrypted" : "not encrypted");
    if (s->schema.version == 0) {
        printf("schema         no tables yet; run: nb store init\n");
        return;
    }
    printf("schema         %lld (this nb knows up to %d)\n", (long long)s->schema.version,
           PG_SCHEMA_VERSION);
    printf("conversations  %lld, and %lld in the trash\n", (long long)s->conversations,
           (long long)s->trashed);
    printf("size           %.1f MB\n", (double)s->bytes / 1e6);
    printf("writer         %.*s\n",
           STR_ARG(s->holder.n > 0 ? cmd_line(x, s->holder) : STR("none")));
    if (x->config.store.replicas)
        printf("servers        %lld alive, %lld conversations in work, %lld queued messages\n",
               (long long)s->servers.alive, (long long)s->servers.leases,
               (long long)s->servers.queued);
}

static struct json *look_json(struct cmd *x, const struct store_look *s)
{
    return cmd_object(x, {STR("serverVersion"), json_of_int(s->version)},
                      {STR("isEncrypted"), json_of_bool(s->is_encrypted)},
                      {STR("schema"), json_of_int(s->schema.version)},
                      {STR("knownSchema"), json_of_int(PG_SCHEMA_VERSION)},
                      {STR("conversations"), json_of_int(s->conversations)},
                      {STR("trashed"), json_of_int(s->trashed)},
                      {STR("bytes"), json_of_int(s->bytes)},
                      {STR("servers"), json_of_int(s->servers.alive)},
                      {STR("leases"), json_of_int(s->servers.leases)},
                      {STR("queued"), json_of_int(s->servers.queued)},
                      {STR("writer"), s->holder.n > 0 ? json_of_str(s->holder) : json_of_null()});
}

static int store_status(struct cmd *x)
{
    struct database *db = NULL;
    struct pg_conn *c = NULL;
    struct store_look s = {0};
    struct err e = {0};
    int r = connect_database(x, &db, &c, &e);
    if (r == 0)
        r = look(x, c, &s, &e);
    bool is_usable =
        r == 0 && s.schema.version >= PG_SCHEMA_VERSION && s.schema.needs <= PG_SCHEMA_VERSION;
    struct err why = {0};
    if (r == 0 && !is_usable && s.schema.version > 0)
        (void)pg_schema_check(c, &why);
    pg_conn_close(c);
    database_free(db);
    if (r < 0)
        return cli_fail(&e);
    if (!cmd_json(x, look_json(x, &s)))
        print_look(x, &s);
    return is_usable ? EXIT_DONE : why.code ? cli_fail(&why) : EXIT_FAILED;
}

static const struct command STORE_INIT = {
    .name = "init",
    .summary = "create or update the tables in PostgreSQL",
    .help =
        "Creates the tables that store.type \"postgres\" needs, or adds what a newer nb needs to "
        "them. Nothing is changed or removed. An older nb continues to work, unless the new tables "
        "require a newer one: then it refuses to start.\n",
    .needs = NEEDS_LOOP,
    .run = store_init,
};

static const struct command STORE_STATUS = {
    .name = "status",
    .summary = "show the state of the database: schema, size, writer",
    .needs = NEEDS_LOOP,
    .run = store_status,
};

static const struct command *const STORE_COMMANDS[] = {&STORE_INIT, &STORE_STATUS, &STORE_CONVERT,
                                                       NULL};

const struct command CMD_STORE = {
    .name = "store",
    .summary = "create and check the tables of a PostgreSQL store",
    .subs = STORE_COMMANDS,
};
