/* admit.h - from a request to its handler: who asks, whether they may, in which workspace.
 *
 * The head decides what it can, so that nobody sends a body in vain; a JWT that was not seen yet,
 * a workspace that has to be made or found come afterwards and may take their time. */
#pragma once

#include "api/internal.h"

/* Guard, credentials, scope, rate. False: answered. */
bool admit_head(struct api *api, struct http_req *r, bool is_page);
/* Finds the workspace, then calls the handler of the route. */
void admit_request(struct api *api, struct http_req *r);
void admit_released(struct api *api, struct http_req *r);

/* Is the actor's credential still valid: the person, the membership, the token, the session? For
 * answers that take long; roles are asked of the actor. */
bool admit_is_current(const struct api *api, const struct actor *who);

/* Answers 401, 403, 429 or 503 as fits an error of auth/identity.h. */
void api_auth_error(struct http_req *r, const struct err *err);
/* Answers as fits an error of workspace/roster/change.h. */
void api_change_error(struct http_req *r, const struct err *err);
