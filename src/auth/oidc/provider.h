/* provider.h - the metadata of an OpenID provider: addresses and keys.
 *
 * Both are fetched when they are first needed and cached: addresses for an hour, keys for five
 * minutes. A token with an unknown key fetches the keys again, but not more often than every ten
 * seconds, so that forged tokens cannot cause many requests to the provider. When the provider
 * does not respond, cached values stay valid for another hour. Loop thread. */
#pragma once

#include "auth/instance.h"
#include "auth/oidc/jwt.h"
#include "base/list.h"
#include "net/fetch.h"

struct oidc_provider;

struct provider_meta {
    str authorization_endpoint, token_endpoint, jwks_uri;
    bool has_offline_access, wants_secret_in_body;
};

struct oidc_provider *provider_new(struct loop *l, struct logger *log, struct fetcher *f,
                                   const struct instance_oidc *conf, uint64_t (*mono_ms)(void));
void provider_free(struct oidc_provider *p); /* no provider_wait may be in its lists */

/* Embedded in the struct of the waiting caller; list_del(&w->node) stops waiting. */
struct provider_wait {
    struct list_node node;
    void (*fn)(void *ctx, const struct err *err); /* -EHOSTUNREACH: it cannot be reached now */
    void *ctx;
};

/* Calls back, never before it returns, once the addresses are known. */
void provider_discover(struct oidc_provider *p, struct provider_wait *w);
const struct provider_meta *provider_meta(const struct oidc_provider *p); /* after that */

/* The key of this token, if it is known and fresh; NULL: fetch the keys, then call this again. */
const struct jwk *provider_key(const struct oidc_provider *p, const struct jwt *t);
void provider_fetch_keys(struct oidc_provider *p, struct provider_wait *w);
/* After that: the key, fresh or not. */
const struct jwk *provider_known_key(const struct oidc_provider *p, const struct jwt *t);

/* Asks the token endpoint: `form` is the body. Only after discovery. */
struct fetch_whole *provider_token(struct oidc_provider *p, str form, fetch_whole_done done,
                                   void *ctx);
