/* identity.h - the caller and the workspace of a request.
 *
 * admit.c fills it before the handler runs; handlers only read it. It contains no role and no
 * right: the actor is asked for them whenever a decision depends on them. Loop thread only. */
#pragma once

#include "api/api.h"

/* In the arena of the request. */
struct api_identity {
    struct actor *actor; /* held until the request is freed; NULL: unknown, only with API_OPEN */
    struct api_space *space; /* NULL with API_NO_SPACE and API_HOME */
    /* Rights when the handler was called; only compared with the current rights when the response
     * is sent. */
    struct {
        uint64_t generation; /* actor_generation */
        enum ws_role role;
        enum org_role server;
    } dispatched;
    bool is_pending;    /* the credentials are still being checked */
    struct err check;   /* API_ASKS: why they could not be checked; the caller is unknown */
    bool is_dispatched; /* the handler was called */
    bool is_recorded;   /* for the audit log (trail.h) */
    str audit_user;     /* trail_user */
    str audit_note;     /* trail_note */
};

const struct api_identity *api_identity(const struct http_req *r);
struct api_space *api_space(const struct http_req *r);
struct actor *api_actor(const struct http_req *r); /* borrowed; NULL: unknown, only with API_OPEN */
str api_user(const struct http_req *r);            /* the id of the caller */
/* Role in the workspace now: a response that waited shows what is allowed when it is sent. */
bool api_is_admin(const struct http_req *r);
/* Whether the caller is an admin or owner of the server now, and does not use a token for one
 * workspace. */
bool api_is_org_admin(const struct actor *me);
/* Whether the token allows anything of this bundle; otherwise the bundle is hidden. */
bool api_token_sees(const struct http_req *r, str bundle);

const struct roster *api_roster(const struct api *api);
/* may be empty; valid in this turn of the loop */
str api_display_name(const struct api *api, str user_id);
/* Code that continues after its request must hold the workspace. */
struct api_space *api_hold(struct api *api, struct api_space *s);
void api_release(struct api *api, struct api_space *s);
