/* internal.h - what the files of api/ share. */
#pragma once

#include "api/api.h"
#include "base/json_decode.h"

struct api {
    struct api_deps deps;
};

/* Route flags. */
enum {
    API_OPEN = 1, /* no authentication */
};

/* Who asks; in the request's arena, found through req->user until a handler takes that over. */
struct api_identity {
    struct viewer viewer;
};

const struct api_identity *api_identity(const struct http_req *r);

/* Handlers: void api_<resource>_<verb>(void *api, struct http_req *r). */
void api_health_get(void *ctx, struct http_req *r);
void api_chat_post(void *ctx, struct http_req *r);
void api_chat_stream(void *ctx, struct http_req *r);
void api_conversations_list(void *ctx, struct http_req *r);
void api_conversations_get(void *ctx, struct http_req *r);
void api_conversations_history(void *ctx, struct http_req *r);
void api_conversations_events(void *ctx, struct http_req *r);
void api_conversations_cancel(void *ctx, struct http_req *r);
void api_workspace_get(void *ctx, struct http_req *r);

/* ---- helpers ---- */

/* Parses the body as a JSON object and decodes it; answers 400 itself and returns false when
 * that fails. */
bool api_decode_body(struct http_req *r, const struct json_field *fields, void *ret_struct);
void api_not_found(struct http_req *r, const char *what);
/* Answers with the status that fits a negative errno of the store. */
void api_store_error(struct http_req *r, const struct err *err);
/* Positive integer from the query, or `otherwise` when absent. False: answered with 400. */
bool api_query_int(struct http_req *r, const char *name, int64_t otherwise, int64_t max,
                   int64_t *ret);

/* A request that waits for an answer of the store: `op` is cancelled when the client goes. */
struct api_wait {
    struct api *api;
    struct http_req *req;
    struct store_op *op;
    struct viewer viewer;
};
struct api_wait *api_wait_new(struct api *api, struct http_req *r); /* in r's arena */

/* The content of a conversation summary, without the braces. */
void api_write_conv(struct json_writer *w, const struct conv *c);
