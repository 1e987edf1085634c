/* GET /v1/conversations/:id/files/:file - a file that a message of the conversation names. */
#include <assert.h>

#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/files/download.h"
#include "api/files/preview.h"
#include "api/handlers.h"
#include "attach/file_name.h"

static void on_conversation_file(void *ctx, const struct err *err, int fd, const char *mime)
{
    struct api_wait *w = ctx;
    struct http_req *r = w->req;
    assert(w->op);
    w->op = NULL;
    if (err) {
        api_not_found(r, "file");
        return;
    }
    struct attached file = {
        .name = file_name_clean(&r->arena, api_query(r, "name")),
        .mime = str_from(mime),
    };
    str sha256;
    const struct file_preview *preview = w->data;
    if (preview->kind != PREVIEW_NONE && library_id_sha(r->params[1], &sha256))
        preview_reply(w->api, r, preview, &file, sha256, fd);
    else
        download_reply(w->api, r, &file, fd);
}

static void conversation_found(struct api_wait *w, const struct conv *c)
{
    str sha256;
    if (!library_id_sha(w->req->params[1], &sha256))
        api_not_found(w->req, "file");
    else
        w->op = store_open_file(w->space->store, w->id, sha256, on_conversation_file, w);
}

void api_conversations_file(void *ctx, struct http_req *r)
{
    struct file_preview *preview = ARENA_NEW(&r->arena, struct file_preview);
    if (preview_query(r, preview))
        api_find_conv(ctx, r, preview, conversation_found);
}
