/* admit.h - from a request to its handler: authentication, authorisation and the workspace.
 *
 * As much as possible is decided from the head of the request (admit_head), so that a client does
 * not send a body that is refused anyway. The rest is decided by admit_request when the body is
 * complete, because it may take time: checking a JWT that was not seen before, creating a
 * workspace, finding the workspace of a conversation. admit.c has the diagram. */
#pragma once

#include "api/api.h"

/* Guard, credentials, scope, rate limit. False: the request was answered. */
bool admit_head(struct api *api, struct http_req *r, bool is_page);
/* Finds the workspace, then calls the route's handler. */
void admit_request(struct api *api, struct http_req *r);
void admit_released(struct api *api, struct http_req *r);

/* Whether the actor's credential is still valid: person, membership, token, session. For responses
 * that take long; the roles are in the actor. */
bool admit_is_current(const struct api *api, const struct actor *who);
