/* instance.h - how users log in: {workDir}/instance.json, or its absence.
 *
 *   {"auth": {"adapter": "local"}, "orgName": "Example"}
 *   {"auth": {"adapter": "oidc", "issuer": "https://id.example.com", "clientId": "nb",
 *             "clientSecret": "...", "allowedDomains": ["example.com"]}}
 *
 * No file and no NB_API_KEY: dev, one owner, loopback only. NB_API_KEY without the file: key.
 * Unlike in nimblebrain.json an unknown key is an error here: a misspelt allowedDomains would
 * admit everybody. */
#pragma once

#include "base/json/json_decode.h"

enum auth_mode { AUTH_DEV, AUTH_KEY, AUTH_LOCAL, AUTH_OIDC };

#define INSTANCE_SESSION_HOURS     (30 * 24) /* unless the file says otherwise */
#define INSTANCE_IDLE_HOURS        (7 * 24)
#define INSTANCE_SESSION_HOURS_MAX (366 * 24)

#define INSTANCE_KEY_MIN      16 /* shorter API keys are refused, */
#define INSTANCE_KEY_DISTINCT 6  /* and those with fewer different characters */

struct instance_oidc {
    str issuer, client_id, client_secret; /* secret: also NB_OIDC_CLIENT_SECRET; may be empty */
    str redirect_uri;                     /* empty: made from the request's own address */
    str jwks_uri;                         /* empty: from discovery */
    str scopes;                           /* "openid email profile" and what discovery offers */
    struct json_strs allowed_domains;     /* none = every account of the provider */
    bool trust_email;                     /* the provider never sends email_verified */
    bool is_closed;                       /* "signup": false - only users that exist already */
};

struct instance {
    struct arena arena;
    enum auth_mode mode;
    const char *path; /* of instance.json, whether it exists or not */
    str api_key;      /* AUTH_KEY */
    str org_name, org_id;
    int64_t session_ms, idle_ms; /* how long a login lasts, and without a request */
    struct instance_oidc oidc;   /* AUTH_OIDC */
    struct json_strs warnings;
};

/* `api_key` is NB_API_KEY and `client_secret` NB_OIDC_CLIENT_SECRET, empty when not set. */
int instance_load(struct instance *ret, const char *work_dir, str api_key, str client_secret,
                  struct err *e);
void instance_done(struct instance *i);

/* Refuses (-ENOENT) a work directory that has users but no instance.json: the file was lost, and to
 * continue without logins would give everybody access to the data of those users. */
int instance_check_people(const struct instance *i, const char *work_dir, struct err *e);

bool instance_is_sole(const struct instance *i); /* dev and key: one implicit person */
const char *auth_mode_name(enum auth_mode mode); /* dev, key, local, oidc */
