/* chat_files.h - the files that a chat request names, as parts of its message. */
#pragma once

#include "api/api.h"
#include "attach/attach.h"
#include "base/json/json_decode.h"
#include "media/media.h"

/* parts: an array in the arena of the request; NULL with an error. */
typedef void (*chat_files_fn)(void *ctx, const struct err *err, const struct json *parts);

struct chat_files {
    struct http_req *req;
    struct attach_op *op;    /* while they are being found */
    struct media_op *making; /* while pictures and documents are put into the form for models */
    uint32_t side;
    struct json *parts;
    chat_files_fn fn;
    void *ctx;
};

/* Replies with 400 and returns false when there are too many. */
bool chat_files_check(struct http_req *r, struct json_strs ids);
/* Finds files that the caller has given, and makes the views of them that models get; never calls
 * back before it returns. `f` lives until then, or until it is cancelled. model: of the
 * request, or empty. */
void chat_files_find(struct chat_files *f, const struct api *api, struct http_req *r,
                     struct json_strs ids, str model, chat_files_fn fn, void *ctx);
void chat_files_cancel(struct chat_files *f);
/* The longest side of pictures for this model; empty: for the default model. */
uint32_t chat_files_side(const struct api *api, str named);
