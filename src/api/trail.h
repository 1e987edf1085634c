/* trail.h - which requests are recorded in the audit log, and how.
 *
 * One table names an action for every route that changes something or gives data away; the
 * record is made when the answer is sent, with the status as outcome. An operation that tools can
 * do as well records itself (workspace/deed.h); the table then serves for its refusals. A request
 * whose client left before the answer is recorded as well, because its work may have been done. Of
 * a body only the members that the table names are recorded: never secrets, never messages. */
#pragma once

#include "api/internal.h"

/* Records of requests without a known sender, per minute: nobody may fill the disk. The rest is
 * counted and recorded as one. */
#define TRAIL_UNKNOWN_MAX 120

void trail_init(struct trail *t);
void trail_done(struct trail *t);

void trail_answered(struct api *api, const struct http_req *r, int status);
void trail_released(struct api *api, const struct http_req *r);
/* For an operation that records itself (workspace/deed.h): the request is not recorded again,
 * unless its operation was never reached. Lives as long as the request. */
const struct doer *trail_doer(struct api *api, struct http_req *r);
/* Who sent this request, and from where; for records that a request makes besides its own. */
struct audit_entry trail_entry(struct api *api, const struct http_req *r);
/* For a handler of a route that the table names. Whom a login turned out to be: */
void trail_user(struct http_req *r, str user_id);
/* More detail for the record, such as the e-mail address of a user who is removed. */
void trail_note(struct http_req *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A login through the provider, whose route knows nobody. err NULL: it worked. */
void trail_login(struct api *api, const struct http_req *r, str user_id, const struct err *err);
