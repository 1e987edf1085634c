/* oauth_meta.h - metadata of protected servers and authorization servers: RFC 9728, RFC 8414, RFC
 * 6749.
 *
 * Decides where to look, and whether a document may be trusted: the resource must be the server
 * that was asked, the issuer must be the one that was named, and PKCE must be offered. Pure; any
 * thread. Results live in the arena. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"

#define OAUTH_PLACES_MAX 3
#define OAUTH_SCOPE_MAX  2048 /* for a longer scope the server's default is requested */

struct oauth_challenge { /* WWW-Authenticate of a refusal; all may be empty */
    str resource_metadata, scope;
    bool is_scope_missing; /* error="insufficient_scope": other rights are required */
};

struct oauth_resource { /* protected resource metadata */
    str resource;       /* exactly as in the document */
    str issuer, scope;
};

enum oauth_client_auth { OAUTH_AUTH_NONE, OAUTH_AUTH_BASIC, OAUTH_AUTH_POST };

struct oauth_server { /* authorization server metadata */
    str issuer, authorization_endpoint, token_endpoint;
    str registration_endpoint;   /* or empty */
    str device_endpoint;         /* RFC 8628; or empty */
    bool has_offline_access;     /* among its scopes */
    bool takes_document;         /* a client_id may be the URL of a metadata document */
    bool sends_issuer;           /* with every callback */
    enum oauth_client_auth auth; /* of clients with a secret */
    bool takes_public;           /* clients without one */
};

void oauth_challenge_parse(str header, struct oauth_challenge *ret);

/* Scopes are lists of words. The words of both, each once; and whether `all` contains all of
 * `some`. */
str oauth_scope_join(struct arena *a, str some, str more);
bool oauth_scope_has(str all, str some);

/* An https URL with a path, without fragment, user name or query: can be a client_id. */
bool oauth_is_document_url(str url);

/* Possible locations of the metadata, in the order in which to try them. */
size_t oauth_resource_places(struct arena *a, str server_url, const struct oauth_challenge *c,
                             str ret[OAUTH_PLACES_MAX]);
size_t oauth_server_places(struct arena *a, str issuer, str ret[OAUTH_PLACES_MAX]);

/* A resource is a server, or a prefix of its URL: of the same origin, and the whole path or a part
 * of it that ends before a slash. */
bool oauth_is_about(str resource, str server_url);

/* -EACCES: it is about another server. */
int oauth_resource_decode(struct arena *a, str text, str server_url, struct oauth_resource *ret,
                          struct err *e);
/* -EACCES: another issuer, or no PKCE. */
int oauth_server_decode(struct arena *a, str text, str issuer, struct oauth_server *ret,
                        struct err *e);

/* The query that an authorization server sends to the redirect address. */
struct oauth_callback {
    str code, state, issuer, error, error_description;
};
void oauth_callback_parse(struct arena *a, str query, struct oauth_callback *ret);
/* The state must be ours, and the issuer, if it is named or was promised, the one that we asked:
 * -EACCES. An error of the server: -EPERM. */
int oauth_callback_check(const struct oauth_callback *c, const struct oauth_server *s, str state,
                         struct err *e);
