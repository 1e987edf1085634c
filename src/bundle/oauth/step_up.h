/* step_up.h - a call that a server refused because the token lacks rights: 403 with
 * error="insufficient_scope".
 *
 * A person cannot be asked in the middle of a call. So the scope is stored with the token, for the
 * next sign-in, and the call fails with a sentence that says who has to sign in. No second request
 * is sent, and after OAUTH_STEP_UPS_MAX sign-ins in a row no further one is proposed. Loop thread;
 * files are read and written on the pool. */
#pragma once

#include "bundle/oauth/oauth.h"
#include "loop/pool.h"

struct step_up;

struct step_up_want { /* strings are copied */
    struct pool *pool;
    const char *credentials_dir;
    str slug, scope;
    str advice; /* what to do about -ENOKEY: "sign in with: ..." */
};

/* why: -ENOKEY or -EPERM as from oauth_step_up, or the error of the files. Never calls back before
 * it returns. */
typedef void (*step_up_fn)(void *ctx, const struct err *why);
struct step_up *step_up_start(const struct step_up_want *w, step_up_fn fn, void *ctx);
