/* gate.h - checks the rule of the route: may this request continue?
 *
 * The query is checked first, for every route.  * Scopes, tokens and server roles are checked from
 * the head, and again when the whole request has arrived. Roles in a workspace, and the workspace
 * or person that the path names, are checked once the workspace is known. Rights in a conversation
 * are checked by api_find_conv, by the same rule, when the conversation has been read. */
#pragma once

#include "api/identity.h"

/* All three reply with an error when they return false. */
/* A value that cannot be decoded must not count as absent: a filter would be lost with it. */
bool gate_query(struct http_req *r);
bool gate_identity(struct http_req *r, const struct actor *who);
bool gate_target(const struct api *api, struct http_req *r, const struct api_identity *id);
/* The same check later, without a reply: is the decision from before the handler still valid? */
bool gate_still_open(const struct api *api, const struct http_req *r);
