/* usage.h - the usage of model calls in a period, by day, model or user.
 *
 * All numbers come from the logs: every llm.response and every aux.usage is counted at its own
 * time, in UTC. A delegated run has a log of its own, which is read like any other; the
 * aux.usage with source "delegate" that charges it to its parent's conversation is therefore
 * left out, or it would be counted twice. Events that a fork copied are counted in the original
 * only (derive_is_copied). The user is the person who started the run, else the owner of the
 * conversation.
 *
 * Logs are read page by page, newest conversation first, so memory does not grow with the
 * store; a conversation that was not touched since `from` is not opened. Loop thread. */
#pragma once

#include "llm/llm.h"
#include "store/store.h"

#define USAGE_ROWS_MAX 5000 /* more keys are counted together as "other" */

enum usage_key { USAGE_BY_DAY, USAGE_BY_MODEL, USAGE_BY_USER };

/* "day", "model", "user"; the message of -EINVAL lists them. */
int usage_key_parse(str name, enum usage_key *ret, struct err *e);

struct usage_query {
    const struct actor
        *actor; /* only conversations that it may see when each page is read; NULL = all */
    enum usage_key by;
    int64_t from_ms, to_ms; /* from <= time < to; to_ms 0 = no end */
};

struct usage_row {
    str key; /* "2026-03-25", "anthropic:claude-...", "usr_..." */
    int64_t calls;
    struct conv_usage usage;
    double cost_usd;   /* of the calls whose price is known */
    int64_t unpriced;  /* calls whose price is unknown */
    int64_t estimated; /* interrupted calls, whose tokens are estimated */
};

struct usage_report {
    enum usage_key by;
    int64_t from_ms, to_ms;
    struct usage_row total;
    const struct usage_row *rows; /* days in order; the others by cost, then by tokens */
    size_t n;
    int64_t conversations; /* that were read */
};

struct usage_job;
typedef void (*usage_fn)(void *ctx, const struct err *err, const struct usage_report *r);

struct usage_job *usage_start(struct store *s, struct llm *llm, const struct usage_query *q,
                              usage_fn fn, void *ctx);
void usage_cancel(struct usage_job *j); /* no callback afterwards */

/* {from, to, groupBy, total: {...}, rows: [...]} */
/* name_of: NULL, or returns the name of a user (may be empty), for rows by user. */
void usage_write(struct json_writer *w, const struct usage_report *r,
                 str (*name_of)(void *ctx, str user_id), void *ctx);
