/* gate.h - asks the route's row whether this request may go on.
 *
 * Scopes, tokens and roles on the server are decided from the head, and again when the whole
 * request has arrived; roles in a workspace and what the path names once the workspace is known.
 * Rights in a conversation are decided by api_find_conv, from the same row, when the conversation
 * has been read. */
#pragma once

#include "api/internal.h"

/* Both answer the request themselves when they return false. */
bool gate_identity(struct http_req *r, const struct actor *who);
bool gate_target(const struct api *api, struct http_req *r, const struct api_identity *id);
/* The same later, without an answer: is what was decided when the handler was called still so? */
bool gate_still_open(const struct api *api, const struct http_req *r);
