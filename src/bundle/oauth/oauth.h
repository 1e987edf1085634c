/* oauth.h - signing in to a remote MCP server, and staying so.
 *
 * A login finds out where the server sends people (oauth_meta.h), registers nb there, and makes
 * the address that a person opens. What comes back to the loopback address is exchanged for
 * tokens. They are kept with the bundle's other credentials, and refreshed when a connection is
 * opened. Tokens never leave this file but as a header to the server that they are for. Loop
 * thread only, except where it says otherwise. */
#pragma once

#include "bundle/oauth/oauth_meta.h"
#include "net/fetch.h"

#define OAUTH_CREDENTIAL "@oauth" /* the key; no manifest can ask for it */
#define OAUTH_EARLY_MS   60000    /* a token that ends sooner is refreshed at once */

struct oauth_state { /* what is kept between processes */
    str issuer, resource, token_endpoint;
    str scope;                    /* that was granted */
    str asked;                    /* that was asked for, the last time */
    str wanted;                   /* that the server asked for since, with a 403 */
    int64_t step_ups;             /* sign-ins in a row that such a 403 led to */
    str client_id, client_secret; /* the secret may be empty */
    enum oauth_client_auth auth;
    str access_token, refresh_token; /* the second may be empty */
    int64_t expires_ms;              /* epoch; 0 = not known */
};

/* Blocking, for pool threads and commands. -ENOKEY: nobody has signed in. */
int oauth_state_load(struct arena *a, const char *credentials_dir, str slug,
                     struct oauth_state *ret, struct err *e);
int oauth_state_save(const char *credentials_dir, str slug, const struct oauth_state *s,
                     struct err *e);

/* All scopes that were asked for before, by nb or by the server. */
str oauth_scope_before(struct arena *a, const struct oauth_state *s);

#define OAUTH_STEP_UPS_MAX 3
/* Of the state that follows this one: 0 unless the server's 403 leads to the sign-in. */
int64_t oauth_step_ups(const struct oauth_state *before);

/* The server wants `scope` (it may be empty) with a 403. Notes it in `s` for the next sign-in.
 * -ENOKEY: somebody has to sign in again. -EPERM: that was tried, and does not help. */
int oauth_step_up(struct arena *a, struct oauth_state *s, str scope, struct err *e);

/* ---- signing in ---- */

struct oauth_login;

struct oauth_login_conf { /* copied, but for the first two */
    struct loop *loop;
    struct fetcher *fetcher;
    str url;              /* of the MCP server */
    unsigned fetch_flags; /* of every request */
    str redirect_uri;
    /* Of a client that is registered already; or empty. An https URL is the client's metadata
     * document: it is used where the authorization server takes those. */
    str client_id, client_secret;
    str document_url; /* of nb's own metadata document; or empty */
    bool is_web;      /* the redirect leads to a page of this server, not to a terminal */
    str scope;        /* empty = what the server asks for */
    str scope_before; /* oauth_scope_before: is asked for again */
    int64_t step_ups; /* oauth_step_ups of the state before */
};

/* url: to be opened by a person; empty with an error. Never called before the start returned. */
typedef void (*oauth_ready_fn)(void *ctx, str url, const struct err *err);
struct oauth_login *oauth_login_start(const struct oauth_login_conf *conf, oauth_ready_fn fn,
                                      void *ctx);

/* Is this the query of a callback that answers this sign-in? Others can be made by any page. */
bool oauth_login_is_answer(const struct oauth_login *l, str query);

/* query: of the callback. s: borrowed; NULL with an error. */
typedef void (*oauth_done_fn)(void *ctx, const struct oauth_state *s, const struct err *err);
void oauth_login_finish(struct oauth_login *l, str query, oauth_done_fn fn, void *ctx);
void oauth_login_free(struct oauth_login *l); /* no callback any more; accepts NULL */

/* ---- staying ---- */

struct oauth_refresh;

/* -EACCES: the tokens are of no use any more, somebody has to sign in again. One that is cancelled
 * may have used up its refresh token. */
struct oauth_refresh *oauth_refresh_start(struct loop *l, struct fetcher *f, unsigned fetch_flags,
                                          const struct oauth_state *s, oauth_done_fn fn, void *ctx);
void oauth_refresh_cancel(struct oauth_refresh *r); /* accepts NULL */
