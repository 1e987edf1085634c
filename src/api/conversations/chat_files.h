/* chat_files.h - the files that a chat request names, as parts of its message. */
#pragma once

#include "api/api.h"
#include "attach/attach.h"
#include "base/json/json_decode.h"

/* parts: an array in the arena of the request; NULL with an error. */
typedef void (*chat_files_fn)(void *ctx, const struct err *err, const struct json *parts);

struct chat_files {
    struct http_req *req;
    struct attach_op *op; /* NULL: not waiting */
    chat_files_fn fn;
    void *ctx;
};

/* Replies with 400 and returns false when there are too many. */
bool chat_files_check(struct http_req *r, struct json_strs ids);
/* Finds files that the caller has given; never calls back before it returns. `f` lives until then,
 * or until it is cancelled. */
void chat_files_find(struct chat_files *f, struct http_req *r, struct json_strs ids,
                     chat_files_fn fn, void *ctx);
void chat_files_cancel(struct chat_files *f);
