#include "store/postgres/pg_store.h"

#include <errno.h>

#include "store/postgres/pg_relay.h"

/* A server must not find out at the first request that it may not write. */
static int pg_prepare(const struct store_env *env, struct err *e)
{
    return database_open(env->database, true, e);
}

static int pg_open(struct store *s, struct err *e)
{
    struct database *db = s->env->database;
    if (!db)
        return err_set(e, -ENOTSUP, "a store of type postgres cannot be opened here");
    if (s->conf.integrity)
        return err_set(
            e, -ENOTSUP,
            "store.integrity is not available with store.type postgres; set it to false");
    if (!s->conf.workspace_id || !*s->conf.workspace_id)
        return err_set(e, -EINVAL, "a store of type postgres needs the id of a workspace");
    int r = database_open(db, !s->conf.read_only, e);
    if (r < 0)
        return r;
    s->impl = db;
    s->readers = db->readers;
    relay_add_store(s);
    if (!s->conf.read_only)
        pg_sweep(s);
    return 0;
}

static bool pg_peek(struct store *s)
{
    struct database *db = s->env->database;
    s->impl = db;
    s->readers = db ? db->readers : s->readers;
    return db != NULL;
}

static bool pg_has_leases(const struct store *s)
{
    return pg_database(s)->replica != NULL;
}

static void pg_close(struct store *s)
{
    relay_remove_store(s);
    store_closed(s);
}

const struct store_ops store_postgres_ops = {
    .type = "postgres",
    .is_shared = true,
    .prepare = pg_prepare,
    .open = pg_open,
    .close = pg_close,
    .create = pg_create,
    .append = pg_append,
    .fork = pg_fork,
    .remove = pg_remove,
    .restore = pg_restore,
    .put_blob = pg_put_blob,
    .get_blob = pg_get_blob,
    .put_shared = pg_put_blob,
    .get_shared = pg_get_blob,
    .get = pg_get,
    .read = pg_read,
    .list = pg_list,
    .search = pg_search,
    .take_lease = pg_take_lease,
    .has_leases = pg_has_leases,
    .publish = pg_publish,
    .feed_live = pg_feed_live,
    .is_watched_elsewhere = pg_is_watched_elsewhere,
    .tell = pg_tell,
    .forward = pg_forward,
    .queue_put = pg_queue_put,
    .queue_take = pg_queue_take,
    .read_queue = pg_read_queue,
    .shared_key = pg_shared_key,
    .read_spending = pg_read_spending,
    .recount_spending = pg_recount_spending,
    .scan = pg_scan,
    .each_id = pg_each_id,
    .blob_fd = pg_blob_fd,
    .ledger_add = pg_ledger_add,
    .ledger_page = pg_ledger_page,
    .list_trash = pg_list_trash,
    .peek = pg_peek,
    .person_read = pg_person_read,
    .person_change = pg_person_change,
    .tell_person = pg_tell_person,
    .ask = pg_ask,
    .reply = pg_reply,
    .probe = pg_probe,
};
