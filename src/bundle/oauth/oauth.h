/* oauth.h - signing in to a remote MCP server, and refreshing its tokens.
 *
 * A login finds the authorization server (oauth_meta.h), registers nb there, and creates the URL
 * that a person opens. The response to the redirect address is exchanged for tokens. They are
 * stored with the bundle's other credentials, and refreshed when a connection is opened. Tokens are
 * sent only as a header to the server that they are for. Loop thread only, except where noted. */
#pragma once

#include "bundle/oauth/oauth_meta.h"
#include "net/fetch.h"

#define OAUTH_CREDENTIAL "@oauth" /* key in the credentials; no manifest can request it */
#define OAUTH_EARLY_MS   60000    /* a token that expires sooner is refreshed first */

struct oauth_state { /* stored between processes */
    str issuer, resource, token_endpoint;
    str scope;                    /* granted */
    str asked;                    /* requested at the last sign-in */
    str wanted;                   /* required by the server since then, with a 403 */
    int64_t step_ups;             /* sign-ins in a row that a 403 caused */
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

struct oauth_state oauth_state_copy(struct arena *a, const struct oauth_state *s); /* deep */

/* All scopes that nb or the server has requested before. */
str oauth_scope_before(struct arena *a, const struct oauth_state *s);

#define OAUTH_STEP_UPS_MAX 3
/* The step_ups of the next state: 0 unless a 403 of the server causes the sign-in. */
int64_t oauth_step_ups(const struct oauth_state *before);

/* The server requires `scope` (it may be empty) with a 403. Stores it in `s` for the next sign-in.
 * -ENOKEY: a person has to sign in again. -EPERM: that was tried, and did not help. */
int oauth_step_up(struct arena *a, struct oauth_state *s, str scope, struct err *e);

/* ---- signing in ---- */

struct oauth_login;

struct oauth_login_conf { /* copied, except the first two */
    struct loop *loop;
    struct fetcher *fetcher;
    str url;              /* of the MCP server */
    unsigned fetch_flags; /* for every request */
    str redirect_uri;
    /* A client that is registered already; or empty. An https URL is the client's metadata
     * document: it is used if the authorization server supports those. */
    str client_id, client_secret;
    str document_url; /* of nb's own metadata document; or empty */
    bool is_web;      /* the redirect address is a page of this server, not of a terminal */
    str scope;        /* empty = the scope that the server requests */
    str scope_before; /* oauth_scope_before: requested again */
    int64_t step_ups; /* oauth_step_ups of the previous state */
};

/* url: for a person to open; empty on error. Never called before the start function has
 * returned. */
typedef void (*oauth_ready_fn)(void *ctx, str url, const struct err *err);
struct oauth_login *oauth_login_start(const struct oauth_login_conf *conf, oauth_ready_fn fn,
                                      void *ctx);

/* True when the query is the response to this sign-in. Any page can send other queries. */
bool oauth_login_is_answer(const struct oauth_login *l, str query);

/* query: of the redirect. s: valid during the callback; NULL on error. */
typedef void (*oauth_done_fn)(void *ctx, const struct oauth_state *s, const struct err *err);
void oauth_login_finish(struct oauth_login *l, str query, oauth_done_fn fn, void *ctx);
void oauth_login_free(struct oauth_login *l); /* no callback follows; accepts NULL */

/* ---- staying ---- */

struct oauth_refresh;

/* -EACCES: the tokens are no longer valid, a person has to sign in again. A cancelled refresh may
 * have used up its refresh token. */
struct oauth_refresh *oauth_refresh_start(struct loop *l, struct fetcher *f, unsigned fetch_flags,
                                          const struct oauth_state *s, oauth_done_fn fn, void *ctx);
void oauth_refresh_cancel(struct oauth_refresh *r); /* accepts NULL */
