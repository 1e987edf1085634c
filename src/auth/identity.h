/* identity.h - authentication: who sends a request, and by which credential.
 *
 * A request has a bearer credential (API key, API token nb_..., or a JWT of the OpenID provider) or
 * the session cookie:
 *
 *   bearer nb_... ----> token of the roster -----------+
 *   bearer, dev or key mode --> the one key -----------+--> struct identity --> actor (api/admit)
 *   bearer, oidc mode ---> JWT seen before? ----yes----+
 *   cookie ------------> session ----------------------+
 *                             JWT not seen yet: -EAGAIN --> auth_check_later --> provider, person
 *
 * auth_check returns immediately, from memory, if there is one server; several read first what the
 * others have changed (session/fresh.h). That, a new JWT, logins and refreshes need a pool thread
 * or the network and return an auth_op: its callback is called once, never before the call returns,
 * and not at all after auth_cancel.
 *
 * Errors: -EACCES wrong credentials (401), -EBUSY too many attempts (429), -EHOSTUNREACH the
 * provider, and -ENOTCONN the database cannot be reached now (503: this must not log anybody out),
 * -ENOTSUP the login method
 * is not configured (400), -EPERM authenticated, but not admitted (domain, no account; 403).
 * Messages never reveal whether an account exists. Loop thread only.
 *
 * Files: identity.h (this; login.c, dev_access.c), instance.h (the
 * configured mode), rule.h (access rules of routes and tools), dev_key.h. Rooms: session/
 * (sessions, passwords, tokens, limits), oidc/ (OpenID Connect). */
#pragma once

#include "auth/instance.h"
#include "net/fetch.h"
#include "workspace/actor.h"
#include "workspace/roster/directory.h"

struct auth;

/* The result of a check. It becomes an actor when the request is admitted, and is not kept: roles
 * are looked up in the directory at each use. */
struct identity {
    str user_id;
    enum auth_how how;
    unsigned scopes;
    struct json_strs tools;   /* globs of a token, none = all */
    str workspace_id;         /* the only workspace of a token; empty = all of the user's */
    str session_id, token_id; /* stable names, not secrets; empty when not used */
    int64_t expires_ms;       /* 0 = never */
};

int auth_scope_parse(str name, unsigned *ret); /* read, write, mcp, admin, all */
str auth_scope_name(enum auth_scope one);
struct json_strs auth_scope_names(struct arena *a, unsigned scopes);

/* ---- the service ---- */

struct auth_deps {
    struct loop *loop;
    struct logger *log;
    struct directory *directory;
    struct fetcher *fetcher;         /* oidc; may be NULL in other modes */
    const struct instance *instance; /* borrowed, outlives this */
    const char *work_dir;
    struct database *shared;   /* what several servers share is here; NULL = files in work_dir */
    bool has_replicas;         /* several servers use it now: sessions are there, too */
    uint64_t (*mono_ms)(void); /* by which attempts are counted; NULL = clock_mono_ms */
};

int auth_new(const struct auth_deps *deps, struct auth **ret, struct err *e);
void auth_free(struct auth *a); /* writes what is pending; cancels the rest; accepts NULL */

/* Reads what is in the shared database, which must be open. Called before the first request. Does
 * nothing without one. Blocking. */
int auth_open_shared(struct auth *a, struct err *e);

/* Where servers count the requests of people together (session/shared_rate.h); NULL: there is one
 * server, or auth_open_shared was not called yet. */
struct shared_rate *auth_shared_rate(const struct auth *a);

enum auth_mode auth_mode(const struct auth *a);

/* ---- without authentication: the key of the installation (dev_key.h) ---- */

/* Reads or makes the key; called before the first TCP request. Before that no key is accepted. Does
 * nothing in other modes. Blocking. */
int auth_dev_open(struct auth *a, struct err *e);
str auth_dev_key(const struct auth *a); /* empty in other modes, or before auth_dev_open */

/* Replaces the key and ends every session and stream that is based on the old one. */
typedef void (*auth_renew_done)(void *ctx, const struct err *err);
struct auth_op *auth_dev_renew(struct auth *a, auth_renew_done done, void *ctx);

/* ---- every request ---- */

struct auth_credentials {
    str bearer; /* the text after "Bearer ", or empty */
    str cookie; /* the value of AUTH_COOKIE_SESSION, or empty; used only without a bearer */
};

/* 0 with the identity copied to the arena; -EACCES; -EAGAIN: call auth_check_later. */
int auth_check(struct auth *a, struct arena *arena, const struct auth_credentials *c,
               struct identity *ret);

/* Counts and logs a wrong bearer credential of this client, without the credential. False when
 * there were too many in this minute (429 instead of 401). A correct credential is never refused:
 * the limit only keeps guesses cheap for the server; the length of keys makes guessing hopeless. */
bool auth_wrong_bearer(struct auth *a, str client);

struct auth_op;                       /* an operation whose result comes later */
void auth_cancel(struct auth_op *op); /* its callback is not called; accepts NULL */
/* For operations that change the directory: `may` is called with the ctx of the operation when the
 * change leaves the directory's queue. False: nothing is changed, and the result is -ESTALE. */
