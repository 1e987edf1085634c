/* token.h - the token for a new connection to a remote server.
 *
 * It is read from the bundle's credentials; it is refreshed first, and stored, when it has expired,
 * is about to, or was refused. A refresh that was sent may have used up the old token, so the new
 * one is stored even if the caller has cancelled. There is one refresh at a time for each bundle,
 * in the order of the calls, and one at a time among all processes, by a file lock: a process that
 * waited for the lock uses the token that the other one got, unless that is the refused token. The
 * new refresh token is on disk before the access token is used. Loop thread; files are read and
 * written on the pool. */
#pragma once

#include "bundle/oauth/oauth.h"
#include "loop/pool.h"

struct token_want { /* strings are copied; pointers must outlive the call */
    struct loop *loop;
    struct fetcher *fetcher;
    struct pool *pool;
    struct list_node *queue; /* all requests in progress with these credentials */
    const char *credentials_dir;
    str slug, server_name, url;
    unsigned fetch_flags;
    str refused; /* the token that the server refused last; or empty */
};

#define TOKEN_WAIT_MS 30000 /* limit for the refresh of another process */
#define TOKEN_LEFT_MS 5000  /* limit for a refresh after its cancellation */

struct token_get; /* freed after its callback */

/* err: NULL when there is a token (valid during the callback). -ENOKEY, -EACCES: a person has to
 * sign in, and the message says how. Never calls back before it returns. */
typedef void (*token_fn)(void *ctx, str token, const struct err *err);
struct token_get *token_get(const struct token_want *w, token_fn fn, void *ctx);
/* Begins nothing new. Calls back with -ECANCELED when the step in progress is over, never before
 * this function has returned. Call it at most once. */
void token_cancel(struct token_get *g);
