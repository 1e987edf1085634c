/* people.h - what the routes about users, workspaces and tokens share. */
#pragma once

#include "api/admit.h"

/* Changes of one person that are being saved; more get 429. */
#define API_CHANGES_MEMBER 1u
#define API_CHANGES_ADMIN  16u

/* A change under way; the request lives until it is answered. */
struct api_change {
    struct api *api;
    struct http_req *req;
    /* After success, with the id of what was made or changed. */
    void (*then)(struct api_change *c, str id);
    void *data;
};

/* Carries it out and goes on with `then`, or answers with the error. */
void api_change(struct api *api, struct http_req *r, const struct change *what,
                void (*then)(struct api_change *c, str id), void *data);

/* For directory_change_if and auth_only_if, with a struct api_change as ctx. */
bool api_change_may(void *change);

const struct roster *api_roster(const struct api *api);
/* Admin or owner of the server, now, and not with a token for one workspace only. */
bool api_is_org_admin(const struct actor *me);
void api_forbidden(struct http_req *r);
/* {"id": ..., "deleted": true} */
void api_reply_deleted(struct api_change *c, str id);

void api_write_user(struct json_writer *w, const struct user *u, bool is_private);