void auth_only_if(struct auth_op *op, bool (*may)(void *ctx));

/* `who` is NULL on failure and lives for the call. */
typedef void (*auth_check_done)(void *ctx, const struct err *err, const struct identity *who);
struct auth_op *auth_check_later(struct auth *a, const struct auth_credentials *c,
                                 auth_check_done done, void *ctx);

/* ---- logging in and out ---- */

#define AUTH_COOKIE_SESSION "nb_session" /* HttpOnly; SameSite=Lax; Path=/ */
#define AUTH_COOKIE_REFRESH "nb_refresh" /* HttpOnly; SameSite=Strict; Path=/v1/auth */
#define AUTH_COOKIE_FLOW    "nb_login"   /* HttpOnly; SameSite=Lax; Path=/v1/auth */
#define AUTH_FLOW_MAX_AGE_S 600

/* The name that a cookie has on this server. Cookies are shared by all ports of a host name, so
 * in dev mode, where several nb run on one loopback address, the name is specific to the key. */
const char *auth_cookie_name(const struct auth *a, struct arena *arena, const char *name);

struct auth_session { /* of a login or a refresh: values for two cookies */
    str user_id, session_id;
    str session_value, refresh_value; /* both empty: another tab got new ones just before */
    int64_t session_max_age_s, refresh_max_age_s;
    str return_to; /* callback only: the page to open; a path of this server */
};

/* `s` is NULL on failure and lives for the call. */
typedef void (*auth_session_done)(void *ctx, const struct err *err, const struct auth_session *s);

struct auth_login {
    str email, password; /* local */
    str key;             /* key mode: the API key */
    str client;          /* address of the peer, for the rate limit */
};
struct auth_op *auth_login(struct auth *a, const struct auth_login *in, auth_session_done done,
                           void *ctx);

/* New values for both cookies; the old ones stop working (the session value after a grace of
 * some seconds, for requests in flight). A refresh value that is used twice ends the session: it
 * was stolen. */
struct auth_op *auth_refresh(struct auth *a, str refresh_value, auth_session_done done, void *ctx);

/* When the session's value expires, in milliseconds since the epoch; 0 = the session has ended. */
int64_t auth_session_until(const struct auth *a, str session_id);

/* Ends the session of these cookies (the first may have expired before the second) and calls `done`
 * once that is stored. -ENOTCONN: it may not be, and other servers may still accept it. */
typedef void (*auth_logout_done)(void *ctx, const struct err *err);
void auth_logout(struct auth *a, str session_value, str refresh_value, auth_logout_done done,
                 void *ctx);

/* ---- passwords and tokens (the caller has checked the rights) ---- */

/* Hashes and stores; ends all sessions of the user. `current` is verified first unless its
 * p is NULL (an admin sets it). */
struct auth_op *auth_set_password(struct auth *a, str user_id, str current, str password,
                                  directory_done done, void *ctx);

struct auth_new_token {
    str user_id, name, workspace_id;
    unsigned scopes; /* 0 = SCOPES_DEFAULT */
    struct json_strs tools;
    int64_t expires_ms; /* 0 = never */
};
/* `value` is the token itself, shown this once; NULL str on failure. */
typedef void (*auth_token_done)(void *ctx, const struct err *err, str id, str value);
struct auth_op *auth_create_token(struct auth *a, const struct auth_new_token *in,
                                  auth_token_done done, void *ctx);
/* Milliseconds since the epoch; 0 = no use was recorded. */
int64_t auth_token_used(const struct auth *a, str token_id);

/* ---- OpenID Connect ---- */

struct auth_authorize {
    str redirect_uri; /* of /v1/auth/callback; ignored when instance.json names one */
    str return_to;    /* a path of this server; anything else is ignored */
    str client;       /* address of the peer, for the rate limit */
};
/* url: where to send the browser; flow: value of the AUTH_COOKIE_FLOW cookie, which ties the
 * answer to this browser. */
typedef void (*auth_authorize_done)(void *ctx, const struct err *err, str url, str flow);
struct auth_op *auth_authorize(struct auth *a, const struct auth_authorize *in,
                               auth_authorize_done done, void *ctx);

struct auth_callback {
    str state, code, error, iss; /* from the query; empty when absent */
    str flow;                    /* the cookie */
};
/* -ENOENT: no login with this state was started; the query is not trusted. */
struct auth_op *auth_callback(struct auth *a, const struct auth_callback *in,
                              auth_session_done done, void *ctx);

/* ---- notifications ---- */

struct auth_observer { /* embedded in the observer's struct: streams, mcp sessions */
    struct list_node node;
    /* A session or token is no longer valid: logged out, revoked, its user removed, a session
     * expired (the expiry of a token is known before: expires_ms). One of the ids is empty; both
     * are when the dev key was replaced, which ends everything of that user. Streams and MCP
     * sessions that are based on it must end now. */
    void (*on_ended)(void *ctx, str user_id, str session_id, str token_id);
    void *ctx;
};
void auth_observe(struct auth *a, struct auth_observer *o);
void auth_unobserve(struct auth_observer *o);
