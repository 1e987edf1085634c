#include "store/stats.h"

#include <errno.h>

#include "base/clock.h"

static const struct {
    const char *name;
    int64_t days; /* 0 = unlimited */
} PERIODS[] = {
    [STATS_DAY] = {"day", 1},     [STATS_WEEK] = {"week", 7}, [STATS_MONTH] = {"month", 30},
    [STATS_YEAR] = {"year", 365}, [STATS_ALL] = {"all", 0},
};

int stats_period_parse(str name, enum stats_period *ret, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(PERIODS); i++) {
        if (str_eq(name, str_from(PERIODS[i].name))) {
            *ret = (enum stats_period)i;
            return 0;
        }
    }
    return err_set(e, -EINVAL, "expected day, week, month, year or all");
}

const char *stats_period_name(enum stats_period p)
{
    return PERIODS[p].name;
}

struct stats_job {
    struct store *store;
    struct actor *actor; /* a reference; NULL = all */
    struct arena arena;
    struct store_op *op;
    struct stats stats;
    stats_fn fn;
    void *ctx;
};

static void job_free(struct stats_job *j)
{
    actor_unref(j->actor);
    arena_done(&j->arena);
    free(j);
}

static struct stats_sum *sum_of(struct stats_job *j, str model)
{
    struct stats *s = &j->stats;
    for (size_t i = 0; i < s->nmodels; i++)
        if (str_eq(s->models[i].model, model))
            return &s->models[i];
    if (s->nmodels == STATS_MODELS_MAX - 1)
        model = STR("other");
    if (s->nmodels < STATS_MODELS_MAX)
        s->models[s->nmodels++].model = arena_str(&j->arena, model);
    return &s->models[s->nmodels - 1];
}

static void stats_add(struct stats_sum *s, const struct conv *c)
{
    s->conversations++;
    s->messages += c->message_count;
    conv_usage_add(&s->usage, &c->usage);
    s->cost_usd += c->cost_usd;
    s->unpriced += !c->is_cost_known;
}

static int by_conversations(const void *a, const void *b)
{
    const struct stats_sum *x = a, *y = b;
    if (x->conversations != y->conversations)
        return x->conversations < y->conversations ? 1 : -1;
    return str_cmp(x->model, y->model);
}

static void stats_finish(struct stats_job *j, const struct err *err)
{
    qsort(j->stats.models, j->stats.nmodels, sizeof j->stats.models[0], by_conversations);
    j->fn(j->ctx, err, err ? NULL : &j->stats);
    job_free(j);
}

static void next_page(struct stats_job *j, str cursor);

static void on_stats_page(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct stats_job *j = ctx;
    str since = str_from(j->stats.since);
    j->op = NULL;
    for (size_t i = 0; !err && i < l->n; i++) {
        const struct conv *c = &l->convs[i];
        if (since.n > 0 && str_cmp(c->updated_at, since) < 0) {
            stats_finish(j, NULL);
            return;
        }
        stats_add(&j->stats.total, c);
        stats_add(sum_of(j, c->last_model), c);
    }
    if (err || l->next_cursor.n == 0)
        stats_finish(j, err);
    else
        next_page(j, l->next_cursor);
}

static void next_page(struct stats_job *j, str cursor)
{
    struct arena a;
    arena_init(&a);
    struct store_query q = {
        .viewer = j->actor ? actor_query_viewer(j->actor, &a) : NULL,
        .limit = STORE_LIST_MAX,
        .cursor = cursor,
        .sort = STORE_BY_UPDATED,
        .with_hidden = true,
    };
    j->op = store_list(j->store, &q, on_stats_page, j);
    arena_done(&a);
}

struct stats_job *stats_start(struct store *s, const struct actor *actor, enum stats_period p,
                              stats_fn fn, void *ctx)
{
    struct stats_job *j = xcalloc(1, sizeof *j);
    *j = (struct stats_job){.store = s, .fn = fn, .ctx = ctx, .actor = actor_ref(actor)};
    arena_init(&j->arena);
    j->stats.period = p;
    if (PERIODS[p].days > 0)
        clock_iso(clock_now_ms() - PERIODS[p].days * 24 * 3600 * 1000, j->stats.since);
    next_page(j, STR_NONE);
    return j;
}

void stats_cancel(struct stats_job *j)
{
    if (!j)
        return;
    store_op_cancel(j->op);
    job_free(j);
}

static void write_sum(struct json_writer *w, const struct stats_sum *s)
{
    jw_kint(w, "conversations", s->conversations);
    jw_kint(w, "messages", s->messages);
    jw_kint(w, "inputTokens", s->usage.input_tokens);
    jw_kint(w, "outputTokens", s->usage.output_tokens);
    jw_kint(w, "cacheReadTokens", s->usage.cache_read_tokens);
    jw_kint(w, "cacheWrite5mTokens", s->usage.cache_write_5m_tokens);
    jw_kint(w, "cacheWrite1hTokens", s->usage.cache_write_1h_tokens);
    /* The sum of known costs; incomplete unless unpricedConversations is 0. */
    jw_kdouble(w, "knownCostUsd", s->cost_usd);
    jw_kint(w, "unpricedConversations", s->unpriced);
}

void stats_write(struct json_writer *w, const struct stats *s)
{
    jw_object(w);
    jw_kstr(w, "period", str_from(stats_period_name(s->period)));
    jw_kcstr(w, "since", s->since[0] ? s->since : NULL);
    write_sum(w, &s->total);
    jw_karray(w, "models");
    for (size_t i = 0; i < s->nmodels; i++) {
        jw_object(w);
        jw_kstr(w, "model", s->models[i].model);
        write_sum(w, &s->models[i]);
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}
