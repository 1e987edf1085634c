/* trail.h - which requests the audit log records, and how.
 *
 * One table names an action for every route that changes something or returns data in bulk; the
 * record is written when the response is sent, with the status as outcome. An operation that tools
 * can do as well records itself (workspace/deed.h); the table then records only its refusals. A
 * request whose client disconnected before the response is recorded as well, because its work may
 * have been done. Only the body members that the table names are recorded: never secrets, never
 * messages. */
#pragma once

#include "http/server.h"
#include "workspace/audit.h"
#include "workspace/deed.h"

/* Records of requests without a known sender, per minute, so that strangers cannot fill the disk.
 * Further ones are counted and recorded as one. */
#define TRAIL_UNKNOWN_MAX 120

struct api;
struct trail_row;

struct trail {
    const struct trail_row **rows; /* one for each row of api_routes; NULL = not recorded */
    int64_t window;                /* the current minute */
    uint64_t n;                    /* records of unknown senders in this minute */
};

void trail_init(struct trail *t);
void trail_done(struct trail *t);

void trail_answered(struct api *api, const struct http_req *r, int status);
void trail_released(struct api *api, const struct http_req *r);
/* For an operation that records itself (workspace/deed.h): the request is not recorded again,
 * unless the operation was never reached. Lives as long as the request. */
const struct doer *trail_doer(struct api *api, struct http_req *r);
/* The sender of this request and the client's address; for additional records that a request
 * makes. */
struct audit_entry trail_entry(struct api *api, const struct http_req *r);
/* For a handler of a route in the table. The user that a login turned out to be: */
void trail_user(struct http_req *r, str user_id);
/* Additional detail for the record, such as the e-mail address of a user who is removed. */
void trail_note(struct http_req *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A login through the provider, whose route has no caller. err NULL: it succeeded. */
void trail_login(struct api *api, const struct http_req *r, str user_id, const struct err *err);
