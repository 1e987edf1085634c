/* people.h - shared by the routes of users, workspaces and tokens. */
#pragma once

#include "api/exchange.h"
#include "workspace/roster/change.h"

/* Pending changes of one person; more get 429. */
#define API_CHANGES_MEMBER 1u
#define API_CHANGES_ADMIN  16u

/* A change in progress; the request lives until the reply is sent. */
struct api_change {
    struct api *api;
    struct http_req *req;
    /* Called after success, with the id of what was created or changed. */
    void (*then)(struct api_change *c, str id);
    void *data;
};

/* Applies the change and continues with `then`, or replies with the error. */
void api_change(struct api *api, struct http_req *r, const struct change *what,
                void (*then)(struct api_change *c, str id), void *data);

/* For directory_change_if and auth_only_if, with a struct api_change as ctx. */
bool api_change_may(void *change);

/* A request that waits for auth/identity.h: `op` is cancelled when the client disconnects. In the
 * arena of the request. */
struct api_auth_wait {
    struct api *api;
    struct http_req *req;
    struct auth_op *op;
};
struct api_auth_wait *api_auth_wait(struct api *api, struct http_req *r);

/* {"id": ..., "deleted": true} */
void api_reply_deleted(struct api_change *c, str id);

void api_write_user(struct json_writer *w, const struct user *u, bool is_private);
/* An array of a person's workspaces, or of all. */
void api_write_workspaces(struct json_writer *w, const struct api *api, const struct actor *me,
                          bool is_all);
