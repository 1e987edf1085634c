/* token.h - the token that a connection to a remote server begins with.
 *
 * Taken from the bundle's credentials; refreshed first, and kept, when it has ended, is about to,
 * or was refused. Loop thread; files are read and written on the pool. */
#pragma once

#include "bundle/oauth.h"
#include "loop/pool.h"

struct token_want { /* strings are copied; the rest outlives the call */
    struct loop *loop;
    struct fetcher *fetcher;
    struct pool *pool;
    const char *credentials_dir;
    str slug, server_name, url;
    unsigned fetch_flags;
    bool is_refused; /* the one that is stored */
};

struct token_get; /* dies with its callback or its cancellation */

/* err: NULL when there is a token (borrowed). -ENOKEY, -EACCES: somebody has to sign in, and the
 * message says how. Never calls back before it returns. */
typedef void (*token_fn)(void *ctx, str token, const struct err *err);
struct token_get *token_get(const struct token_want *w, token_fn fn, void *ctx);
void token_cancel(struct token_get *g); /* no callback any more; accepts NULL */
