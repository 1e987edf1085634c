/* oidc.h - OpenID Connect: the code flow with PKCE, refreshes, and tokens as bearer.
 *
 * The provider's keys and addresses are in provider.h. A login in progress is kept for ten minutes
 * (flow.h), found by its `state` once, and bound to one browser by a cookie. Users are found by
 * issuer and subject; on their first login by their verified e-mail address, or they get an
 * account if their domain is allowed. For identity.c only. Loop thread. */
#pragma once

#include "auth/auth_impl.h"

#define OIDC_SEEN_MAX 4096 /* bearer tokens whose signature was checked */

struct oidc *oidc_new(struct auth *a);
void oidc_free(struct oidc *o); /* accepts NULL; no operation may be in progress */

/* A bearer that was verified before: 0, -EACCES, or -EAGAIN when it must be verified. */
int oidc_check(struct oidc *o, struct arena *arena, str bearer, struct identity *ret);
struct auth_op *oidc_check_later(struct oidc *o, str bearer, auth_check_done done, void *ctx);

/* Asks the provider whether this session may continue. */
struct auth_op *oidc_refresh(struct oidc *o, const struct login_session *s, auth_session_done done,
                             void *ctx);
