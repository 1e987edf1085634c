/* stats.h - totals of many conversations: counts, tokens, cost, by model.
 *
 * It reads the list page by page, newest first, and opens no logs. A conversation belongs to a
 * period when it was changed in that period, and is then counted as a whole. Loop thread. */
#pragma once

#include "store/store.h"
#include "workspace/actor.h"

#define STATS_MODELS_MAX 64 /* further models are counted together as "other" */

enum stats_period { STATS_DAY, STATS_WEEK, STATS_MONTH, STATS_YEAR, STATS_ALL };

/* "day", "week", "month", "year", "all"; -EINVAL with a message that lists them. */
int stats_period_parse(str name, enum stats_period *ret, struct err *e);
const char *stats_period_name(enum stats_period p);

struct stats_sum {
    str model; /* empty for conversations without a model call, and for the total */
    int64_t conversations, messages;
    struct conv_usage usage;
    double cost_usd;
    int64_t unpriced; /* conversations whose cost is not known in full */
};

struct stats {
    enum stats_period period;
    char since[32]; /* ISO; empty for all */
    struct stats_sum total;
    struct stats_sum models[STATS_MODELS_MAX]; /* by the last model; most conversations first */
    size_t nmodels;
};

struct stats_job;
typedef void (*stats_fn)(void *ctx, const struct err *err, const struct stats *s);

/* Counts only conversations that the actor may see when each page is read; NULL = all. */
struct stats_job *stats_start(struct store *s, const struct actor *actor, enum stats_period p,
                              stats_fn fn, void *ctx);
void stats_cancel(struct stats_job *j); /* no callback afterwards */

/* {period, since, conversations, messages, inputTokens, ..., models: [...]} */
void stats_write(struct json_writer *w, const struct stats *s);
