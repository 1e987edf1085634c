/* gate.h - checks the rule of the route: may this request continue?
 *
 * Scopes, tokens and server roles are checked from the head, and again when the whole request has
 * arrived. Roles in a workspace, and the workspace or person that the path names, are checked once
 * the workspace is known. Rights in a conversation are checked by api_find_conv, by the same rule,
 * when the conversation has been read. */
#pragma once

#include "api/identity.h"

/* Both reply with an error when they return false. */
bool gate_identity(struct http_req *r, const struct actor *who);
bool gate_target(const struct api *api, struct http_req *r, const struct api_identity *id);
/* The same check later, without a reply: is the decision from before the handler still valid? */
bool gate_still_open(const struct api *api, const struct http_req *r);
