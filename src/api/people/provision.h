/* provision.h - people who are not members of any workspace.
 *
 * With the setting people.ownWorkspace, the first request of such a person that needs a workspace
 * creates one, with the person as its admin; the audit log records it. Without the setting the
 * request is refused with an error that says what to do. An owner of a server without any workspace
 * always gets the first one. */
#pragma once

#include "api/api.h"
#include "base/list.h"

/* per person, because a person may delete the workspace and get another */
#define PROVISIONS_PER_MINUTE 2

/* In the request's arena; `done` is called once, unless `node` was removed from its list. */
struct provision_wait {
    struct list_node node;
    void (*done)(struct provision_wait *w, const struct err *err);
};

bool provision_is_allowed(const struct api *api, const struct actor *who);
/* Creates the workspace. Requests of the same person wait for the same workspace. */
void provision_start(struct api *api, struct http_req *r, struct provision_wait *w);
/* Replies with 403 no_workspace. */
void provision_refuse(struct http_req *r, const struct actor *who);
