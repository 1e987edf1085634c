#include "store/index/index_price.h"

#include "store/index/index_db.h"

/* Sample usage that represents the prices of a model: a change of any of the five prices changes
 * its cost. */
static const struct conv_usage PROBE = {
    .input_tokens = 17000003,
    .output_tokens = 1300021,
    .cache_read_tokens = 5000011,
    .cache_write_5m_tokens = 3000017,
    .cache_write_1h_tokens = 1000033,
};

double index_price_probe(const struct store_env *env, str model)
{
    double usd = 0;
    return env->price && env->price(env->price_ctx, model, &PROBE, &usd) ? usd : -1;
}

static bool noted_price(void *ctx, str model, const struct conv_usage *usage, double *ret_usd)
{
    struct index_price *p = ctx;
    if (!map_get(&p->models, model))
        map_put(&p->models, model, p);
    const struct store_env *env = p->real;
    return env->price && env->price(env->price_ctx, model, usage, ret_usd);
}

void index_price_init(struct index_price *p, const struct store_env *real)
{
    *p = (struct index_price){.real = real, .env = *real};
    p->env.price = noted_price;
    p->env.price_ctx = p;
    map_init(&p->models);
}

void index_price_done(struct index_price *p)
{
    map_done(&p->models);
}

int index_price_save(struct index_price *p, struct index_db *db)
{
    static const char SAVE[] = "INSERT OR IGNORE INTO price VALUES(?, ?)";
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&p->models, &i)) != NULL;) {
        sqlite3_stmt *st = index_db_sql(db, SAVE);
        index_db_bind(st, 1, e->key);
        sqlite3_bind_double(st, 2, index_price_probe(p->real, e->key));
        int r = index_db_run(db, st);
        if (r < 0)
            return r;
        map_del(&p->models, e->key);
    }
    return 0;
}

bool index_price_agrees(struct index_db *db)
{
    static const char ALL[] = "SELECT model, usd FROM price";
    sqlite3_stmt *st = index_db_sql(db, ALL);
    bool agrees = true;
    while (agrees && sqlite3_step(st) == SQLITE_ROW)
        agrees = index_price_probe(db->env, index_db_column(st, 0)) == sqlite3_column_double(st, 1);
    sqlite3_reset(st);
    return agrees;
}
