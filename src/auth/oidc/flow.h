/* flow.h - logins with an OpenID provider that are under way: the browser is at the provider.
 *
 * One server has them in memory. Several servers have them in the table nb_login, because the
 * browser may come back to a different one; `state` and cookie are stored as hashes there. A flow
 * is kept for ten minutes and taken once. Loop thread; shared ones block, and are used by one pool
 * thread instead. */
#pragma once

#include "base/arena.h"
#include "base/bytes/hash.h"
#include "base/err.h"

#define OIDC_FLOWS_MAX 10000 /* in memory; the oldest makes room */
#define FLOW_IS_GONE   "this login expired or was started in another browser; try again"

struct database;
struct login_flows;

struct login_flow { /* strings in an arena */
    str state, nonce, verifier;
    str redirect_uri, return_to;
    uint8_t cookie_hash[SHA256_LEN];
};

/* New random values. *ret_cookie: for the browser. */
struct login_flow flow_make(struct arena *a, str redirect_uri, str return_to, str *ret_cookie);

struct login_flows *flows_new(void);
struct login_flows *flows_new_shared(struct database *db); /* borrowed; open */
void flows_free(struct login_flows *f);                    /* accepts NULL */
bool flows_block(const struct login_flows *f);

int flows_keep(struct login_flows *f, const struct login_flow *flow, struct err *e);
/* -ENOENT: there is none, or it has expired; its cookie is not checked here. */
int flows_take(struct login_flows *f, struct arena *a, str state, struct login_flow *ret,
               struct err *e);
