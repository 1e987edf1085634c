/* exchange.h - shared by handlers: decoding a request, waiting for the store, replying. Loop thread
 * only. */
#pragma once

#include "api/failure.h"
#include "api/identity.h"
#include "base/json/json_decode.h"

/* ceiling of one response; a larger one becomes an error */
#define API_JSON_MAX (64u * 1024 * 1024)

/* False: the rights that the response depends on were lost meanwhile; 403 was sent. */
bool api_may_answer(struct http_req *r);

/* A JSON response: begin it, write the members to `w`, send it, which frees it. */
struct api_json {
    struct json_writer w;
    struct buf buf;
};
void api_json_begin(struct api_json *j); /* an object; its end is written when it is sent */
void api_json_value(struct api_json *j); /* a value that is written whole, such as an array */
str api_json_text(struct api_json *j);   /* the whole text; for senders */
void api_json_send(struct api_json *j, struct http_req *r); /* 200 */

void api_reply_ok(struct http_req *r); /* {"ok": true} */
/* The member `indexing`, while logs are still being read. How many there are is for admins: others
 * may not see all of them. */
void api_write_indexing(struct json_writer *w, const struct http_req *r,
                        const struct store_counting *c);

/* Parses the body as a JSON object and decodes it with the table that the route's row in
 * api/describe/ names; replies with 400 and returns false when that
 * fails, or when the body has a key that is not in the table: a misspelt key must not be
 * ignored. */
bool api_decode_body(struct http_req *r, const struct json_field *fields, void *ret_struct);
/* The same for bodies that may contain keys for other code. */
bool api_decode_open_body(struct http_req *r, const struct json_field *fields, void *ret_struct);
/* workingDirectory {path, id}: only the owner of nb's files may pass a directory of this machine,
 * through the socket that nobody else can open. Otherwise replies with 403 and returns false. */
extern const struct json_field API_DIRECTORY_FIELDS[];
bool api_may_lend(struct http_req *r, const struct dir_grant *g);
/* A parameter of the query, which the route's row in api/describe/ must name; empty = absent. */
str api_query(struct http_req *r, const char *name);
/* A positive integer from the query, or `otherwise` when absent. False: 400 was sent. */
bool api_query_int(struct http_req *r, const char *name, int64_t otherwise, int64_t max,
                   int64_t *ret);
/* The same for true and false. */
bool api_query_flag(struct http_req *r, const char *name, bool otherwise, bool *ret);

/* For one query of the store, with the current rights; NULL = the operator. */
const struct viewer *api_viewer(struct http_req *r);

/* A request that waits for the store: `op` is cancelled when the client disconnects. */
struct api_wait {
    struct api *api;
    struct api_space *space;
    struct http_req *req;
    struct store_op *op;
    str id;     /* id of the conversation, when the route has one */
    void *data; /* the handler's own, in the request's arena */
    void (*then)(struct api_wait *w, const struct conv *c);
};
struct api_wait *api_wait_new(struct api *api, struct http_req *r); /* in r's arena */
bool api_may(const struct api_wait *w, const struct conv *c, enum conv_right right);
/* Checks the right that the rule of the route names. Replies with an error when it is missing. */
bool api_check_right(const struct api_wait *w, const struct conv *c);

/* Finds the conversation r->params[0] and continues with `then` if the caller has the right that
 * the rule of the route names. Replies with 404 when it does not exist or the caller may not see
 * it, 403 when they may see it but not do this. */
struct api_wait *api_find_conv(struct api *api, struct http_req *r, void *data,
                               void (*then)(struct api_wait *w, const struct conv *c));
/* The same for a conversation that the body names; `id` lives as long as the request. */
struct api_wait *api_find_conv_named(struct api *api, struct http_req *r, str id, void *data,
                                     void (*then)(struct api_wait *w, const struct conv *c));

void api_write_strs(struct json_writer *w, const char *key, struct json_strs list);
void api_write_time(struct json_writer *w, int64_t ms); /* 0 = null */
