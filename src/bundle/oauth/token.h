/* token.h - the token that a connection to a remote server begins with.
 *
 * Taken from the bundle's credentials; refreshed first, and kept, when it has ended, is about to,
 * or was refused. A refresh that was sent may have used up the old token, so that the new one is
 * kept even if nobody waits for it any more. One at a time of each bundle, in the order of the
 * calls; and one at a time of all processes, by a lock on a file: a process that waited for it uses
 * what the other one got, unless that is the token that was refused. The new refresh token is on
 * the disk before the access token is used. Loop thread; files are read and written on the pool. */
#pragma once

#include "bundle/oauth/oauth.h"
#include "loop/pool.h"

struct token_want { /* strings are copied; the rest outlives the call */
    struct loop *loop;
    struct fetcher *fetcher;
    struct pool *pool;
    struct list_node *queue; /* all that are under way with these credentials */
    const char *credentials_dir;
    str slug, server_name, url;
    unsigned fetch_flags;
    str refused; /* the token that the server refused last; or empty */
};

#define TOKEN_WAIT_MS 30000 /* for the refresh of another process */
#define TOKEN_LEFT_MS 5000  /* an answer that nobody waits for is given up */

struct token_get; /* dies with its callback */

/* err: NULL when there is a token (borrowed). -ENOKEY, -EACCES: somebody has to sign in, and the
 * message says how. Never calls back before it returns. */
typedef void (*token_fn)(void *ctx, str token, const struct err *err);
struct token_get *token_get(const struct token_want *w, token_fn fn, void *ctx);
/* Nothing new is begun. Calls back with -ECANCELED when what was under way is over, never before
 * it returns. Once at most. */
void token_cancel(struct token_get *g);
