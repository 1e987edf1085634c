#include <assert.h>

#include "store/postgres/pg_batch.h"
#include "store/postgres/pg_store.h"

enum { CACHED_MAX = 4096 };

static str cache_name(const struct store *s, str id, char *place, size_t size)
{
    int n = snprintf(place, size, "%s/%.*s", s->conf.workspace_id ? s->conf.workspace_id : "",
                     STR_ARG(id));
    assert(n > 0 && (size_t)n < size);
    return str_make(place, (size_t)n);
}

struct pg_cached *pg_cache_get(struct database *db, const struct store *s, str id)
{
    char name[512];
    return map_get(&db->cached, cache_name(s, id, name, sizeof name));
}

static void cached_free(struct pg_cached *c)
{
    if (!c)
        return;
    pg_derive_done(&c->derived);
    free(c);
}

void pg_cache_clear(struct database *db)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&db->cached, &i)) != NULL;)
        cached_free(e->value);
    map_done(&db->cached);
    map_init(&db->cached);
}

struct pg_cached *pg_cache_add(struct database *db, const struct store *s, str id)
{
    char name[512];
    assert(map_len(&db->cached) <= CACHED_MAX + BATCH_OPS_MAX);
    struct pg_cached *c = xcalloc(1, sizeof *c);
    pg_derive_init(&c->derived, s->env);
    cached_free(map_put(&db->cached, cache_name(s, id, name, sizeof name), c));
    return c;
}

void pg_cache_drop(struct database *db, const struct store *s, str id)
{
    char name[512];
    cached_free(map_del(&db->cached, cache_name(s, id, name, sizeof name)));
}

/* Between batches: entries of a batch must stay where they are. The oldest half goes, since a map
 * keeps the order in which keys were added. */
void pg_cache_trim(struct database *db)
{
    struct map_entry *e;
    if (map_len(&db->cached) <= CACHED_MAX)
        return;
    size_t surplus = map_len(&db->cached) - CACHED_MAX / 2;
    for (size_t i = 0; surplus > 0 && (e = map_next(&db->cached, &i)) != NULL; surplus--) {
        cached_free(e->value);
        map_del(&db->cached, e->key);
    }
}
