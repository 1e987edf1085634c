/* derive.h - what a log says about its conversation, gathered line by line.
 *
 * Fed with the lines of a log in order, it knows the title, the sharing, the totals and
 * the rest at any point, and goes on later from the same byte: that is what caches and the
 * index keep. One derivation for every caller, so that no two places can disagree. */
#pragma once

#include "store/event/event.h"
#include "store/store.h"

struct derive {
    struct arena arena; /* strings; a value that is replaced often is kept in place */
    const struct store_env *env;
    bool has_header;  /* line 1 was seen */
    bool is_damaged;  /* line 1 is not the metadata of a conversation */
    struct conv conv; /* conv.end is where to go on */
    char updated_at[32];
};

void derive_init(struct derive *d, const struct store_env *env);
void derive_done(struct derive *d); /* accepts a zeroed struct */

/* The next line, without its line feed; end is the position past it. The first one is the
 * metadata line. */
void derive_line(struct derive *d, str line, store_pos end);
/* The same for a line that was just appended, and so checked: only what is needed is read. */
void derive_appended(struct derive *d, str line, store_pos end);

/* A copy that lives in the arena. The id is the one the log was found under: the path has
 * the say, not line 1. */
struct conv *derive_conv(const struct derive *d, struct arena *a, str id, str workspace_id);

/* Everything derived so far as one line of JSON, for the index to keep, and back: a derive
 * that was loaded goes on from conv.end as if it had read the log itself. -EINVAL when the
 * text is not one of this version. */
str derive_save(const struct derive *d, struct arena *a);
int derive_load(struct derive *d, str saved);

/* ---- one model call, as every total counts it ---- */

/* The figures of an llm.response, an aux.usage or the metadata of an older message: flat
 * fields, or the same nested in "usage"; older names of the cache figures included. */
void derive_usage(const struct json *event, struct conv_usage *ret);
/* Was this event of a fork copied from the original? Its figures count there. */
bool derive_is_copied(str forked_from, str created_at, const struct json *event);
/* By today's prices, else what the event says it cost. False: not known. */
bool derive_cost(const struct store_env *env, const struct json *event, str model,
                 const struct conv_usage *u, double *ret_usd);

/* What deleted conversations have cost: whole lines of JSON (ledger.h) from `after` on, some of
 * them; empty when there are no more. */
struct store_op *store_deleted_usage(struct store *s, uint64_t after, store_blob_fn fn, void *ctx);

/* Deep copy of a conversation. */
struct conv *conv_clone(struct arena *a, const struct conv *c);
