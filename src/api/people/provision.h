/* provision.h - people who are not a member of any workspace.
 *
 * With the setting people.ownWorkspace such a person gets a workspace of their own, as its admin,
 * with the first request that needs one; the audit log records it. Without the setting the request
 * is refused with a sentence that says what to do. An owner of a server that has no workspace yet
 * always gets the first one. */
#pragma once

#include "api/internal.h"

#define PROVISIONS_PER_MINUTE 2 /* for one person, who may delete what they got */

/* In the request's arena; `done` is called once, unless `node` was removed from its list. */
struct provision_wait {
    struct list_node node;
    void (*done)(struct provision_wait *w, const struct err *err);
};

bool provision_is_allowed(const struct api *api, const struct actor *who);
/* Makes the workspace. Requests of the same person wait for the same workspace. */
void provision_start(struct api *api, struct http_req *r, struct provision_wait *w);
/* Answers 403 no_workspace. */
void provision_refuse(struct http_req *r, const struct actor *who);
