/* oidc_impl.h - shared by the files of oidc.h. */
#pragma once

#include "auth/oidc/flow.h"
#include "auth/oidc/oidc.h"
#include "auth/oidc/provider.h"

struct oidc {
    struct auth *auth;
    const struct instance_oidc *conf;
    struct oidc_provider *provider;
    struct login_flows *flows;
    struct map seen;           /* hash of a bearer -> struct seen */
    struct list_node seen_age; /* struct seen, oldest first */
};

enum oidc_purpose { OIDC_AUTHORIZE, OIDC_BEARER, OIDC_CALLBACK, OIDC_REFRESH };

struct oidc_op {
    struct auth_op op;
    struct oidc *oidc;
    enum oidc_purpose purpose;
    struct provider_wait wait;
    struct fetch_whole *call;
    union {
        auth_authorize_done authorize;
        auth_check_done check;
        auth_session_done session;
    } done;
    str redirect_uri, return_to; /* authorize, callback */
    str code, verifier, nonce;   /* callback */
    str session_id;              /* refresh */
    str provider_refresh;        /* the provider's answer */
    str token;                   /* to be verified */
    str state, cookie;           /* authorize, callback */
    struct err wrong;            /* callback: what the provider's answer lacks */
    struct login_flow flow;
    struct job job; /* of these two */
    void (*flows_work)(struct oidc_op *x);
    void (*flows_done)(struct oidc_op *x);
    struct jwt jwt;
    struct auth_session offer; /* callback, refresh: given when it is stored */
    struct session_wait stored;
    bool is_second_try;
};

struct oidc_op *oidc_op_new(struct oidc *o, enum oidc_purpose purpose, void *ctx);
/* Calls back with op.err and ends it; op is a struct oidc_op. */
void oidc_fail(void *op);
/* Frees the operation when it was cancelled; true then. */
bool oidc_is_over(struct oidc_op *x);

/* Verifies x->token, finds or makes its person, and calls back. */
void oidc_verify(struct oidc_op *x);
/* Sessions; for OIDC_CALLBACK and OIDC_REFRESH. */
void oidc_give_session(struct oidc_op *x, const struct user *u);

void oidc_seen_free(struct oidc *o);
