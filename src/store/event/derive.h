/* derive.h - the properties of a conversation, derived from its log line by line.
 *
 * It is fed with the lines of a log in order, knows the title, the sharing, the totals and other
 * properties after each line, and can continue later at the same byte: caches and the index keep
 * it for this. All callers use this one derivation, so that no two places can disagree. */
#pragma once

#include "store/event/event.h"
#include "store/store.h"

struct derive {
    struct arena arena; /* strings; values that change often are overwritten in place */
    const struct store_env *env;
    bool has_header;  /* line 1 was read */
    bool is_damaged;  /* line 1 is not the metadata of a conversation */
    struct conv conv; /* conv.end is where to continue */
    char updated_at[32];
};

void derive_init(struct derive *d, const struct store_env *env);
void derive_done(struct derive *d); /* accepts a zeroed struct */

/* The next line, without its line feed; end is the position past it. The first one is the
 * metadata line. */
void derive_line(struct derive *d, str line, store_pos end);
bool derive_scanned(void *derive, str line, store_pos end); /* derive_line as a store_line_fn */
/* The same for a line that was just appended and is known to be valid: reads only what it needs. */
void derive_appended(struct derive *d, str line, store_pos end);

/* A copy in the arena. `id` is the id of the path, which takes precedence over the id in line 1. */
struct conv *derive_conv(const struct derive *d, struct arena *a, str id, str workspace_id);

/* ---- one model call, for all totals ---- */

/* The figures of an llm.response, an aux.usage or the metadata of an older message: flat
 * fields, or the same nested in "usage"; older names of the cache figures included. */
void derive_usage(const struct json *event, struct conv_usage *ret);
/* Was this event of a fork copied from the original? Its usage is counted only there. */
bool derive_is_copied(str forked_from, str created_at, const struct json *event);
/* The cost at current prices, else the cost stored in the event. False: not known. */
bool derive_cost(const struct store_env *env, const struct json *event, str model,
                 const struct conv_usage *u, double *ret_usd);

/* The usage of deleted conversations: a page of complete JSON lines (ledger.c) from `after` on;
 * empty at the end. */
struct store_op *store_deleted_usage(struct store *s, uint64_t after, store_blob_fn fn, void *ctx);
/* Adds what the source has of it and the target does not: it can be repeated. ret_n: calls of
 * models. Blocking, while nothing else uses the target. */
int store_copy_deleted_usage(struct store *from, struct store *to, int64_t *ret_n, struct err *e);

/* Deep copy of a conversation. */
struct conv *conv_clone(struct arena *a, const struct conv *c);
